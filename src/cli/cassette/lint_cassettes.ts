import { cassettesAt } from "./cassettes_at.ts";
import type { CassetteOptions } from "../arguments/parsed_arguments.ts";
import { lintCassette, type Way } from "../../recording/lint/lint_cassette.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { ownTraces } from "../../recording/redaction/own_traces.ts";
import { createRedactor } from "../../recording/redaction/redact.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { printLines } from "../report/print.ts";

const WAYS: Readonly<Record<Way, string>> = {
  world: "as the world",
  program: "as the program",
  api: "as the API",
};

/**
 * Says of cassettes and tapes in which ways they replay, and what is wrong with them.
 *
 * @returns the exit code: 1 where something is
 * @throws {CliError} when there is none
 */
export function lintCassettes(
  { paths, inputName }: Extract<CassetteOptions, { readonly action: "lint" }>,
): number {
  const found = cassettesAt({ paths, inputName }, { to: "check", exitCode: 1 });
  const env = callerEnvironment();
  const options = { redactor: createRedactor({ env }), known: ownTraces({ env }) };
  let wrong = 0;
  for (const one of found) {
    const { replays, problems } = lintCassette(one, options);
    if (problems.length > 0) wrong++;
    const ways = replays.map((way) => WAYS[way]);
    const head = ways.length === 0
      ? `${one.name} does not replay`
      : `${one.name} replays ${ways.join(", ")}`;
    const lines = [
      `${problems.length === 0 ? "ok   " : "wrong"} ${head}`,
      ...problems.map((problem) => `      ${problem}`),
    ];
    printLines(lines.map((line) => `${nameUnseen(line)}\n`).join(""));
  }
  if (found.length > 1) printLines(`${found.length} checked, ${wrong} wrong\n`);
  return wrong === 0 ? 0 : 1;
}
