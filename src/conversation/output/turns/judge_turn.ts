import type { Message } from "../../control/message.ts";
import { isScheduledPrompt } from "../../../claude/transcript/entry.ts";
import { parseTaskNotification } from "../../../claude/transcript/task_notification.ts";
import type { Cost } from "../../../claude/transcript/cost.ts";
import type { Turn } from "../../../claude/transcript/turn.ts";
import type { Outcome } from "../../../claude/wire/outcome.ts";
import { judgeEnding, overspentVerdict, type Verdict, wrappedVerdict } from "../result/verdict.ts";
import type { OutputState } from "../output_state.ts";
import type { DueEnd, DueTurns } from "./run_turns.ts";

/**
 * Returns the verdict on the last turn that ends.
 *
 * @param options.cost the cost of the conversation so far
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
    judgeEnding(ending, {
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
  // As in `claude -p`, an answer that uses up the budget does not count as an answer.
  if (
    isAnswered && maxBudgetUsd !== undefined && cost !== undefined && cost.totalUsd >= maxBudgetUsd
  ) return overspentVerdict(reporting);
  const { command, result: text } = typedCommand ?? {};
  return command !== undefined && text !== undefined && (isAnswered || ending.kind === "aborted")
    ? { ...verdict, outcome: { kind: "local", text, command } }
    : verdict;
}

/**
 * Returns the verdict. Returns a failure instead if the answer is to another prompt than the one sent, if the answer
 * cannot be read, or if the child does not end.
 */
function confirmed(
  verdict: Verdict,
  facts: {
    /** The turns that are reported now. */
    readonly turns: readonly Turn[];
    readonly message: Message | undefined;
    /** The texts that were sent for these turns. */
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
  // The child wakes the model with prompts of its own, also while a message is on its way.
  const isOfChild = typeof sent === "string" &&
    (parseTaskNotification(sent) !== undefined ||
      (turn?.prompt !== undefined && isScheduledPrompt(turn.prompt)));
  if (typeof sent === "string" && isOurs && !isOfChild && !texts.includes(sent)) {
    const failed = fail({
      kind: "internal_error",
      message: "The prompt did not reach Claude as it is: Claude Code changed it",
    }, "Compare it with the user line of the session's transcript");
    // If its line is read before its hook is received, the hook has not ended the turn.
    return wrappedVerdict(sent) ?? { ...failed, isForeign: true };
  }
  return verdict;
}
