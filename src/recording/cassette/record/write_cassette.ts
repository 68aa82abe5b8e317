import { CliError } from "../../../cli_error.ts";
import { CAST_FILE, META_FILE, TAPE_FILE } from "../cassette.ts";
import { CASSETTE_FORMAT, type CassetteMeta, type ForkOrigin } from "../cassette_meta.ts";
import type { CassetteSink } from "./create_recording.ts";
import { encodeEntry, encodeEvent, encodeHeader, encodeMeta } from "./encode_cassette.ts";
import { REDACTED } from "../../redaction/redact_pieces.ts";
import type { ClaimedFolder } from "./claim_folder.ts";

/** Writes a cassette into a folder as it is recorded, readable by nobody but the user. */
export interface CassetteWriter extends CassetteSink {
  /** Whether there is anything of it. */
  readonly isBegun: boolean;
  /** Notes how many secrets were taken out of a part that somebody else writes, also when this has ended. */
  readonly taken: (part: string, secrets: number) => void;
  /**
   * Ends it.
   *
   * @throws {CliError} when not all of it could be written
   */
  readonly close: () => void;
}

/**
 * Begins to write a cassette into a folder that is taken for it: what it is given is in its file before it returns, so that whatever ends this program leaves
 * a cassette that is as long as the run was.
 *
 * What cannot be written is told at the end, and the run goes on without.
 *
 * @param options.version the version of this program
 * @param options.flags what Claude Code was told on its command line, without secrets
 * @param options.forkedFrom where the conversation comes from, if it goes on with a recorded one
 */
export function writeCassette(
  { path: folder, cast }: Pick<ClaimedFolder, "path" | "cast">,
  { version, platform, flags = [], forkedFrom }: Pick<CassetteMeta, "platform" | "flags"> & {
    readonly version: string;
    readonly forkedFrom?: ForkOrigin | undefined;
  },
): CassetteWriter {
  let isBegun = false;
  let meta: CassetteMeta | undefined;
  let failure: unknown;
  const files = new Map([[CAST_FILE, cast]]);
  const attempt = (write: () => void) => {
    if (failure !== undefined) return;
    try {
      write();
    } catch (error) {
      failure = error;
    }
  };
  const saveMeta = (changed: CassetteMeta) => {
    meta = changed;
    // In the place of the one before all at once.
    const unfinished = `${folder}/${META_FILE}.unfinished`;
    // Whoever else may write to the folder could have put a link there.
    removeIfThere(unfinished);
    Deno.writeTextFileSync(unfinished, encodeMeta(meta), { createNew: true, mode: 0o600 });
    Deno.renameSync(unfinished, `${folder}/${META_FILE}`);
  };
  const note = (name: string, secrets: number) => {
    const known = meta?.scrubbed[name];
    if (meta === undefined || (secrets === 0 && known !== undefined)) return;
    saveMeta({ ...meta, scrubbed: { ...meta.scrubbed, [name]: (known ?? 0) + secrets } });
  };
  const append = (name: string, text: string) =>
    attempt(() => {
      const file = files.get(name);
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; file !== undefined && at < bytes.length;) {
        at += file.writeSync(bytes.subarray(at));
      }
      note(name, text.split(REDACTED).length - 1);
    });
  return {
    get isBegun() {
      return isBegun;
    },
    begin: (header) => {
      isBegun = true;
      attempt(() => {
        const tape = `${folder}/${TAPE_FILE}`;
        files.set(
          TAPE_FILE,
          Deno.openSync(tape, { append: true, createNew: true, mode: 0o600 }),
        );
        saveMeta({
          format: CASSETTE_FORMAT,
          claude_print: version,
          platform,
          size: { cols: header.width, rows: header.height },
          when: new Date(header.timestamp * 1000).toISOString(),
          scrubbed: { [CAST_FILE]: 0, [TAPE_FILE]: 0 },
          ...(flags.length === 0 ? {} : { flags }),
          ...(forkedFrom === undefined ? {} : { forked_from: forkedFrom }),
        });
      });
      append(CAST_FILE, encodeHeader(header));
    },
    taken: (part, secrets) => attempt(() => note(part, secrets)),
    version: (claudeVersion) =>
      attempt(() => {
        if (meta === undefined || meta.claude_code === claudeVersion) return;
        saveMeta({ ...meta, claude_code: claudeVersion });
      }),
    event: (event) => append(CAST_FILE, encodeEvent(event)),
    entry: (entry) => append(TAPE_FILE, encodeEntry(entry)),
    close: () => {
      for (const file of files.values()) file.close();
      if (failure === undefined) return;
      throw new CliError(`Cannot write the recording: ${(failure as Error).message}`, {
        suggestion: "Give --record a folder on a disk with room",
        cause: failure,
      });
    },
  };
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
