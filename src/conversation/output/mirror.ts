import { chained, chainOf, listOf } from "../../chain.ts";
import type { MirroredLine, OutputState, OutputStep } from "./output_state.ts";
import { lineOf } from "../../claude/transcript/entry.ts";
import type { JsonObject } from "../../json_object.ts";
import type { TranscriptMirrorFrame } from "../../claude/wire/frame.ts";
import { type GivenIds, replaceIds } from "../../claude/transcript/moved_lines.ts";
import { lineId } from "../../claude/transcript/entry_order.ts";

/** Records a line to be mirrored, if the caller wants `transcript_mirror` frames. */
export function recordForMirror(step: OutputStep, line: MirroredLine): void {
  const { options, unmirroredLines } = step.state;
  if (options.mirrorPath !== undefined) {
    step.update({ unmirroredLines: chained(unmirroredLines, line) });
  }
}

/** Which lines are mirrored. Without `all`, the last lines wait for the line of their message. */
interface MirrorOptions {
  readonly all?: boolean;
}

/**
 * Emits the lines that have been read since the last time, as the user's transcripts will hold them: one frame for the
 * session and one for each subagent's file. Metadata of a subagent has a frame of its own: `claude -p` prints one
 * whenever it writes the metadata, the first before the subagent's lines.
 */
export function emitMirror(step: OutputStep, { all = false }: MirrorOptions = {}): void {
  const { options: { mirrorPath = "" }, unmirroredLines, facts } = step.state;
  if (unmirroredLines === undefined) return;
  const read = listOf(unmirroredLines);
  const known = all ? read.length : knownLines(step.state, read);
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
      entries: lines.map((line) => writtenLine(line, facts.givenIds)),
    };
  });
  step.update({ unmirroredLines: chainOf(read.slice(known)) });
  step.emit(...frames);
}

/**
 * Returns the number of lines that have their final ids. Claude Code may write a snapshot of files before the line of
 * its message. Only the message's line shows the id that the caller gave the message.
 */
function knownLines(
  { awaited, facts: { givenIds } }: OutputState,
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

/** Returns the message of a line with a snapshot of files; undefined for any other line. */
function snapshotOf(line: MirroredLine): string | undefined {
  if (!("entry" in line) || line.entry.type !== "other") return undefined;
  const { type, messageId, isSnapshotUpdate } = line.entry.line;
  return type === "file-history-snapshot" && isSnapshotUpdate !== true &&
      typeof messageId === "string"
    ? messageId
    : undefined;
}

/**
 * Emits the frames of lines and then mirrors the lines, but before a result: as in `claude -p`, the mirror holds all
 * lines of a turn when its result is printed.
 */
export function emitWithMirror(
  step: OutputStep,
  emitLines: () => void,
  options: MirrorOptions = {},
): void {
  const frames = step.capture(emitLines);
  const result = frames.findIndex(({ type }) => type === "result");
  const place = result < 0 ? frames.length : result;
  step.emit(...frames.slice(0, place));
  emitMirror(step, options);
  step.emit(...frames.slice(place));
}

function writtenLine(line: MirroredLine, ids: GivenIds): JsonObject {
  if ("entry" in line) return replaceIds(lineOf(line.entry), ids);
  const { type: _, ...note } = line.note;
  return { type: "agent_metadata", ...note };
}
