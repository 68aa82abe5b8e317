import type { Message } from "../../control/message.ts";
import { isTimed } from "../../../claude/transcript/entry.ts";
import { parseTaskNotification } from "../../../claude/transcript/task_notification.ts";
import type { Cost } from "../../../claude/transcript/cost.ts";
import type { Turn } from "../../../claude/transcript/turn.ts";
import type { Outcome } from "../../../claude/wire/outcome.ts";
import { overspentVerdict, type Verdict, verdictOf, wrappedVerdict } from "../result/verdict.ts";
import type { OutputState } from "../output_state.ts";
import type { DueEnd, DueTurns } from "./run_turns.ts";

/**
 * Says what an end means for the last turn that it is of.
 *
 * @param options.cost what the conversation has cost by then
 */
export function judgeTurn(
  state: OutputState,
  { end: { ending, at }, child, due, cost }: DueEnd & {
    readonly due: DueTurns;
    readonly cost: Cost | undefined;
  },
): Verdict {
  const { reporting, options, taken, typedCommand } = state;
  const { turns, turn, run, message, version } = due;
  const { stop } = ending.kind === "answered" ? ending : {};
  const verdict = confirmed(
    verdictOf(ending, {
      ...reporting,
      conversation: options.conversation,
      command: message?.way === undefined ? undefined : message.command,
      altered: message?.way === undefined ? undefined : message.altered,
      isClaude: version !== undefined,
      turn,
      now: options.startedAt + at,
    }),
    {
      turns: turns.slice(run.printed),
      message,
      texts: taken.map(({ text }) => text),
      announced: stop?.["last_assistant_message"],
      ended: child === undefined || child.exit !== undefined,
    },
  );
  const { maxBudgetUsd } = reporting;
  const isAnswered = verdict.outcome.kind === "answered";
  // As in `claude -p`, an answer that uses the budget up is no answer.
  if (
    isAnswered && maxBudgetUsd !== undefined && cost !== undefined && cost.totalUsd >= maxBudgetUsd
  ) return overspentVerdict(reporting);
  const { command, result: text } = typedCommand ?? {};
  return command !== undefined && text !== undefined && (isAnswered || ending.kind === "aborted")
    ? { ...verdict, outcome: { kind: "local", text, command } }
    : verdict;
}

/** Takes an answer back that belongs to no prompt of ours, cannot be read at all, or whose giver never ends. */
function confirmed(
  verdict: Verdict,
  facts: {
    /** Those that are told now. */
    readonly turns: readonly Turn[];
    readonly message: Message | undefined;
    /** The texts that were sent for them. */
    readonly texts: readonly string[];
    readonly announced: unknown;
    readonly ended: boolean;
  },
): Verdict {
  if (verdict.outcome.kind !== "answered") return verdict;
  const fail = (outcome: Outcome, suggestion: string): Verdict => ({
    outcome,
    suggestion,
    showScreen: false,
  });
  if (!facts.ended) {
    return fail({
      kind: "exit_timeout",
      message: "Claude Code does not end, not even by SIGKILL: it hangs in the kernel",
    }, "Look for a file system or a device that does not answer");
  }
  const [turn] = facts.turns;
  if (turn === undefined && typeof facts.announced !== "string") {
    return fail({
      kind: "drain_timeout",
      message:
        "Cannot read the answer: Claude Code wrote no transcript and its Stop hook names no text",
    }, "Run again with --trace to see what the child did");
  }
  const { message, texts } = facts;
  const sent = turn?.prompt?.message.content;
  const isOurs = message?.way !== undefined && message.command === undefined;
  // What wakes the model is nobody's message, though one may be on its way.
  const isNobodys = typeof sent === "string" &&
    (parseTaskNotification(sent) !== undefined ||
      (turn?.prompt !== undefined && isTimed(turn.prompt)));
  if (typeof sent === "string" && isOurs && !isNobodys && !texts.includes(sent)) {
    const failed = fail({
      kind: "internal_error",
      message: "The prompt did not reach Claude as it is: Claude Code changed it",
    }, "Compare it with the user line of the session's transcript");
    // Where its line is read before its hook is heard, the turn was not ended by that.
    return wrappedVerdict(sent) ?? { ...failed, isForeign: true };
  }
  return verdict;
}
