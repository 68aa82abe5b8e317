import { appliedSettings } from "../../sandbox/child/applied_settings.ts";
import { changedArguments } from "../../sandbox/child/changed_arguments.ts";
import type { ChildChanges } from "../../conversation/control/effect.ts";
import type { JsonObject } from "../../json_object.ts";

/** How a headless Claude Code is started that is to say of itself what the child would. */
export interface TwinPlan {
  readonly args: readonly string[];
  /** Further ones with which it starts the MCP servers of the child, but for those in the caller's own process. */
  readonly serverArgs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The session that the child resumes, if it does: that of a fork is another one. */
  readonly resumed?: string;
  /** Its own `CLAUDE_CONFIG_DIR`, in which it may write what it likes, and the user's, in whose place that is. */
  readonly configDir: string;
  readonly userConfigDir: string;
  /** Its settings, where its arguments say they are; hooks are switched off besides. */
  readonly settings: { readonly path: string; readonly values: JsonObject };
  /** Agents that the child has in files: it is told of them as `claude -p` is. */
  readonly agents?: JsonObject;
}

/**
 * How a headless Claude Code is started that says what the next child would: with what the caller has asked to be
 * otherwise since the child of now was started, but for MCP servers, which are in files that are written for a child.
 */
export function changedTwin(plan: TwinPlan, changes: ChildChanges = {}): TwinPlan {
  const { path, values } = plan.settings;
  return {
    ...plan,
    args: changedArguments(plan.args, changes),
    settings: { path, values: appliedSettings(values, changes.flagSettings) },
  };
}
