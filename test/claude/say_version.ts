import { askVersion } from "../../src/claude/ask_version.ts";

const say = (text: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));

try {
  say(`${await askVersion("/bin/true", {})}`);
} catch (error) {
  say((error as Error).message);
}
