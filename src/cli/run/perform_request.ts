import type { PromptIo } from "../arguments/prompt_source.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { delivered } from "../report/delivered.ts";
import type { Invocation } from "./invocation.ts";
import { runPrompt } from "./run_prompt.ts";

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
    ? await (await import("./converse_on_stdin.ts")).converseOnStdin(request, invocation)
    : await runPrompt(request, {
      readPrompt,
      write: (text) => outlets.print(text),
      invocation,
    });
  await handedOver?.commit();
  const begunAt = isConversation ? performance.now() : startedAt;
  return await delivered(exitCode, { outlets, until: begunAt + request.timeoutMs, signals });
}
