import { denoPromptIo, type PromptIo, readPrompt } from "../arguments/read_prompt.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { type Invocation, ownInvocation } from "./invocation.ts";
import { delivered } from "../report/outlets.ts";
import { runPrompt } from "./run_prompt.ts";

/**
 * Carries out a run of one prompt, or of a conversation on stdin, in this process.
 *
 * @param options.prompt what has been read of it already: the prompt, or why there is none
 * @returns the exit code
 */
export async function runHere(
  request: RunRequest,
  { prompt, ...invocation }: Pick<Invocation, "outlets" | "signals"> & {
    readonly prompt?: Promise<string> | undefined;
  },
): Promise<number> {
  return await performRequest(request, ownInvocation(invocation), {
    readPrompt: (io: Pick<PromptIo, "inTime" | "warn">) =>
      prompt ?? readPrompt(request, denoPromptIo(io)),
  });
}

/**
 * One prompt, or a conversation on stdin, for this program's own caller or for that of another program.
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
  const { outlets, signals, startedAt, handedOver } = invocation;
  const { stdout } = outlets;
  if (stdout !== undefined) {
    // Without a reader there is no reason to go on; what is printed last ends no run any more. On a full disk there is:
    // the transcript comes home.
    stdout.onEnd = () => {
      if (stdout.end === "unread") signals.raise("SIGPIPE");
    };
  }
  const isConversation = request.inputFormat === "stream-json";
  const exitCode = isConversation
    ? await (await import("./print_conversation.ts")).converseOnStdin(request, invocation)
    : await runPrompt(request, {
      readPrompt,
      write: (text) => outlets.print(text),
      invocation,
    });
  await handedOver?.commit();
  const begunAt = isConversation ? performance.now() : startedAt;
  return await delivered(exitCode, { outlets, until: begunAt + request.timeoutMs, signals });
}
