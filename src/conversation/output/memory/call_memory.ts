import type { Chain } from "../../../chain.ts";
import type { GrowingMap } from "../../../growing_map.ts";
import type { CallDecision } from "../../control/effect.ts";
import type { ToolUse } from "../../../claude/transcript/turn/turn.ts";
import type { OpenCall } from "../telling/open_call.ts";

/** A skill that a subagent carries out. */
export interface ForkedSkill {
  readonly call: ToolUse;
  /** What the model has been told of the skill. */
  readonly description: string;
}

/** What is remembered of calls of tools, and of what has been decided on them. */
export interface CallMemory {
  /** Ids of the calls that hand over structured answers; absent where none is wanted. */
  readonly outputCalls?: ReadonlySet<string>;
  /** The calls that have not returned, by id. */
  readonly toolUses: ReadonlyMap<string, ToolUse>;
  /** Those by which subagents were started, and which have returned. */
  readonly agentCalls: GrowingMap<string, ToolUse>;
  /** Calls of skills that have not returned, and of which it is not known whether a subagent carries them out. */
  readonly skills: readonly ToolUse[];
  /** Skills that subagents carry out, by the ids of those. */
  readonly forks: GrowingMap<string, ForkedSkill>;
  /** The calls that have failed, or were refused. */
  readonly failed: Chain<ToolUse> | undefined;
  /** What the caller has decided on calls, by their ids. */
  readonly decisions: GrowingMap<string, CallDecision>;
  /** Calls of the session itself that have not returned, by their ids. */
  readonly openCalls: ReadonlyMap<string, OpenCall>;
}
