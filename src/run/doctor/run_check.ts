import { parseArguments } from "../../cli/arguments/parse_arguments.ts";
import type { RunRequest } from "../../cli/arguments/run_request.ts";
import type { Check } from "./check_report.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { performRun, type RunReport } from "../perform_run.ts";
import { prepareRun } from "../prepare_run.ts";
import { Teardown } from "../teardown.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { definedFields } from "../../defined_fields.ts";
import type { Entry } from "../../claude/transcript/entry.ts";
import type { Input } from "../../conversation/control/input.ts";
import {
  SCANNER_START,
  type ScannerState,
  scanTerminal,
} from "../../conversation/terminal/terminal_scanner.ts";

const PROMPT = "Reply with one word: ready";

/** The time limits allow for a few API retries. */
const ARGUMENTS = ["--no-session-persistence", "--timeout", "120", "--start-timeout", "60"];

/**
 * Checks a real run of one prompt. It leaves no transcript.
 *
 * @throws {CliError} when the run cannot be prepared
 */
export async function runCheck(options: {
  readonly claudeBinary: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
}): Promise<Check> {
  const { claudeBinary, env, cwd } = options;
  const named = claudeBinary === undefined ? [] : ["--claude-binary", claudeBinary];
  const command = await parseArguments([...ARGUMENTS, ...named]);
  if (command.kind !== "run") throw new Error("The arguments of the check ask for no run");
  const startedAt = performance.now();
  let clock = RUN_CLOCK_START;
  const entries: Entry[] = [];
  const crash = Promise.withResolvers<never>();
  const problems: string[] = [];
  using teardown = new Teardown({
    warn: (text) => problems.push(text),
    onCrash: crash.reject,
  });
  const sendPrompt = async (request: RunRequest): Promise<RunReport> => {
    using signals = new StopSignals();
    const prepared = await prepareRun({
      ...request,
      prompt: PROMPT,
      cwd,
      env,
      frames: false,
      retries: false,
    });
    teardown.own(prepared);
    const report = await performRun(prepared, {
      signals,
      onInput: (input) => {
        clock = clockInput(clock, input);
        if (input.type === "transcript") entries.push(input.entry);
      },
      trace: () => {},
    });
    teardown.childEnded();
    return report;
  };
  const report = await Promise.race([sendPrompt(command.request), crash.promise]);
  teardown.run();
  const [problem] = problems;
  if (problem !== undefined) throw new Error(problem);
  const totalMs = performance.now() - startedAt;
  return judgeRun({ report, facts: sessionFacts(entries), times: clock.times, totalMs });
}

/** The entrypoint that the interactive Claude Code reports to the API. */
const ENTRYPOINT = "cli";

/** The maximum number of characters of the answer that are shown. */
const MOST_SHOWN = 40;

/**
 * Judges a run by its answer and its entrypoint, and shows its times.
 *
 * @param options.totalMs the time from before the sandbox was created until it was removed
 */
export function judgeRun(options: {
  readonly report: RunReport;
  readonly facts: SessionFacts;
  readonly times: RunTimes;
  readonly totalMs: number;
}): Check {
  const { report, facts: { entrypoint, model }, times, totalMs } = options;
  const { result: { result: text = "" }, problem } = report;
  // The rest of the time belongs to this program.
  const ownMs = times.exitMs === undefined ? undefined : totalMs - times.exitMs;
  const data = {
    exit_code: report.exitCode,
    entrypoint: entrypoint ?? null,
    model: model ?? null,
    answer: text,
    first_byte_ms: roundedMs(times.firstByteMs),
    ready_ms: roundedMs(times.readyMs),
    stop_ms: roundedMs(times.stopMs),
    total_ms: roundedMs(totalMs),
    own_ms: roundedMs(ownMs),
  };
  const name = "run";
  if (report.exitCode !== 0) {
    const { suggestion } = problem ?? {};
    return {
      name,
      ok: false,
      detail: problem?.message ?? (text === "" ? "The run gave no answer" : text),
      ...definedFields({ suggestion }),
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
    `${model ?? "the model"} says ${JSON.stringify(shortenLine(text))}`,
    `entrypoint ${entrypoint ?? "unknown"}`,
    steps.join(", "),
    `own overhead ${ownMs === undefined ? "unknown" : `${Math.round(ownMs)} ms`}`,
  ];
  return { name, ok: true, detail: parts.join("; "), data };
}

function roundedMs(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms);
}

function seconds(ms: number | undefined): string {
  return ms === undefined ? "unknown" : `${(ms / 1000).toFixed(2)} s`;
}

function shortenLine(text: string): string {
  const line = text.replace(/\s+/gu, " ").trim();
  return line.length <= MOST_SHOWN ? line : `${line.slice(0, MOST_SHOWN)}…`;
}

/** Facts from a session's transcript. */
interface SessionFacts {
  /** The entrypoint that Claude Code reports in transcript and requests (2.1.330). */
  readonly entrypoint: string | undefined;
  readonly model: string | undefined;
}

/** Reads facts from a transcript: its first entrypoint and its last model. */
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

/** Bracketed paste, which Claude Code switches on before it shows the input box or a dialog. */
const PASTE_MODE = "?2004";

/** When each step of a session was first observed, in milliseconds since the child's start. */
interface RunTimes {
  /** The child wrote the first byte to its terminal. */
  readonly firstByteMs?: number;
  /** The child switched on bracketed paste. */
  readonly readyMs?: number;
  /** The Stop hook ended the turn. */
  readonly stopMs?: number;
  /** The child exited. */
  readonly exitMs?: number;
}

/** The times so far, and the state of the terminal scanner. */
interface RunClock {
  readonly times: RunTimes;
  readonly scanner: ScannerState;
}

export const RUN_CLOCK_START: RunClock = { times: {}, scanner: SCANNER_START };

/** Updates the times with the next input of a session. */
export function clockInput({ times, scanner }: RunClock, input: Input): RunClock {
  const { at } = input;
  switch (input.type) {
    case "terminal": {
      const first = { firstByteMs: at, ...times };
      if (times.readyMs !== undefined) return { times: first, scanner };
      const { state, tokens } = scanTerminal(scanner, input.bytes);
      const ready = tokens.some((token) =>
        token.kind === "csi" && token.final === "h" && token.parameters.startsWith(PASTE_MODE)
      );
      return { times: ready ? { ...first, readyMs: at } : first, scanner: state };
    }
    case "hook":
      return { times: input.event === "Stop" ? { stopMs: at, ...times } : times, scanner };
    case "exit":
      return { times: { exitMs: at, ...times }, scanner };
    default:
      return { times, scanner };
  }
}
