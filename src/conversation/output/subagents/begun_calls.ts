import { calledSubagent } from "./hooked_tasks.ts";
import { isLater } from "../lines/line_order.ts";
import { tellRead } from "../lines/tell_lines.ts";
import { chainOf, listOf } from "../../../chain.ts";
import { type FramesState, type Told, told } from "../telling/frames_state.ts";
import type { Entry } from "../../../claude/transcript/entry.ts";
import { callsOf } from "../../../claude/transcript/turn.ts";
import { asText } from "../../../json_object.ts";

/** A call whose subagent has not been heard of yet, and the line that holds it. */
interface UnbegunCall {
  readonly id: string;
  readonly line: Entry;
}

/**
 * The first call for whose subagent its turn waits, and of which nothing has been read but the call: `claude -p` tells the
 * beginning of a subagent right behind its call, and Claude Code writes it to another file, up to
 * 0.1 s apart from what the answer goes on with. A call that a hook holds up begins when the hook says so.
 */
function unbegunCall(state: FramesState): UnbegunCall | undefined {
  const { own, ended, options } = state;
  const isHeard = state.exact !== undefined || state.partial !== undefined;
  if (isHeard || options.subagentsUnread || options.callHooks) return undefined;
  if (ended.some(({ lines }) => lines !== undefined)) return undefined;
  const lines = listOf(own);
  const calls = lines.flatMap((line) => callsIn(line).map((id) => ({ id, line })));
  const known = state.unbegun === undefined ? calls : [state.unbegun, ...calls];
  if (known.length === 0) return undefined;
  const begun = new Set([
    ...[...state.uncalled, ...listOf(state.subagents)].map(({ subagent }) => subagent.toolUseId),
    ...lines.flatMap(resultsIn),
  ]);
  const isTold = (id: string) => state.allTasks.values().some(({ toolUseId }) => toolUseId === id);
  return known.find(({ id }) => !begun.has(id) && !isTold(id));
}

/**
 * Tells what has been read up to a call whose subagent has not begun, and holds back what was written behind it; undefined
 * where there is none.
 */
export function tellToCall(state: FramesState): Told | undefined {
  const call = unbegunCall(state);
  if (call === undefined) return undefined;
  const [own, subagents] = [listOf(state.own), listOf(state.subagents)];
  const place = own.indexOf(call.line) + 1;
  const isBehind = isLater(subagents, call.line);
  const said = tellRead({
    ...state,
    own: chainOf(own.slice(0, place)),
    subagents: chainOf(subagents.filter((line) => !isBehind(line))),
  });
  return told({
    ...said.state,
    own: chainOf(own.slice(place)),
    subagents: chainOf(subagents.filter(isBehind)),
    unbegun: call,
  }, said.frames);
}

/** Ids of the calls on a line for whose subagents the turn waits. */
function callsIn(line: Entry): readonly string[] {
  if (line.type !== "assistant" || line.isSidechain === true) return [];
  return callsOf(line.message)
    .filter((call) =>
      (call.name === "Agent" || call.name === "Task") && !calledSubagent(call).background
    )
    .map(({ id }) => id);
}

function resultsIn(line: Entry): readonly string[] {
  if (line.type !== "user" || typeof line.message.content === "string") return [];
  return line.message.content.map(({ tool_use_id: id }) => asText(id));
}
