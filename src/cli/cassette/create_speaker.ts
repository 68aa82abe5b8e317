import { CliError } from "../../cli_error.ts";
import type { AnyFrame } from "../../claude/wire/any_frame.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import { createOutputWriter } from "../../claude/wire/output_writer.ts";
import { unwritable } from "../report/print.ts";
import type { ProgramFlags } from "./program_flags.ts";

/** What says the frames of a recorded program on stdout. */
export interface Speaker {
  /** Says one; it is kept until the next flush. */
  readonly say: (frame: AnyFrame) => void;
  /** Says what its format keeps for the end. */
  readonly end: () => void;
  /** How much text is kept. */
  readonly kept: () => number;
  /** Writes what is kept; false when nobody reads any more. */
  readonly flush: () => Promise<boolean>;
}

/** How long a stdout that takes nothing now is left alone, in milliseconds. */
const RETRY_MS = 5;

/** Says frames in the format that the caller has asked for, at the pace at which they are read. */
export function createSpeaker({ format, verbose }: ProgramFlags): Speaker {
  let text = "";
  const writer = createOutputWriter(format, { verbose, write: (more) => text += more });
  return {
    say: (frame) => {
      try {
        // Whatever is on a tape was a frame of a run.
        writer.frame(frame as Frame);
      } catch (cause) {
        throw new CliError(`Cannot print the frame ${frame.type} of the tape: it is damaged`, {
          suggestion: "Record the run again with --record, or restore the file from a copy",
          cause,
        });
      }
    },
    end: writer.end,
    kept: () => text.length,
    flush: async () => {
      const bytes = new TextEncoder().encode(text);
      text = "";
      return await writeAll(bytes);
    },
  };
}

async function writeAll(bytes: Uint8Array): Promise<boolean> {
  for (let rest = bytes; rest.length > 0;) {
    try {
      rest = rest.subarray(await Deno.stdout.write(rest));
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) return false;
      if (!(error instanceof Deno.errors.WouldBlock)) throw unwritable(error);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
  return true;
}
