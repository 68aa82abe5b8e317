import { type PromptIo, readPrompt } from "../arguments/prompt_source.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { denoPromptIo } from "./deno_prompt_io.ts";
import { type Invocation, ownInvocation } from "./invocation.ts";
import { performRequest } from "./perform_request.ts";

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
