import { fileAt } from "../../../../ffi/files/at_path.ts";
import { CliError } from "../../../cli_error.ts";
import { CAST_FILE, META_FILE, TAPE_FILE, type TapeEntry } from "../cassette.ts";
import type { CassetteMeta } from "../cassette_meta.ts";
import type { PlayedCast } from "../cast.ts";
import { openCast } from "./open_cast.ts";
import { readTape } from "./read_tape.ts";
import { readMeta } from "./read_meta.ts";
import { NAME_A_CASSETTE } from "./read_part.ts";

/** A recorded conversation. */
export interface OpenedConversation {
  /** What is known of it; absent from recordings that were made before there was any. */
  readonly meta?: CassetteMeta;
  /** What was recorded of each Claude Code that it was held with; of one without a cast its tape. */
  readonly children: readonly OpenedChild[];
}

/** What was recorded of one Claude Code. */
export type OpenedChild =
  | { readonly cast: PlayedCast }
  | { readonly tape: readonly TapeEntry[] };

/**
 * Opens a recorded conversation: the cassette in a folder, and those of further Claude Codes in its folders `2`, `3` and
 * so on; or a tape alone.
 *
 * @param options.byTape whether of each Claude Code its tape is read, where there is one, though there is a cast
 * @throws {CliError} when there is none, it is of a later format or damaged; for events by way of what is returned
 */
export function openRecorded(
  folder: string,
  { byTape = false }: { readonly byTape?: boolean } = {},
): OpenedConversation {
  if (fileAt(folder)?.isFile === true) {
    const tape = readTape(folder);
    if (tape !== undefined) return { children: [{ tape }] };
  }
  const meta = readMeta(`${folder}/${META_FILE}`);
  const children: OpenedChild[] = [];
  for (let number = 1;; number++) {
    const child = number === 1
      ? openChild(folder, byTape)
      : openFurther(`${folder}/${number}`, byTape);
    if (child === undefined) break;
    children.push(child);
  }
  if (children.length === 0) {
    throw new CliError(`Cannot read ${folder}: it has neither ${CAST_FILE} nor ${TAPE_FILE}`, {
      suggestion: NAME_A_CASSETTE,
    });
  }
  return { ...(meta === undefined ? {} : { meta }), children };
}

/** What is in a folder of the cassette's own; a link may lead anywhere. */
function openFurther(folder: string, byTape: boolean): OpenedChild | undefined {
  try {
    return Deno.lstatSync(folder).isDirectory ? openChild(folder, byTape) : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function openChild(folder: string, byTape: boolean): OpenedChild | undefined {
  const taped = (): OpenedChild | undefined => {
    const tape = readTape(`${folder}/${TAPE_FILE}`);
    return tape && { tape };
  };
  const cast = openCast(`${folder}/${CAST_FILE}`);
  const played = cast && { cast };
  return byTape ? taped() ?? played : played ?? taped();
}
