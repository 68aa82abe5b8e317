import type { Finding } from "../../recording/drift/finding.ts";
import { count } from "../report/count.ts";

/** What came of a look for drift. */
export interface DriftReport {
  readonly recordings: number;
  readonly frames: number;
  readonly events: number;
  /** Answers of the model. */
  readonly answers: number;
  /** Cassettes and tapes that hold nothing that could be looked at. */
  readonly empty: readonly string[];
  /** How many recordings there are of each version of Claude Code; of an unknown one by "". */
  readonly versions: Readonly<Record<string, number>>;
  /** Who was asked beside this program, such as `claude-agent-sdk 0.2.189 (Python)`. */
  readonly sdks: readonly string[];
  /** The Claude Code that did the same again, if one did, and which cassettes it did not. */
  readonly against?: {
    readonly version: string;
    /** How many recordings it has given. */
    readonly again: number;
    readonly skipped: readonly { readonly path: string; readonly why: string }[];
  };
  readonly findings: readonly Finding[];
  /** How many more there are than are told apart. */
  readonly left: number;
}

function checkedWords(
  { recordings, frames, events, answers, versions, ...rest }: DriftReport,
): string {
  const { sdks, against } = rest;
  const of = Object.entries(versions).toSorted(([one], [other]) => one < other ? -1 : 1)
    .map(([version, number]) => `${number} of ${version === "" ? "an unknown version" : version}`);
  return [
    `Checked ${count(recordings, "recording")} (${of.join(", ")})`,
    `${count(frames, "frame")}, ${count(events, "event")} of terminals, ${
      count(answers, "answer")
    } of the API`,
    ...(sdks.length === 0 ? [] : [`with ${sdks.join(" and ")}`]),
    ...(against === undefined
      ? []
      : [`${against.again} of them run again by Claude Code ${against.version}`]),
  ].join("; ");
}

/** Whether there was nothing to look at, or nothing that could be run again. */
export function isEmptyReport({ recordings, against }: DriftReport): boolean {
  return recordings === 0 || against?.again === 0;
}

/** What came of it, in a sentence without its end. */
export function reportWords(report: DriftReport): string {
  const isNothing = report.recordings === 0;
  if (isNothing && report.findings.length === 0) return "Nothing was found to check";
  const checked = isNothing ? "Nothing could be checked" : checkedWords(report);
  return `${checked}: ${verdictWords(report)}`;
}

function verdictWords(report: DriftReport): string {
  const { findings, left } = report;
  if (findings.length === 0) {
    return isEmptyReport(report) ? "nothing could be run again" : "no drift";
  }
  const more = left === 0 ? "" : `, and ${left} more that are not told apart`;
  return `${count(findings.length, "difference")}${more}`;
}

/** What an SDK's or this program's finding is about, in one text. */
export function placeWords({ first: { path, line } }: Finding): string {
  return line === 0 ? path : `${path}:${line}`;
}
