import { fdStat } from "../../../ffi/descriptors/fd.ts";
import { parseArguments } from "../arguments/parse_arguments.ts";
import { UnsupportedError } from "../../cli_error.ts";
import type { holdConversation } from "../../library/hold_conversation.ts";
import { ClientGoneError, type DelegatedRun } from "../../server/delegation/delegation_server.ts";
import { Outlets } from "../report/outlets.ts";
import { reportError } from "../report/report_error.ts";
import type { Invocation } from "./invocation.ts";
import { performRequest } from "./run_locally.ts";

/**
 * Carries out a run that another process has delegated to this server, as that process itself would.
 *
 * @param options.log receives a sentence about a failure after the client has disconnected
 * @returns its exit code
 * @throws {ClientGoneError} when the client has disconnected before the run had an effect
 */
export async function performDelegated(
  run: DelegatedRun,
  { hold, log }: {
    readonly hold: typeof holdConversation;
    readonly log: (text: string) => void;
  },
): Promise<number> {
  const {
    argv,
    env,
    cwd,
    prompt,
    streams,
    startedAt,
    signals,
    terminal,
    pid,
    addBackgroundWork,
  } = run;
  const [stdin, stdout, stderr] = streams;
  const isTerminal = (fd: number) => fdStat(fd).kind === "terminal";
  using outlets = new Outlets({ stdout, stderr });
  for (const outlet of outlets.all) outlet.pause();
  run.gone.addEventListener("abort", () => {
    for (const outlet of outlets.all) outlet.abandon();
  });
  run.quit.addEventListener("abort", () => outlets.silence());
  let isCommitted = false;
  const commit = async () => {
    await run.commit();
    isCommitted = true;
    for (const outlet of outlets.all) outlet.resume();
  };
  const invocation: Invocation = {
    env: () => env,
    cwd: () => cwd,
    outlets,
    signals,
    stdin,
    isTerminal: {
      stdin: isTerminal(stdin),
      stdout: isTerminal(stdout),
      stderr: isTerminal(stderr),
    },
    startedAt,
    delegation: {
      hold,
      commit,
      isCommitted: () => isCommitted,
      terminal,
      pid,
      continueInBackground: addBackgroundWork,
      log,
    },
  };
  try {
    const command = await parseArguments(argv);
    if (command.kind !== "run") throw new Error(`A ${command.kind} was handed over for a run`);
    const { request } = command;
    // A trace is useful only if each step is printed when it happens.
    if (request.trace || request.debugToStderr) await commit();
    return await performRequest(request, invocation, {
      readPrompt: () => Promise.resolve(prompt ?? ""),
    });
  } catch (error) {
    if (error instanceof ClientGoneError) throw error;
    // Nothing was printed, so the client executes the real claude instead.
    if (error instanceof UnsupportedError) return error.exitCode;
    await commit();
    return reportError(error, { outlets });
  }
}
