import { findCassettes } from "../../cassette/read/find_cassettes.ts";
import type { CassetteOptions } from "../../cli/parsed_arguments.ts";
import { CliError } from "../../cli_error.ts";
import { scrubCassette, type ScrubReport } from "../../hygiene/scrub_cassette.ts";
import { nameUnseen } from "../../redaction/name_unseen.ts";
import { ownTraces } from "../../redaction/own_traces.ts";
import { createRedactor } from "../../redaction/redact.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { printLines } from "../report/print.ts";

/**
 * Takes out of cassettes and tapes what tells of the machine that they were recorded on and of who sat at it.
 *
 * @throws {CliError} when there is none, or one cannot be read or written
 */
export function scrubCassettes(
  { paths, inputName, prompts, answers, names }: Extract<
    CassetteOptions,
    { readonly action: "scrub" }
  >,
): number {
  const found = findCassettes(paths, inputName === undefined ? {} : { inputName });
  if (found.length === 0) {
    throw new CliError(`Cannot scrub ${paths.join(", ")}: there is no cassette, and no tape`, {
      suggestion: "Name a cassette, a tape (*.jsonl), or a folder of them",
    });
  }
  const env = callerEnvironment();
  const options = {
    said: { prompts, answers },
    redactor: createRedactor({ env }),
    known: { ...ownTraces({ env }), words: names },
  };
  for (const one of found) {
    const done = `${one.name}: ${inWords(scrubCassette(one, options))}`;
    printLines(`${nameUnseen(done)}\n`);
  }
  return 0;
}

function inWords(report: ScrubReport): string {
  const changed = Object.entries(report).filter(([, count]) => count > 0).map(([name, count]) => {
    const noun = name === "api" ? "exchange" : "line";
    return `${count} ${noun}${count === 1 ? "" : "s"} of ${name}`;
  });
  return changed.length === 0 ? "nothing to take out" : `changed ${changed.join(", ")}`;
}
