import type { Check } from "./check.ts";
import type { RunTimes } from "./run_clock.ts";
import type { RunReport } from "../perform_run.ts";
import type { Entry } from "../../claude/transcript/entry.ts";

/** What the interactive Claude Code calls itself. */
const ENTRYPOINT = "cli";

/** Most characters of the answer that are shown. */
const FIRST_WORDS = 40;

/**
 * Says what a run has shown: whether there was an answer, what entrypoint it came through, and what took how long.
 *
 * @param options.totalMs from before the sandbox was made until it was gone
 */
export function runVerdict(options: {
  readonly report: RunReport;
  readonly facts: SessionFacts;
  readonly times: RunTimes;
  readonly totalMs: number;
}): Check {
  const { report, facts: { entrypoint, model }, times, totalMs } = options;
  const { result: { result: text = "" }, problem } = report;
  // What the child's life does not explain is the program's own.
  const ownMs = times.exitMs === undefined ? undefined : totalMs - times.exitMs;
  const data = {
    exit_code: report.exitCode,
    entrypoint: entrypoint ?? null,
    model: model ?? null,
    answer: text,
    first_byte_ms: rounded(times.firstByteMs),
    ready_ms: rounded(times.readyMs),
    stop_ms: rounded(times.stopMs),
    total_ms: rounded(totalMs),
    own_ms: rounded(ownMs),
  };
  const name = "run";
  if (report.exitCode !== 0) {
    const { suggestion } = problem ?? {};
    return {
      name,
      ok: false,
      detail: problem?.message ?? (text === "" ? "The run gave no answer" : text),
      ...(suggestion === undefined ? {} : { suggestion }),
      data,
    };
  }
  if (entrypoint !== undefined && entrypoint !== ENTRYPOINT) {
    return {
      name,
      ok: false,
      detail: `The entrypoint is ${entrypoint}, not ${ENTRYPOINT}`,
      suggestion: "Look for CLAUDE_CODE_ENTRYPOINT in the env of your settings",
      data,
    };
  }
  const steps = [
    `first byte after ${seconds(times.firstByteMs)}`,
    `ready ${seconds(times.readyMs)}`,
    `Stop ${seconds(times.stopMs)}`,
    `total ${seconds(totalMs)}`,
  ];
  const parts = [
    `${model ?? "the model"} says ${JSON.stringify(firstWords(text))}`,
    `entrypoint ${entrypoint ?? "unknown"}`,
    steps.join(", "),
    `own overhead ${ownMs === undefined ? "unknown" : `${Math.round(ownMs)} ms`}`,
  ];
  return { name, ok: true, detail: parts.join("; "), data };
}

function rounded(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms);
}

function seconds(ms: number | undefined): string {
  return ms === undefined ? "unknown" : `${(ms / 1000).toFixed(2)} s`;
}

function firstWords(text: string): string {
  const line = text.replace(/\s+/gu, " ").trim();
  return line.length <= FIRST_WORDS ? line : `${line.slice(0, FIRST_WORDS)}…`;
}

/** What a session's transcript tells about where its requests came from and who answered. */
interface SessionFacts {
  /** The entrypoint Claude Code reports: its requests name the same (2.1.330). */
  readonly entrypoint: string | undefined;
  readonly model: string | undefined;
}

/** Reads the facts from a transcript; of the model the last counts. */
export function sessionFacts(entries: readonly Entry[]): SessionFacts {
  let entrypoint: string | undefined;
  let model: string | undefined;
  for (const entry of entries) {
    if (entry.type === "other") continue;
    const named = entry["entrypoint"];
    if (typeof named === "string") entrypoint ??= named;
    if (entry.type === "assistant") model = entry.message.model;
  }
  return { entrypoint, model };
}
