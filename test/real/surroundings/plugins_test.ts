import { assertEquals } from "@std/assert";
import { asRecorded } from "../as_recorded.ts";
import { forNewestVersion } from "../for_each_version.ts";
import type { RealClaude } from "../real_claude.ts";

/** Puts files into the project, by path. */
async function fill(real: RealClaude, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = `${real.home.project}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, text);
  }
}

/** What files say of which the model is told, by their paths. */
const TOLD: Readonly<Record<string, string>> = {
  "AGENTS.md": "Count to one.",
  ".claude/AGENTS.md": "Count to two.",
  "src/AGENTS.md": "Count to three.",
};

forNewestVersion(
  `what ${Object.keys(TOLD).join(", ")} say is told as by claude -p`,
  async (real) => {
    await fill(real, { "src/main.ts": "1;\n", ...TOLD });
    const file = JSON.stringify({ file_path: `${real.home.project}/src/main.ts` });
    const prompt = `Look [[tool Read ${file}]] [[say read]]`;
    const told = async (run: RealClaude["print"]) => {
      assertEquals((await run([prompt])).stdout, "read\n");
      const body = JSON.stringify(real.api.turns.at(-1)?.body);
      return Object.entries(TOLD).filter(([, text]) => body.includes(text)).map(([path]) => path);
    };
    const ours = await told((args) => real.printHere(args));
    const theirs = await asRecorded(real, "plugins/all", () => told((args) => real.claudeP(args)));
    assertEquals(ours, theirs);
    assertEquals(ours, Object.keys(TOLD));
  },
);
