import file from "./known_shapes.json" with { type: "json" };
import { type KnownClaude, type KnownFile, readKnown } from "./known.ts";

let known: KnownClaude | undefined;

/** What the recordings of this project have of Claude Code. */
export function knownShapes(): KnownClaude {
  known ??= readKnown(file as KnownFile);
  return known;
}
