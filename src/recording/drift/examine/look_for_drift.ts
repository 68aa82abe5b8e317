import {
  API_FOLDER,
  type CassetteMeta,
  CAST_FILE,
  META_FILE,
  TAPE_FILE,
} from "../../cassette/cassette_format.ts";
import type { FoundCassette } from "../../cassette/read/find_cassettes.ts";
import { readMeta } from "../../cassette/read/read_meta.ts";
import { CliError } from "../../../cli_error.ts";
import type { JsonObject } from "../../../json_object.ts";
import { examineRecording } from "./examine_recording.ts";
import type { Place } from "../finding.ts";
import type { Findings } from "../findings.ts";
import type { KnownClaude } from "../known.ts";

/** Most characters of a version that is told. */
const LONGEST_VERSION = 40;

/** What was looked at. */
export interface Checked {
  /** Cassettes and tapes in which there was something. */
  readonly recordings: number;
  readonly frames: number;
  /** Events of terminals. */
  readonly events: number;
  /** Answers of the model. */
  readonly answers: number;
  /** Cassettes and tapes in which there was nothing. */
  readonly empty: readonly string[];
  /** How many recordings there are of each version of Claude Code; of an unknown one by "". */
  readonly versions: ReadonlyMap<string, number>;
}

/** Who else looks at frames. */
export type OnFrame = (frame: JsonObject, place: Place) => void;

/** Looks at all that is in cassettes and tapes. */
export function lookForDrift(
  cassettes: readonly FoundCassette[],
  { known, findings, onFrame = () => {} }: {
    readonly known: KnownClaude;
    readonly findings: Findings;
    readonly onFrame?: OnFrame;
  },
): Checked {
  let recordings = 0;
  let frames = 0;
  let events = 0;
  let answers = 0;
  const empty: string[] = [];
  const versions = new Map<string, number>();
  for (const cassette of cassettes) {
    const files = filesOf(cassette, findings);
    if (files === undefined) continue;
    const { tape = "" } = files;
    const found = readOrTell(cassette.path, findings, () =>
      examineRecording(files, {
        known,
        findings,
        onFrame: (frame, line) => onFrame(frame, { path: tape, line }),
      }));
    if (found === undefined) continue;
    if (found.frames + found.events + found.answers === 0) {
      empty.push(cassette.path);
      continue;
    }
    recordings++;
    frames += found.frames;
    events += found.events;
    answers += found.answers;
    const version = (found.version ?? "").slice(0, LONGEST_VERSION);
    versions.set(version, (versions.get(version) ?? 0) + 1);
  }
  return { recordings, frames, events, answers, empty, versions };
}

/** Where the parts of a cassette are; nothing of one that is not of a known format. */
function filesOf({ kind, path }: FoundCassette, findings: Findings) {
  if (kind === "tape") return { tape: path };
  const meta = `${path}/${META_FILE}`;
  const read = readOrTell<Partial<CassetteMeta>>(meta, findings, () => readMeta(meta) ?? {});
  return read && {
    cast: `${path}/${CAST_FILE}`,
    tape: `${path}/${TAPE_FILE}`,
    api: `${path}/${API_FOLDER}`,
    version: read.claude_code,
  };
}

/** What is read, or nothing: then it is found why. */
function readOrTell<Value>(
  path: string,
  findings: Findings,
  read: () => Value,
): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const place = { path, line: 0 };
    findings.add({ check: "frame rejected", where: "file", what: error.message }, { place });
    return undefined;
  }
}
