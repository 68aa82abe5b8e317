import { listenToSignals } from "../../ffi/listen_to_signals.ts";
import { readPrompt } from "../cli/prompt_source.ts";
import type { RunRequest } from "../cli/run_request.ts";
import { denoPromptIo } from "./deno_prompt_io.ts";
import { print } from "./print.ts";
import { runPrompt } from "./run_prompt.ts";

/**
 * The run that a command line asks for: one prompt, or with `--jsonl` a list of them.
 *
 * @param argv the command line, to which the lines of a list add
 * @returns the exit code
 */
export async function run(request: RunRequest, argv: readonly string[]): Promise<number> {
  // To the end of the program: writing beyond the limit of a file's size fails as on a full disk, and does not kill.
  listenToSignals(["SIGXFSZ"], () => {});
  if (request.jsonl) {
    const { runList } = await import("./run_list.ts");
    return await runList(request, argv);
  }
  return await runPrompt(request, {
    readPrompt: () => readPrompt(request, denoPromptIo()),
    write: (text) => print(Deno.stdout, text),
  });
}
