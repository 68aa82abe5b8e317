import { awaitEcho } from "./beginning.ts";
import { askCommand, COMMAND } from "./control/asked_command.ts";
import { end } from "./ending.ts";
import { type Message, type Prompt, ticketsOf } from "./message.ts";
import { ECHO_START, encodePaste } from "./terminal/paste.ts";
import { isOverspent, type OpenSession, type SessionState } from "./session_state.ts";
import { act, deadline, stay, type Step } from "./step.ts";

/** How long a child with an input box may take to open its rendezvous socket: 2.1.197 and 2.1.330 do so before it. */
const RENDEZVOUS_MS = 10_000;

/** How long the hook that waits for MCP servers may take to run in a child that can take a message. */
const HOLD_MS = 5000;

/**
 * Hands the next message to the child, if it is its time, and ends a conversation in which there is nothing left to do.
 *
 * While a turn is under way the child keeps a queue of its own, as `claude -p` does: what comes in time becomes a part
 * of the turn, the rest is the next one, all together. What goes in another way than by the socket waits until the
 * child rests, and so does what shall come after everything else.
 */
export function handOver(state: SessionState): Step {
  if (state.ending !== undefined || isPreparing(state)) return stay(state);
  const [next, ...queue] = state.queue;
  if (next === undefined) {
    return state.phase === "resting" && isLast(state)
      ? end(state, { kind: "closed" })
      : stay(state);
  }
  const atRest = isAtRest(state);
  if (isOverspent(state) && next.way !== undefined) {
    return atRest ? handOver({ ...state, queue: [unaffordable(next), ...queue] }) : stay(state);
  }
  const { changes } = state;
  if (changes !== undefined && next.way !== undefined) {
    return atRest ? end(state, { kind: "renewed", changes }) : stay(state);
  }
  switch (next.way) {
    case undefined: {
      if (!atRest) return stay(state);
      if (next.settled.kind === "asked") return askCommand(state, next);
      const ending = { kind: "settled", message: next } as const;
      const after = handOver({ ...state, queue });
      const tickets = ticketsOf([next]);
      return act(after.state, [
        { type: "turn", ending, recorded: true, tickets },
        ...after.effects,
      ]);
    }
    case "stdin":
      return handOver({ ...state, queue, sent: [...state.sent, next] });
    case "paste":
      return atRest ? paste({ ...state, queue }, next) : stay(state);
    case "rendezvous": {
      if (atRest) return send(state);
      const joins = state.phase === "working" && !state.waits && next.command === undefined &&
        next.priority !== "later";
      return joins
        ? act({ ...state, queue, sent: [...state.sent, next] }, [deliver(next)])
        : stay(state);
    }
  }
}

/**
 * Whether what the caller has asked for comes before any further turn: it is told of the Claude Code that it has
 * initialized, files that it wants back are back, and tasks that it wants stopped have been.
 */
function isPreparing({ consulted, stops }: SessionState): boolean {
  return stops.length > 0 ||
    [...consulted.values()].some(({ subtype }) =>
      subtype === "initialize" || subtype === "rewind_files" || subtype === COMMAND
    );
}

/** A message for which no request is made any more. */
function unaffordable({ way: _, command: __, altered: ___, ...message }: Prompt): Message {
  return { ...message, settled: { kind: "unaffordable" } };
}

/** Whether the turn under way, or the one just over, is the last of the conversation, and every request answered. */
export function isLast({ open, queue, sent, consulted, stops }: SessionState): boolean {
  return !open && queue.length + sent.length + stops.length + consulted.size === 0;
}

/** Whether the child waits for a message: nothing is under way but what runs in the background. */
function isAtRest({ phase, waits, status }: SessionState): boolean {
  return phase === "resting" || (phase === "working" && waits && status?.status !== "waiting");
}

/** Pastes a prompt into the input box. */
export function paste(state: OpenSession, prompt: Prompt): Step {
  const { sent } = state;
  const pasted = { ...state, sent: [...sent, prompt], echo: ECHO_START, waits: false };
  return act({ ...pasted, phase: "pasted" }, [
    { type: "write", bytes: encodePaste(prompt.text) },
    deadline("look"),
    ...awaitEcho(state).effects,
    ...limits(state),
    { type: "trace", text: "prompt pasted" },
  ]);
}

/** Sends the next message to the rendezvous socket of a child that rests, once it has one. */
function send(state: OpenSession): Step {
  const [next, ...queue] = state.queue;
  if (next?.way === undefined) return stay(state);
  if (!state.reachable) return act(state, [deadline("rendezvous", RENDEZVOUS_MS)]);
  // The socket takes it at once, whatever a hook waits for (2.1.197).
  if (state.held !== undefined) return stay(state);
  if (state.options.mcpServers !== undefined && !state.wasHeld) {
    return act(state, [deadline("servers", HOLD_MS)]);
  }
  return act({ ...state, queue, sent: [...state.sent, next], phase: "entered", waits: false }, [
    deliver(next),
    deadline("rendezvous"),
    ...limits(state),
    { type: "trace", text: "prompt sent to the rendezvous socket" },
  ]);
}

function deliver({ text }: Prompt) {
  return { type: "deliver", prompt: text } as const;
}

/** The limits that begin with a message. */
function limits({ options }: SessionState) {
  return [
    deadline("delivery", options.deliveryTimeoutMs),
    ...(options.conversation ? [deadline("timeout", options.timeoutMs)] : []),
  ];
}
