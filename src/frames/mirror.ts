import { chained, listOf } from "./telling/chain.ts";
import { type FramesState, type MirroredLine, type Told, told } from "./telling/frames_state.ts";
import { lineOf } from "../transcript/entry.ts";
import type { JsonObject } from "../json_object.ts";
import type { TranscriptMirrorFrame } from "../wire/frame.ts";

/** Keeps a line until it is mirrored, if anybody wants that. */
export function keepForMirror(state: FramesState, line: MirroredLine): FramesState {
  return state.options.mirrorPath === undefined
    ? state
    : { ...state, unmirrored: chained(state.unmirrored, line) };
}

/**
 * Tells the lines that have been read since the last time, as they will stand in the user's transcripts: those of the
 * session, and those of its subagents in their own files. What is noted of a subagent is a frame by itself: `claude -p`
 * prints one whenever it writes that down, the first ahead of the subagent's lines (2.1.197 and 2.1.330).
 */
export function tellMirror(state: FramesState): Told {
  const { options: { mirrorPath = "" }, unmirrored } = state;
  if (unmirrored === undefined) return told(state);
  const folder = mirrorPath.replace(/\.jsonl$/u, "");
  const files = Map.groupBy(
    listOf(unmirrored),
    (line) => "note" in line ? line : line.agentId,
  );
  const frames = [...files.values()].map((lines): TranscriptMirrorFrame => {
    const agentId = lines[0]?.agentId;
    return {
      type: "transcript_mirror",
      filePath: agentId === undefined ? mirrorPath : `${folder}/subagents/agent-${agentId}.jsonl`,
      entries: lines.map(writtenLine),
    };
  });
  return told({ ...state, unmirrored: undefined }, frames);
}

/**
 * Tells them with what follows from them, but ahead of a result: whoever keeps them wants to have all of its turn by
 * then, as `claude -p` sees to.
 */
export function withMirror({ state, frames }: Told): Told {
  const mirror = tellMirror(state);
  const result = frames.findIndex(({ type }) => type === "result");
  const place = result < 0 ? frames.length : result;
  return told(mirror.state, frames.toSpliced(place, 0, ...mirror.frames));
}

function writtenLine(line: MirroredLine): JsonObject {
  if ("entry" in line) return lineOf(line.entry);
  const { type: _, ...note } = line.note;
  return { type: "agent_metadata", ...note };
}
