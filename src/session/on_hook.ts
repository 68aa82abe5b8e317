import { backgroundTasksOf } from "./background_wait.ts";
import { began, isSubmitted, ready } from "./beginning.ts";
import type { Effect } from "./effect.ts";
import { end, overAtOnce } from "./ending.ts";
import { DENIAL, STOP } from "./hook_answers.ts";
import type { HookPayload } from "./input.ts";
import { isTurnFailure } from "./is_turn_failure.ts";
import { holdForServers } from "./on_servers.ts";
import type { SessionState } from "./session_state.ts";
import { act, deadline, stay, type Step } from "./step.ts";
import { overWhenSettled } from "./waits.ts";

/** A hook of ours runs: the turn is under way, or over. Whoever asks is answered, whatever becomes of the turn. */
export function onHook(
  state: SessionState,
  { event, payload, id }: {
    readonly event: string;
    readonly payload: HookPayload;
    readonly id?: string;
  },
): Step {
  if (id !== undefined && isHeld(state, event)) {
    const next = takeHook(state, event, payload);
    const held = holdForServers(next.state, id);
    return act(held.state, [...next.effects, ...held.effects]);
  }
  const counted = event === "PostToolBatch" ? countRequest(state, payload) : state;
  // The first recordings hold only the call at the limit, and not what the limit was.
  const limited = counted !== state && counted.requests >= (state.options.maxTurns ?? 0);
  const next = takeHook(counted, event === "PostToolBatch" && limited ? "limit" : event, payload);
  if (id === undefined) return next;
  const reply = event === "PermissionRequest" ? DENIAL : limited ? STOP : undefined;
  const answer: Effect = { type: "answer", id, ...(reply === undefined ? {} : { reply }) };
  return act(next.state, [answer, ...next.effects]);
}

/** Whether the child has yet to connect to its MCP servers. */
function isHeld(state: SessionState, event: string): boolean {
  return event === "SessionStart" && state.options.mcpServers !== undefined &&
    state.phase === "starting" && !state.ready;
}

/** Counts the requests of the turn; subagents make requests of their own. */
function countRequest(state: SessionState, payload: HookPayload): SessionState {
  return payload["agent_id"] === undefined ? { ...state, requests: state.requests + 1 } : state;
}

/** What a hook says of the turn; `limit` stands for the tools after which there may be no further request. */
function takeHook(state: SessionState, event: string, payload: HookPayload): Step {
  if (state.phase === "ending") return stay(state);
  if (state.phase === "interrupting") {
    // The turn was over before Escape arrived, or because of it.
    const isOver = event === "Stop" || isTurnFailure(event, payload);
    return isOver ? end(state, state.ending) : stay(state);
  }
  if (state.ending !== undefined) return stay(state);
  const trace: Effect = { type: "trace", text: `hook ${event}` };
  switch (event) {
    case "Stop": {
      if (!isSubmitted(state)) return act(state, [trace]);
      // With tasks in the background another turn follows, and another Stop.
      if (backgroundTasksOf(payload).length > 0) {
        // A task in the background starts a turn of its own.
        const working = began({ ...state, background: true, backgroundStop: payload, requests: 0 });
        return act(working.state, [trace, ...working.effects]);
      }
      const settling: SessionState = {
        ...state,
        phase: "settling",
        stop: payload,
        background: false,
      };
      const over = overAtOnce(settling);
      return over === undefined
        ? act(settling, settle(state, trace))
        : act(over.state, [trace, ...over.effects]);
    }
    case "StopFailure":
      if (!isTurnFailure(event, payload)) return act(state, [trace]);
      return act({ ...state, phase: "settling", failure: payload }, settle(state, trace));
    case "limit":
      // No Stop follows it (2.1.168 to 2.1.330).
      return act({ ...state, phase: "settling", limited: true }, settle(state, trace));
    case "UserPromptSubmit": {
      const taken = payload["prompt"];
      // Later ones announce tasks that ended in the background.
      if (!state.prompted && typeof taken === "string" && taken !== state.options.prompt) {
        const ended = end(state, { kind: "undelivered", taken });
        return act(ended.state, [trace, ...ended.effects]);
      }
      const next = began({ ...state, prompted: true, background: false, completed: false });
      return act(next.state, [trace, ...next.effects]);
    }
    default: {
      // Any hook of the turn proves that it is under way; SessionStart comes before it.
      const next = event === "SessionStart" ? ready(state) : began(state);
      return act(next.state, [trace, ...next.effects]);
    }
  }
}

/** What is waited for once a hook has announced the end. */
function settle(state: SessionState, trace: Effect): readonly Effect[] {
  return [
    trace,
    deadline("start"),
    deadline("delivery"),
    deadline("look"),
    deadline("idle"),
    // Another Stop hook may make the child go on.
    state.options.otherStopHooks
      ? deadline("drain", state.options.drainTimeoutMs)
      : overWhenSettled(state.options),
  ];
}
