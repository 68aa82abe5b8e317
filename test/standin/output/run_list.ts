import { assertEquals, assertMatch } from "@std/assert";
import { leftovers } from "../../leftovers.ts";
import type { StandIn, StartOptions } from "../stand_in.ts";

/** One line of a list's output, in short. */
interface Line {
  readonly line: number;
  readonly input: unknown;
  readonly exit_code: number;
  readonly result: Readonly<Record<string, unknown>> | null;
}

/** Runs a list to its end, which leaves nothing. */
export async function runList(
  claude: StandIn,
  { args = [], ...options }: StartOptions & { readonly args?: readonly string[] },
) {
  const { code, stdout, stderr } = await claude.print(["--jsonl", ...args], {
    ...options,
    // A list has an output of its own: what every single run must print does not hold.
    killed: true,
  });
  assertEquals(await leftovers(claude.home), []);
  assertMatch(stdout, /^(?:\{.*\}\n)*$/u);
  const lines = stdout.split("\n").filter((line) => line !== "")
    .map((line): Line => JSON.parse(line));
  return { code, stderr, lines };
}
