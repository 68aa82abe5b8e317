import { parseArguments } from "../../cli/arguments/parse_arguments.ts";
import type { RunRequest } from "../../cli/arguments/run_request.ts";
import type { Check } from "./check.ts";
import { clockInput, RUN_CLOCK_START } from "./run_clock.ts";
import { runVerdict, sessionFacts } from "./run_verdict.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { performRun, type RunReport } from "../perform_run.ts";
import { prepareRun } from "../prepare_run.ts";
import { Teardown } from "../teardown.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { Entry } from "../../claude/transcript/entry.ts";

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
