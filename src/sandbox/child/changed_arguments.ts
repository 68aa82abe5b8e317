import type { JsonObject } from "../../json_object.ts";

/** What of a child can be otherwise than its arguments say. */
export interface ArgumentChanges {
  /** The model; null for that of a session for which nobody names one. */
  readonly model?: string | null;
  /** The effort; null for that which a session has for which nobody names one. */
  readonly effort?: string | null;
  /** Most tokens to think with; null for as many as without a limit. */
  readonly maxThinkingTokens?: number | null;
  /** How thinking is told of; null for as without saying so. */
  readonly thinkingDisplay?: string | null;
  /** Arguments that load further plugins; all are read again. */
  readonly plugins?: readonly string[];
}

/** Arguments for Claude Code, with what has been asked to be otherwise since they were made. */
export function applyArgumentChanges(
  args: readonly string[],
  { model, effort, maxThinkingTokens, thinkingDisplay, plugins = [] }: ArgumentChanges,
): readonly string[] {
  const replaced = [
    ...(model === undefined ? [] : ["--model"]),
    ...(effort === undefined ? [] : ["--effort"]),
    ...(maxThinkingTokens === undefined ? [] : ["--max-thinking-tokens"]),
    ...(thinkingDisplay === undefined ? [] : ["--thinking-display"]),
  ];
  return [
    ...args.filter((argument) =>
      !replaced.some((flag) => argument === flag || argument.startsWith(`${flag}=`))
    ),
    // A session that is resumed would go on with its last model.
    ...(model === undefined ? [] : [`--model=${model ?? "default"}`]),
    ...(typeof effort === "string" ? [`--effort=${effort}`] : []),
    ...(typeof maxThinkingTokens === "number"
      ? [`--max-thinking-tokens=${maxThinkingTokens}`]
      : []),
    ...(typeof thinkingDisplay === "string" ? [`--thinking-display=${thinkingDisplay}`] : []),
    ...plugins,
  ];
}

/** Settings with those over them that a caller has applied since; null takes one away. */
export function applyFlagSettings(settings: JsonObject, flagSettings: JsonObject = {}): JsonObject {
  const merged = Object.entries({ ...settings, ...flagSettings });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}
