import file from "./known_shapes.json" with { type: "json" };
import { type Known, type KnownFile, readKnown } from "./known.ts";

let known: Known | undefined;

/** What the recordings of this project have of Claude Code. */
export function knownShapes(): Known {
  known ??= readKnown(file as KnownFile);
  return known;
}
