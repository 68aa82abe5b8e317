import type { CassetteOptions } from "../arguments/parsed_arguments.ts";
import { readProgram } from "../../recording/cassette/program/read_program.ts";
import { recordedProgram } from "../../recording/cassette/program/recorded_program.ts";
import { currentFolder, thisProgram } from "../../run/facts/this_process.ts";
import { absolutePath } from "../../sandbox/paths.ts";
import { shellQuote } from "../../shell_quote.ts";
import { print } from "../report/print.ts";

/**
 * Prints a program that behaves as the recorded `claude` did, for those who take nothing but a path.
 *
 * @throws {CliError} when the tape cannot be replayed
 */
export function printProgram(
  { dir, asProgram }: Extract<CassetteOptions, { readonly action: "program" }>,
): number {
  const { tape, ...known } = readProgram(dir);
  recordedProgram(tape, { ...known, mode: asProgram.mode });
  const cwd = currentFolder();
  const { mode, speed, patienceMs, report } = asProgram;
  const words = [
    ...thisProgram(),
    ...["cassette", "replay", absolutePath(dir, cwd), `--mode=${mode}`, `--speed=${speed}`],
    `--patience=${patienceMs / 1000}`,
    ...(report === undefined ? [] : [`--report=${absolutePath(report, cwd)}`]),
  ];
  print(Deno.stdout, `#!/bin/sh\nexec ${words.map(shellQuote).join(" ")} -- "$@"\n`);
  return 0;
}
