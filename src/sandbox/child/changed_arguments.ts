import type { JsonObject } from "../../json_object.ts";

/** The caller's changes since the child's arguments were made. */
export interface ArgumentChanges {
  /** The model; null for the default. */
  readonly model?: string | null;
  /** The effort; null for the default. */
  readonly effort?: string | null;
  /** The limit of thinking tokens; null for none. */
  readonly maxThinkingTokens?: number | null;
  /** How thinking is displayed; null for the default. */
  readonly thinkingDisplay?: string | null;
  /** Arguments that load further plugins. */
  readonly plugins?: readonly string[];
}

/** Applies changes to arguments of Claude Code. */
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
    // Without an argument, a resumed session would use its last model.
    ...(model === undefined ? [] : [`--model=${model ?? "default"}`]),
    ...(typeof effort === "string" ? [`--effort=${effort}`] : []),
    ...(typeof maxThinkingTokens === "number"
      ? [`--max-thinking-tokens=${maxThinkingTokens}`]
      : []),
    ...(typeof thinkingDisplay === "string" ? [`--thinking-display=${thinkingDisplay}`] : []),
    ...plugins,
  ];
}

/** Applies a caller's flag settings to settings. Null removes a setting. */
export function applyFlagSettings(settings: JsonObject, flagSettings: JsonObject = {}): JsonObject {
  const merged = Object.entries({ ...settings, ...flagSettings });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}
