import { denoPromptIo, type PromptIo, readPrompt } from "../arguments/read_prompt.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { type Invocation, ownInvocation } from "./invocation.ts";
import { awaitDelivery } from "../report/outlets.ts";
import { runPrompt } from "./run_prompt.ts";

/**
 * Carries out a run of one prompt, or of a conversation on stdin, in this process.
 *
 * @param options.prompt the prompt or the error of reading it, if stdin was already read
 * @param options.serverArgv the command line of the run, if a server should be started for similar runs
 * @returns the exit code
 */
export async function runLocally(
  request: RunRequest,
  { prompt, serverArgv, ...invocation }: Pick<Invocation, "outlets" | "signals"> & {
    readonly prompt?: Promise<string> | undefined;
    readonly serverArgv?: readonly string[] | undefined;
  },
): Promise<number> {
  const starter = serverArgv === undefined
    ? undefined
    : new (await import("./server_starter.ts")).ServerStarter(serverArgv);
  const onInput = starter?.observe;
  const exitCode = await performRequest(request, ownInvocation({ ...invocation, onInput }), {
    readPrompt: (io) => prompt ?? readPrompt(request, denoPromptIo(io)),
  });
  starter?.traceEnd();
  return exitCode;
}

/**
 * Carries out a run of one prompt, or of a conversation on stdin, in any surroundings.
 *
 * @returns the exit code
 */
export async function performRequest(
  request: RunRequest,
  invocation: Invocation,
  { readPrompt }: {
    readonly readPrompt: (io: Pick<PromptIo, "inTime" | "warn">) => Promise<string>;
  },
): Promise<number> {
  const { outlets, signals, startedAt, delegation } = invocation;
  outlets.stopWhenUnread(signals);
  const isConversation = request.inputFormat === "stream-json";
  const exitCode = isConversation
    ? await (await import("./print_conversation.ts")).converseOnStdin(request, invocation)
    : await runPrompt(request, {
      readPrompt,
      write: (text) => outlets.print(text),
      invocation,
    });
  await delegation?.commit();
  const countsFrom = isConversation ? performance.now() : startedAt;
  const until = countsFrom + request.timeoutMs;
  return await awaitDelivery(exitCode, { outlets, until, signals });
}
