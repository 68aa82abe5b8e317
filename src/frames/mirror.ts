import { type Entry, lineOf } from "../transcript/entry.ts";
import type { TranscriptMirrorFrame } from "../wire/frame.ts";
import { type FramesState, listOf } from "./frames_state.ts";

/**
 * The lines that have been read since the last time, as they will stand in the user's transcripts: those of the session,
 * and those of its subagents in their own files.
 */
export function mirrored(
  { options: { mirrorPath }, own, subagents }: FramesState,
): readonly TranscriptMirrorFrame[] {
  if (mirrorPath === undefined) return [];
  const files = Map.groupBy([
    ...listOf(own).map((entry) => ({ path: mirrorPath, entry })),
    ...listOf(subagents).map(({ subagent: { agentId }, entry }) => ({
      path: `${mirrorPath.replace(/\.jsonl$/u, "")}/subagents/agent-${agentId}.jsonl`,
      entry,
    })),
  ], ({ path }) => path);
  return [...files].map(([path, lines]) => mirror(path, lines.map(({ entry }) => entry)));
}

function mirror(filePath: string, entries: readonly Entry[]): TranscriptMirrorFrame {
  return { type: "transcript_mirror", filePath, entries: entries.map(lineOf) };
}
