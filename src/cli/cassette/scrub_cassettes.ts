import type { CassetteOptions } from "../arguments/parsed_arguments.ts";
import { scrubCassette, type ScrubReport } from "../../recording/lint/scrub_cassette.ts";
import { scrubInto } from "../../recording/lint/scrub_into.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { ownTraces } from "../../recording/redaction/own_traces.ts";
import { createRedactor } from "../../recording/redaction/redact.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { cassettesAt } from "./cassettes_at.ts";
import { print, printLines } from "../report/print.ts";
import { problemText } from "../report/report_error.ts";

/**
 * Takes out of cassettes and tapes what tells of the machine that they were recorded on and of who sat at it.
 *
 * @throws {CliError} when there is none, or one cannot be read or written
 */
export function scrubCassettes(
  { paths, inputName, prompts, answers, names, out }: Extract<
    CassetteOptions,
    { readonly action: "scrub" }
  >,
): number {
  const found = cassettesAt({ paths, inputName }, { to: "scrub" });
  const env = callerEnvironment();
  const options = {
    said: { prompts, answers },
    redactor: createRedactor({ env }),
    known: { ...ownTraces({ env }), words: names },
  };
  const tell = (name: string, report: ScrubReport) =>
    printLines(`${nameUnseen(`${name}: ${inWords(report)}`)}\n`);
  if (out === undefined) {
    for (const one of found) tell(one.name, scrubCassette(one, options));
    return 0;
  }
  const named = inputName === undefined ? {} : { inputName };
  const { reports, leftOut } = scrubInto(out, { ...options, paths, ...named });
  for (const [name, report] of reports) tell(name, report);
  if (leftOut.length > 0) print(Deno.stderr, problemText({ message: notCopied(leftOut) }));
  return 0;
}

/** Of so many files each is named. */
const MOST_NAMED = 5;

function notCopied(files: readonly string[]): string {
  const more = files.length - MOST_NAMED;
  const names = files.slice(0, MOST_NAMED).map((name) => nameUnseen(name)).join(", ");
  return `Not copied, because they are no parts of cassettes: ${names}${
    more > 0 ? ` and ${more} more` : ""
  }`;
}

function inWords(report: ScrubReport): string {
  const changed = Object.entries(report).filter(([, count]) => count > 0).map(([name, count]) => {
    const noun = name === "api" ? "exchange" : "line";
    return `${count} ${noun}${count === 1 ? "" : "s"} of ${name}`;
  });
  return changed.length === 0 ? "nothing to take out" : `changed ${changed.join(", ")}`;
}
