import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { readPrompt } from "../../cli/prompt_source.ts";
import type { RunRequest } from "../../cli/run_request.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { delivered } from "../report/delivered.ts";
import { denoPromptIo } from "./deno_prompt_io.ts";
import { Outlets } from "../report/outlets.ts";
import { runPrompt } from "./run_prompt.ts";

/** When this program began, as `performance.now()` tells time. */
const START_OF_PROGRAM = 0;

/**
 * The run that a command line asks for: one prompt, or with `--jsonl` a list of them.
 *
 * @param argv the command line, to which the lines of a list add
 * @returns the exit code
 */
export async function run(request: RunRequest, argv: readonly string[]): Promise<number> {
  using outlets = new Outlets();
  // To the end of the program: writing beyond the limit of a file's size fails as on a full disk, and does not kill.
  listenToSignals(["SIGXFSZ"], () => {});
  if (request.jsonl && request.oneSession) {
    const { converseList } = await import("./converse_list.ts");
    return await converseList(request, { outlets });
  }
  if (request.jsonl) {
    const { runList } = await import("./run_list.ts");
    return await runList(request, { argv, outlets });
  }
  using signals = new StopSignals();
  const { stdout } = outlets;
  if (stdout !== undefined) {
    // Without a reader there is no reason to go on; what is printed last ends no run any more. On a full disk there is:
    // the transcript comes home.
    stdout.onEnd = () => {
      if (stdout.end === "unread") signals.raise("SIGPIPE");
    };
  }
  if (request.inputFormat === "stream-json") {
    const { converseOnStdin } = await import("./converse.ts");
    const exitCode = await converseOnStdin(request, {
      write: (text) => outlets.print(text),
      outlets,
      signals,
    });
    return await delivered(exitCode, {
      outlets,
      until: performance.now() + request.timeoutMs,
      signals,
    });
  }
  const exitCode = await runPrompt(request, {
    readPrompt: (io) => readPrompt(request, denoPromptIo(io)),
    write: (text) => outlets.print(text),
    outlets,
    signals,
    startedAt: START_OF_PROGRAM,
  });
  return await delivered(exitCode, {
    outlets,
    until: START_OF_PROGRAM + request.timeoutMs,
    signals,
  });
}
