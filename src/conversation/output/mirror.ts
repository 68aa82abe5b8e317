import { chained, chainOf, listOf } from "../../chain.ts";
import { type FramesState, type MirroredLine, type Told, told } from "./telling/frames_state.ts";
import { lineOf } from "../../claude/transcript/entry.ts";
import { type GivenIds, withGivenIds } from "../../claude/transcript/moved_lines.ts";
import type { JsonObject } from "../../json_object.ts";
import { lineId } from "../../claude/transcript/entry_order.ts";
import type { TranscriptMirrorFrame } from "../../claude/wire/frame.ts";

/** Keeps a line until it is mirrored, if anybody wants that. */
export function keepForMirror(state: FramesState, line: MirroredLine): FramesState {
  return state.options.mirrorPath === undefined
    ? state
    : { ...state, unmirrored: chained(state.unmirrored, line) };
}

/**
 * Tells the lines that have been read since the last time, as they will stand in the user's transcripts: those of the
 * session, and those of its subagents in their own files. What is noted of a subagent is a frame by itself: `claude -p`
 * prints one whenever it writes that down, the first ahead of the subagent's lines.
 *
 * @param options.all whether nothing waits any more for the line that tells which message it is about
 */
export function tellMirror(
  state: FramesState,
  { all = false }: { readonly all?: boolean } = {},
): Told {
  const { options: { mirrorPath = "" }, unmirrored, givenIds } = state;
  if (unmirrored === undefined) return told(state);
  const read = listOf(unmirrored);
  const known = all ? read.length : knownLines(state, read);
  const folder = mirrorPath.replace(/\.jsonl$/u, "");
  const files = Map.groupBy(
    read.slice(0, known),
    (line) => "note" in line ? line : line.agentId,
  );
  const frames = [...files.values()].map((lines): TranscriptMirrorFrame => {
    const agentId = lines[0]?.agentId;
    return {
      type: "transcript_mirror",
      filePath: agentId === undefined ? mirrorPath : `${folder}/subagents/agent-${agentId}.jsonl`,
      entries: lines.map((line) => writtenLine(line, givenIds)),
    };
  });
  return told({ ...state, unmirrored: chainOf(read.slice(known)) }, frames);
}

/**
 * How many lines it is known of how they will stand there. Claude Code may note what files were like before a message
 * ahead of the message's own line, which tells whose id it has.
 */
function knownLines(
  { awaited, givenIds }: FramesState,
  lines: readonly MirroredLine[],
): number {
  if (!awaited.some(({ uuid }) => uuid !== undefined)) return lines.length;
  const unknown = lines.findIndex((line) => {
    const id = snapshotOf(line);
    return id !== undefined && !givenIds.has(id) &&
      !lines.some((other) => "entry" in other && lineId(other.entry) === id);
  });
  return unknown < 0 ? lines.length : unknown;
}

/** The message before which files were as a line notes it, if it does. */
function snapshotOf(line: MirroredLine): string | undefined {
  if (!("entry" in line) || line.entry.type !== "other") return undefined;
  const { type, messageId, isSnapshotUpdate } = line.entry.line;
  return type === "file-history-snapshot" && isSnapshotUpdate !== true &&
      typeof messageId === "string"
    ? messageId
    : undefined;
}

/**
 * Tells them with what follows from them, but ahead of a result: whoever keeps them wants to have all of its turn by
 * then, as `claude -p` sees to.
 */
export function withMirror(
  { state, frames }: Told,
  options: { readonly all?: boolean } = {},
): Told {
  const mirror = tellMirror(state, options);
  const result = frames.findIndex(({ type }) => type === "result");
  const place = result < 0 ? frames.length : result;
  return told(mirror.state, frames.toSpliced(place, 0, ...mirror.frames));
}

function writtenLine(line: MirroredLine, ids: GivenIds): JsonObject {
  if ("entry" in line) return withGivenIds(lineOf(line.entry), ids);
  const { type: _, ...note } = line.note;
  return { type: "agent_metadata", ...note };
}
