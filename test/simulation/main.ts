/**
 * `deno task simulate`, see {@linkcode HELP}.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { runSeeds } from "./run_seeds.ts";

const HELP = `deno task simulate [OPTION…]

Runs conversations with a simulated Claude Code and a simulated caller, a conversation for each seed, and checks what has
to hold of all of them. Stops at the first seed that fails: prints it with the shortest events that fail in the same way,
and writes a cassette of them.

  --seeds N    how many seeds (default: 10000)
  --from SEED  the first seed, a whole number (default: 1)
  --minutes M  stop after so many minutes, however many seeds are left
`;

/** Folder of the cassettes of failures. */
const FOLDER = new URL("../../.cache/simulation", import.meta.url).pathname;

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}

async function main(args: readonly string[]): Promise<number> {
  const { help, seeds, from = "1", minutes } = parseArgs([...args], {
    string: ["seeds", "from", "minutes"],
    boolean: ["help"],
  });
  if (help) {
    print(HELP);
    return 0;
  }
  const count = Number(seeds ?? (minutes === undefined ? 10_000 : Infinity));
  const { text, hasFailed } = await runSeeds({
    from: Number(from),
    count,
    minutes: Number(minutes ?? Infinity),
    folder: FOLDER,
  });
  print(text);
  return hasFailed ? 1 : 0;
}

Deno.exitCode = await main(Deno.args);
