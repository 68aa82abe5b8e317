import { parseArguments } from "../../cli/arguments/parse_arguments.ts";
import type { RunRequest } from "../../cli/arguments/run_request.ts";
import type { Check } from "./check_report.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { performRun, type RunReport } from "../perform_run.ts";
import { prepareRun } from "../prepare_run.ts";
import { Teardown } from "../teardown.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { Entry } from "../../claude/transcript/entry.ts";
import type { Input } from "../../conversation/control/input.ts";
import {
  SCANNER_START,
  type ScannerState,
  scanTerminal,
} from "../../conversation/terminal/terminal_scanner.ts";

const PROMPT = "Reply with one word: ready";

/** Enough for an answer of one word and a few retries of the API. */
const ARGUMENTS = ["--no-session-persistence", "--timeout", "120", "--start-timeout", "60"];

/**
 * Sends one prompt through the code that every run goes through, and tells how it went.
 *
 * Of the run nothing stays: its transcript is not brought home.
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
  return runVerdict({ report, facts: sessionFacts(entries), times: clock.times, totalMs });
}

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

/** The terminal mode that Claude Code switches on as it starts (bracketed paste), before any dialog and the input box. */
const PASTE_MODE = "?2004";

/** When a session's steps were first seen, in milliseconds since the child was started. */
interface RunTimes {
  /** The child wrote to its terminal. */
  readonly firstByteMs?: number;
  /** The child was about to show its input box, or a dialog of its start: it asked for bracketed paste. */
  readonly readyMs?: number;
  /** The Stop hook said that the turn is over. */
  readonly stopMs?: number;
  /** The child was gone. */
  readonly exitMs?: number;
}

/** The times so far, and what is known of the terminal's output. */
interface RunClock {
  readonly times: RunTimes;
  readonly scanner: ScannerState;
}

/** The clock before the first input. */
export const RUN_CLOCK_START: RunClock = { times: {}, scanner: SCANNER_START };

/** Takes the next input of a session. */
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
