import type { Frame } from "../../../src/claude/wire/frame.ts";
import type { Line } from "./lines.ts";

/** Frames in a word each: subtypes of system frames, else types, and the call of a subagent's. */
export const kinds = (frames: readonly Frame[]): string =>
  frames.map(({ type, subtype, parent_tool_use_id: parent }) =>
    `${type === "system" ? subtype : type}${typeof parent === "string" ? `@${parent}` : ""}`
  ).join(" ");

/** What frames of a kind hold in some fields. */
export const fieldsOf = (
  frames: readonly Frame[],
  kind: string,
  ...fields: readonly string[]
): readonly (readonly unknown[])[] =>
  frames.filter(({ type, subtype }) => type === kind || subtype === kind)
    .map((frame) => fields.map((field) => (frame as Line)[field]));
