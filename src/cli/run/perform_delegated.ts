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
 * Carries out a run that another process has handed over, as that would do it itself.
 *
 * @param options.hold holds conversations
 * @param options.tell takes a sentence of what goes wrong when nobody waits for it any more
 * @returns its exit code
 * @throws {ClientGoneError} when nobody waits for it any more, and nothing has been done
 */
export async function performHanded(
  run: DelegatedRun,
  { hold, tell }: {
    readonly hold: typeof holdConversation;
    readonly tell: (text: string) => void;
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
  for (const outlet of outlets.all) outlet.hold();
  run.gone.addEventListener("abort", () => {
    for (const outlet of outlets.all) outlet.abandon();
  });
  run.quit.addEventListener("abort", () => outlets.silence());
  let isCommitted = false;
  const commit = async () => {
    await run.commit();
    isCommitted = true;
    for (const outlet of outlets.all) outlet.release();
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
    handedOver: {
      hold,
      commit,
      isCommitted: () => isCommitted,
      terminal,
      pid,
      leave: addBackgroundWork,
      tell,
    },
  };
  try {
    const command = await parseArguments(argv);
    if (command.kind !== "run") throw new Error(`A ${command.kind} was handed over for a run`);
    const { request } = command;
    // Whoever looks on sees each step when it is taken.
    if (request.trace || request.debugToStderr) await commit();
    return await performRequest(request, invocation, {
      readPrompt: () => Promise.resolve(prompt ?? ""),
    });
  } catch (error) {
    if (error instanceof ClientGoneError) throw error;
    // The other process, to which nothing has been said, hands it on to the real claude.
    if (error instanceof UnsupportedError) return error.exitCode;
    await commit();
    return reportError(error, { tell: (text) => outlets.tell(text) });
  }
}
