import { TextLineStream } from "@std/streams/text-line-stream";
import { CliError } from "../../cli_error.ts";
import { inputFileError, MAX_PROMPT_BYTES } from "../arguments/prompt_source.ts";
import type { RunRequest } from "../arguments/run_request.ts";

/**
 * The lines of a list, from stdin or from `--input-file`.
 *
 * @throws {CliError} when they cannot be read
 */
export async function* listLines(
  { inputFile }: Pick<RunRequest, "inputFile">,
): AsyncGenerator<string> {
  const bytes = inputFile === undefined || inputFile === "-"
    ? Deno.stdin.readable
    : await openList(inputFile);
  const lines = bytes
    .pipeThrough(lineLimit())
    .pipeThrough(new TextDecoderStream("utf-8", { fatal: true }))
    .pipeThrough(new TextLineStream());
  try {
    yield* lines;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CliError("Cannot read the list of prompts: it is not UTF-8", {
      suggestion: "Convert it, for example with iconv -t UTF-8",
      cause: error,
    });
  }
}

/** Room for the longest prompt, each character of it escaped, and for flags. */
const MAX_LINE_BYTES = 2 * MAX_PROMPT_BYTES + 1_000_000;

const LINE_FEED = 0x0a;

/** Passes a list on as long as its lines are no longer than any prompt, and keeps one without end out of memory. */
function lineLimit(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let length = 0;
  return new TransformStream({
    transform: (bytes, controller) => {
      const end = bytes.lastIndexOf(LINE_FEED);
      length = end === -1 ? length + bytes.length : bytes.length - end - 1;
      if (length > MAX_LINE_BYTES) {
        throw new CliError("Cannot read the list of prompts: one of its lines has no end", {
          suggestion: "Give each prompt a line of its own, see --help",
        });
      }
      controller.enqueue(bytes);
    },
  });
}

async function openList(path: string): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  try {
    return (await Deno.open(path)).readable;
  } catch (error) {
    throw inputFileError(path, error);
  }
}
