import { abortIfStopped, cancelStop } from "./stop_turn.ts";
import { awaitBackground } from "./background_wait.ts";
import { awaitEcho, enter } from "./begin_turn.ts";
import { isFollowed } from "./follow_ups.ts";
import { changed, hasBegun } from "../protocol/answering.ts";
import { askCommand, COMMAND, needsNewChild } from "../protocol/requests/asked_command.ts";
import { CHOOSING } from "../protocol/requests/choosing_model.ts";
import { changesServers } from "../protocol/servers.ts";
import { end } from "./end_session.ts";
import {
  type CarriedOut,
  contextIn,
  type Message,
  type Prompt,
  type PromptPart,
  promptParts,
  type SettledMessage,
  ticketsOf,
} from "./message.ts";
import { ECHO_START, type EchoState, encodePaste, seeEcho, seeImage } from "../terminal/paste.ts";
import type { ChildChanges, Effect } from "./effect.ts";
import { imageSuffix } from "../../claude/wire/caller_line.ts";
import {
  isLast,
  isOverspent,
  type OpenSession,
  type PastedSession,
  type SessionState,
} from "./session_state.ts";
import { act, andThen, deadline, stay, type Step } from "./step.ts";
import { overWhenFollowed } from "./wait_times.ts";

/** How long a child with an input box may take to open its rendezvous socket: 2.1.330 do so before it. */
const RENDEZVOUS_MS = 10_000;

/** How long a child that is to be another one waits for further changes: callers choose mode and model one after the other. */
const RENEWAL_MS = 200;

/** How long the SessionStart hook may take to run in a child that can take a message. */
const HOLD_MS = 5000;

/**
 * Hands the next message to the child, if it is its time, and ends a conversation in which there is nothing left to do.
 *
 * While a turn is under way the child keeps a queue of its own, as `claude -p` does: what comes in time becomes a part
 * of the turn, the rest is the next one, all together. What goes in another way than by the socket waits until the
 * child rests, and so does what shall come after everything else.
 */
export function handToChild(state: SessionState): Step {
  if (state.ending !== undefined || isPreparing(state)) return stay(state);
  const [next, ...queue] = state.queue;
  if (next === undefined) {
    if (isRenewedEarly(state)) return act(state, [deadline("renewal", RENEWAL_MS)]);
    if (state.phase !== "resting" || !isLast(state) || state.wakeup?.awaited) return stay(state);
    return isFollowed(state)
      ? act(state, [overWhenFollowed(state)])
      : end(state, { kind: "closed" });
  }
  const atRest = isAtRest(state);
  if (isOverspent(state) && next.way !== undefined) {
    return atRest ? handToChild({ ...state, queue: [unaffordable(next), ...queue] }) : stay(state);
  }
  const changes = changesFor(state, next);
  if (changes !== undefined && (next.way !== undefined || next.hasContext)) {
    const { hasContext: _, ...message } = next;
    const untaken = { ...state, queue: [message, ...queue] };
    return atRest ? renew(state, { changes, untaken }) : stay(state);
  }
  switch (next.way) {
    case undefined: {
      if (!atRest) return stay(state);
      if (next.settled.kind === "asked") {
        return changes !== undefined && needsNewChild(changes) && !next.settled.clears
          ? renew(state, { changes })
          : askCommand(state, next);
      }
      if (!hasIntroduced(state)) return act(state, [deadline("servers", HOLD_MS)]);
      const ending = { kind: "settled", message: next } as const;
      const { begun, changes: noted } = carriedOutBy(next);
      const after = begun === undefined
        ? handToChild(
          noted === undefined ? { ...state, queue } : changed({ ...state, queue }, noted),
        )
        : end({ ...state, queue }, { kind: "renewed", changes: { ...changes, begun } });
      const tickets = ticketsOf([next]);
      return act(after.state, [
        { type: "turn", ending, recorded: true, tickets },
        ...after.effects,
      ]);
    }
    case "stdin": {
      const further = handToChild({ ...state, queue, sent: [...state.sent, next] });
      return act(further.state, [...turnLimit(state), ...further.effects]);
    }
    case "paste":
      return atRest ? paste({ ...state, queue }, next) : stay(state);
    case "rendezvous": {
      if (atRest) return send(state);
      const joins = state.phase === "working" && !state.waits && next.command === undefined &&
        next.priority !== "later" && state.stopsAfter === undefined;
      if (!joins) return stay(state);
      // What has come before the turn began is the child's together, as `claude -p` has it in one turn.
      const further = handToChild({ ...state, queue, sent: [...state.sent, next] });
      return act(further.state, [deliver(next), ...further.effects]);
    }
  }
}

/**
 * Replaces a child that rests, unless it is about to go on with what is in its queue: the turn of that comes first.
 *
 * @param options.untaken the state that the next child goes on with
 */
function renew(
  state: SessionState,
  { changes, untaken = state }: {
    readonly changes: ChildChanges;
    readonly untaken?: SessionState;
  },
): Step {
  if (state.sent.length > 0) return stay(state);
  return isFollowed(state)
    ? act(state, [overWhenFollowed(state)])
    : end(untaken, { kind: "renewed", changes });
}

/**
 * Whether the child is replaced before the first message, which then need not wait for the start of another one. Later the
 * child may have more to do, and changes wait for the message.
 */
function isRenewedEarly(state: SessionState): boolean {
  const { phase, open, changes, queue, consulted } = state;
  return phase === "resting" && open && !hasBegun(state) && changes !== undefined &&
    queue.length + consulted.size === 0;
}

/** Replaces a child that has waited for further changes. */
export function renewEarly(state: SessionState): Step {
  return isRenewedEarly(state)
    ? end(state, { kind: "renewed", changes: state.changes ?? {} })
    : stay(state);
}

/**
 * Hands over what shall come after everything else, once nothing else is left of a turn than the answer to its Stop
 * hook: as with `claude -p`, several such messages make one turn, and the child takes together what is in its queue.
 * One alone goes to a child that rests.
 */
export function handTogether(state: SessionState): Step {
  if (
    state.phase !== "settling" || state.ending !== undefined || state.sent.length > 0 ||
    isFollowed(state) || isPreparing(state) || state.changes !== undefined ||
    state.options.maxBudgetUsd !== undefined
  ) return stay(state);
  const together = state.queue.filter(mayWait).filter((message) => !isReadBy(state, message));
  return together.length < Math.max(2, state.queue.length)
    ? stay(state)
    : act({ ...state, queue: [], sent: together }, together.map(deliver));
}

/** What another child has to be started with for a message, if the one of now cannot have it. */
function changesFor(state: SessionState, message: Message): ChildChanges | undefined {
  const { changes } = isReadBy(state, message) ? changed(state, { readsNoMentions: true }) : state;
  const { options: { conversation, hasOnStdin }, turns, sent, taken } = state;
  const isThere = !conversation || (hasOnStdin && turns + sent.length + taken.length === 0);
  if (message.hasContext) return { ...changes, context: contextIn(message.content) };
  return message.way === "stdin" && !isThere ? { ...changes, onStdin: message.text } : changes;
}

/** Whether the child of now would read files that a message mentions, and is not to. */
function isReadBy({ options }: SessionState, message: Message): boolean {
  return message.unread === true && message.way !== undefined && !options.readsNoMentions;
}

function mayWait(message: Message): message is Prompt {
  return message.way === "rendezvous" && message.command === undefined &&
    message.priority === "later";
}

/**
 * Whether what the caller has asked for comes before any further turn: it is told of the Claude Code that it has
 * initialized, files that it wants back are back, model and MCP servers are those that it wants, and tasks that it wants stopped
 * have been.
 */
function isPreparing({ consulted, stops }: SessionState): boolean {
  return stops.length > 0 ||
    [...consulted.values()].some((request) =>
      PREPARING.includes(request.subtype) || changesServers(request)
    );
}

const PREPARING = ["initialize", "rewind_files", CHOOSING, COMMAND];

/**
 * Whether the child has told what is printed of it at the beginning of a turn that it knows nothing of. Its SessionStart
 * hook does so, which may be heard after it is idle.
 */
function hasIntroduced({ introduced, turns, options }: SessionState): boolean {
  return introduced || turns > 0 || options.hookless === true;
}

/** What a headless Claude Code has made of a message, if it has carried that out. */
function carriedOutBy({ settled }: SettledMessage): CarriedOut {
  return settled.kind === "local" ? settled.carried ?? {} : {};
}

/** A message for which no request is made any more. */
function unaffordable(prompt: Prompt): Message {
  const { way: _, command: __, altered: ___, hasContext: ____, ...message } = prompt;
  return { ...message, settled: { kind: "unaffordable" } };
}

/** Whether the child waits for a message: nothing is under way but what runs in the background. */
export function isAtRest({ phase, waits, status }: SessionState): boolean {
  return phase === "resting" || (phase === "working" && waits && status?.status !== "waiting");
}

/**
 * Lets a child whose turn is over, and which has tasks in the background, take the next message; without one, bounds
 * the wait for them.
 */
export function restWithTasks(state: SessionState): Step {
  const waiting = andThen(
    cancelStop(state),
    (state) => awaitBackground({ ...state, waits: true }),
  );
  return andThen(waiting, handToChild);
}

/** Pastes a prompt into the input box. */
function paste(state: OpenSession, prompt: Prompt): Step {
  const { sent } = state;
  const parts = promptParts(prompt);
  const begun = pastePart({ ...state, sent: [...sent, prompt], waits: false }, parts);
  return act(begun.state, [...begun.effects, ...limits(state)]);
}

/** Pastes the first of the parts that are left; an image as the path of a file, which Claude Code reads. */
function pastePart(state: OpenSession, parts: readonly PromptPart[]): Step {
  const [part] = parts;
  const pasted: PastedSession = { ...state, phase: "pasted", pasting: parts, echo: ECHO_START };
  if (part === undefined) return enter(pasted);
  const rest = [
    deadline("look"),
    ...awaitEcho(pasted).effects,
    { type: "trace", text: `${part.kind === "text" ? "prompt" : "image"} pasted` } as const,
  ];
  if (part.kind === "text") {
    return act(pasted, [{ type: "write", bytes: encodePaste(part.text) }, ...rest]);
  }
  const placed = state.images.placed + 1;
  const path = `${state.options.imagesDir}/${placed}${imageSuffix(part.data)}`;
  return act({ ...pasted, images: { ...state.images, placed } }, [
    { type: "place-image", path, data: part.data },
    { type: "write", bytes: encodePaste(path) },
    ...rest,
  ]);
}

/**
 * Looks for what was pasted last in what the terminal shows.
 *
 * @returns once it is there, what follows: the next part, or Enter
 */
export function seePasted(
  state: PastedSession,
  { visible, echo }: { readonly visible: Uint8Array; readonly echo: EchoState },
): { readonly echo: EchoState; readonly next?: Step } {
  const [part, ...parts] = state.pasting;
  if (part?.kind === "image") {
    const seen = seeImage(echo, { visible, after: state.images.number });
    if (seen.image === undefined) return { echo: seen.state };
    const images = { ...state.images, number: seen.image };
    return { echo: seen.state, next: pastePart({ ...state, images }, parts) };
  }
  const { state: seen, echoed } = seeEcho(echo, { visible, prompt: part?.text ?? "" });
  return echoed ? { echo: seen, next: pastePart(state, parts) } : { echo: seen };
}

/** Sends the next message to the rendezvous socket of a child that rests, once it has one. */
function send(state: OpenSession): Step {
  const [next, ...queue] = state.queue;
  if (next?.way === undefined) return stay(state);
  if (!state.reachable) return act(state, [deadline("rendezvous", RENDEZVOUS_MS)]);
  // The socket takes it at once, whatever a hook waits for.
  if (state.held !== undefined) return stay(state);
  if (state.options.mcpServers !== undefined && !state.introduced) {
    return act(state, [deadline("servers", HOLD_MS)]);
  }
  const entered: OpenSession = {
    ...state,
    queue,
    sent: [...state.sent, next],
    phase: "entered",
    entersAgain: false,
    waits: false,
  };
  const begun = act(entered, [
    deliver(next),
    deadline("rendezvous"),
    ...limits(state),
    { type: "trace", text: "prompt sent to the rendezvous socket" },
  ]);
  return andThen(begun, abortIfStopped);
}

function deliver({ text }: Prompt) {
  return { type: "deliver", prompt: text } as const;
}

/** The limits that begin with a message. */
function limits(state: SessionState): readonly Effect[] {
  return [deadline("delivery", state.options.deliveryTimeoutMs), ...turnLimit(state)];
}

/** The wall clock of a turn, where it has one of its own. */
function turnLimit({ options, isBounded }: SessionState): readonly Effect[] {
  return options.conversation && isBounded !== true ? [deadline("timeout", options.timeoutMs)] : [];
}
