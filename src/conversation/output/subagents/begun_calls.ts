import { calledSubagent } from "./hooked_tasks.ts";
import { isLater } from "../lines/line_order.ts";
import { chainOf, listOf } from "../../../chain.ts";
import type { OutputState, OutputStep } from "../output_state.ts";
import type { Entry } from "../../../claude/transcript/entry.ts";
import { readToolCalls } from "../../../claude/transcript/turn.ts";
import { asText } from "../../../json_object.ts";
import { emitReadLines } from "../lines/emit_lines.ts";

/** A call whose subagent has not started yet, and the line that holds the call. */
interface UnstartedCall {
  readonly id: string;
  readonly line: Entry;
}

/**
 * The first call for whose subagent the turn waits, if no line and no hook of the subagent has been received.
 *
 * `claude -p` prints the start of a subagent right after the call. Claude Code writes the subagent's lines to a
 * separate file, up to 0.1 s before or after the next lines of the answer. If a hook can delay a call, the output does
 * not wait for the start.
 */
function unstartedCall(state: OutputState): UnstartedCall | undefined {
  const { ownLines, pendingEnds, options } = state;
  const isStreamed = state.exact !== undefined || state.partial !== undefined;
  if (isStreamed || options.subagentsUnread || options.callHooks) return undefined;
  if (pendingEnds.some(({ lines }) => lines !== undefined)) return undefined;
  const lines = listOf(ownLines);
  const calls = lines.flatMap((line) => agentCallsIn(line).map((id) => ({ id, line })));
  const known = state.unstartedCall === undefined ? calls : [state.unstartedCall, ...calls];
  if (known.length === 0) return undefined;
  const started = new Set([
    ...[...state.uncalledLines, ...listOf(state.subagentLines)].map(({ subagent }) =>
      subagent.toolUseId
    ),
    ...lines.flatMap(resultsIn),
  ]);
  const hasTask = (id: string) => state.allTasks.values().some(({ toolUseId }) => toolUseId === id);
  return known.find(({ id }) => !started.has(id) && !hasTask(id));
}

/**
 * Emits the lines up to a call whose subagent has not started, and defers the lines after it. Does nothing and returns
 * false if there is no such call.
 */
export function emitUpToUnstartedCall(step: OutputStep): boolean {
  const call = unstartedCall(step.state);
  if (call === undefined) return false;
  const [own, subagents] = [listOf(step.state.ownLines), listOf(step.state.subagentLines)];
  const place = own.indexOf(call.line) + 1;
  const isAfterCall = isLater(subagents, call.line);
  step.update({
    ownLines: chainOf(own.slice(0, place)),
    subagentLines: chainOf(subagents.filter((line) => !isAfterCall(line))),
  });
  emitReadLines(step);
  step.update({
    ownLines: chainOf(own.slice(place)),
    subagentLines: chainOf(subagents.filter(isAfterCall)),
    unstartedCall: call,
  });
  return true;
}

/** Ids of the calls on a line for whose subagents the turn waits. */
function agentCallsIn(line: Entry): readonly string[] {
  if (line.type !== "assistant" || line.isSidechain === true) return [];
  return readToolCalls(line.message)
    .filter((call) =>
      (call.name === "Agent" || call.name === "Task") && !calledSubagent(call).background
    )
    .map(({ id }) => id);
}

function resultsIn(line: Entry): readonly string[] {
  if (line.type !== "user" || typeof line.message.content === "string") return [];
  return line.message.content.map(({ tool_use_id: id }) => asText(id));
}
