import { CliError } from "../../../cli_error.ts";
import { parseTapeEntry } from "../../cassette/read/parse_tape.ts";
import { parseEvent, parseHeader } from "../../cassette/read/parse_cast.ts";
import type { ParsedLine } from "../../cassette/read/parse_lines.ts";
import { partLines } from "../../cassette/read/part_lines.ts";
import type { CastHeader } from "../../cassette/cast.ts";
import type { JsonObject } from "../../../json_object.ts";
import { examineApi } from "./examine_api.ts";
import { createExaminer, type Examiner } from "./examiner.ts";
import type { Findings } from "../findings.ts";
import type { KnownClaude } from "../known.ts";

/** The files of a recording. */
export interface RecordingFiles {
  readonly cast?: string | undefined;
  readonly tape?: string | undefined;
  /** The folder of its exchanges. */
  readonly api?: string | undefined;
  /** The version of Claude Code, where a file beside these says it. */
  readonly version?: string | undefined;
}

/** What of a recording was looked at. */
export interface Examined {
  readonly version: string | undefined;
  readonly frames: number;
  readonly events: number;
  /** Answers of the model. */
  readonly answers: number;
}

/**
 * Looks at all that is in a recording, however large it is.
 *
 * @param options.onFrame takes each frame with its line
 * @throws {CliError} when a file cannot be read at all
 */
export function examineRecording(
  { cast, tape, api, version }: RecordingFiles,
  { known, findings, onFrame = () => {} }: {
    readonly known: KnownClaude;
    readonly findings: Findings;
    readonly onFrame?: (frame: JsonObject, line: number) => void;
  },
): Examined {
  // The cast is first: it says earlier which version of Claude Code it is.
  const examiner = createExaminer({ known, version });
  const events = cast === undefined ? 0 : examineCast(cast, { examiner, findings });
  const frames = tape === undefined ? 0 : examineTape(tape, { examiner, findings, onFrame });
  const answers = api === undefined ? 0 : examineApi(api, { examiner, findings });
  return { version: examiner.version(), frames, events, answers };
}

interface Looking {
  readonly examiner: Examiner;
  readonly findings: Findings;
}

function examineTape(
  path: string,
  { examiner, findings, onFrame }: Looking & {
    readonly onFrame: (frame: JsonObject, line: number) => void;
  },
): number {
  let frames = 0;
  let last = 0;
  each(path, { findings, part: "tape" }, (line) => {
    const entry = parseTapeEntry(line, { path, last });
    last = entry.at;
    if (entry.dir !== "read") return;
    frames++;
    const place = { path, line: line.number };
    for (const found of examiner.frame(entry.frame)) findings.add(found, { place });
    onFrame(entry.frame, line.number);
  });
  return frames;
}

function examineCast(path: string, { examiner, findings }: Looking): number {
  let header: CastHeader | undefined;
  let isForeign = false;
  let events = 0;
  let last = 0;
  each(path, { findings, part: "cast" }, (line) => {
    if (isForeign) return;
    if (header === undefined) {
      isForeign = true;
      header = parseHeader(line, { path });
      isForeign = false;
      examiner.learn(header.claude_print.claude_version);
      return;
    }
    const event = parseEvent(line, { path, header, last });
    last = event.at;
    events++;
    const place = { path, line: line.number };
    for (const found of examiner.event(event)) findings.add(found, { place });
  });
  return events;
}

/** Goes through the lines of a file. What is wrong with one is found, and the next one is read. */
function each(
  path: string,
  { findings, part }: { readonly findings: Findings; readonly part: string },
  take: (line: ParsedLine) => void,
): void {
  const damaged = (error: CliError, line: number): void => {
    // Beside the place, which is told anyway, an error of a line says what is wrong behind the last colon.
    const what = error.message.slice(error.message.indexOf(`${path}: `) + path.length + 2);
    findings.add({ check: "frame rejected", where: `line of the ${part}`, what }, {
      place: { path, line },
    });
  };
  const lines = partLines(path, { onDamage: damaged });
  if (lines === undefined) return;
  for (const line of lines) {
    try {
      take(line);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      damaged(error, line.number);
    }
  }
}
