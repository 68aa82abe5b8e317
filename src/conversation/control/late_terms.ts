import type { Limits } from "./limits.ts";

/** What a conversation can be told after its child was started: it asks nothing of the child. */
export interface LateTerms extends Limits {
  /** Whether messages are printed again once Claude Code has taken them. */
  readonly replayMessages?: boolean;
  /** Whether what subagents say is told, whose end the turn waits for. */
  readonly subagentText?: boolean;
  /** Whether the ends of hooks are told. */
  readonly hookEvents?: boolean;
  /** Whether the last screen is wanted with every failure. */
  readonly trace: boolean;
  /** The id of the caller's initialization, by whose like the child was started; absent where there is none. */
  readonly initializedBy?: string;
}

/** The limits among terms. */
export function limitsOf(
  { replayMessages: _, subagentText: __, hookEvents: ___, trace: ____, ...terms }: LateTerms,
): Limits {
  const { initializedBy: _____, ...limits } = terms;
  return limits;
}
