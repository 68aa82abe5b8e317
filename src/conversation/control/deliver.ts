import { abortIfStopped, cancelAbort } from "./stop_turn.ts";
import { awaitBackground } from "./background_wait.ts";
import { awaitEcho, pressEnter } from "./begin_turn.ts";
import { changePhase, type ControlStep } from "./control_step.ts";
import { isFollowed } from "./follow_ups.ts";
import {
  changeNextChild,
  hasBegun,
  mergeChanges,
  SET_MODEL,
} from "../protocol/requests/child_changes.ts";
import { changesServers } from "../protocol/requests/mcp_requests.ts";
import { askCommand, needsNewChild, SLASH_COMMAND } from "../protocol/requests/slash_commands.ts";
import { endSession } from "./end_session.ts";
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
import { type ChildChanges, deadline, type Effect } from "./effect.ts";
import { imageSuffix } from "../../claude/wire/caller_line.ts";
import { isLast, isOverspent, type SessionState } from "./session_state.ts";
import { followUpDeadline } from "./wait_times.ts";

/**
 * How long a child with an input box may take to open its rendezvous socket, in milliseconds. 2.1.330 opens the socket
 * first.
 */
const RENDEZVOUS_MS = 10_000;

/**
 * How long a change that needs another child waits for further changes, in milliseconds. Callers choose mode and model
 * in quick succession.
 */
const RENEWAL_MS = 200;

/** How long the SessionStart hook may take to run in a child that can take a message, in milliseconds. */
const HOLD_MS = 5000;

/**
 * Delivers the next message to the child if it is due, and ends a conversation that has nothing left to do.
 *
 * During a turn the child keeps a queue of its own, as `claude -p` does. A message that comes in time becomes a part of
 * the turn; all other messages together become the next turn. A message that does not go to the socket waits until the
 * child rests. So does a message with the priority `later`.
 */
export function deliverNext(step: ControlStep): void {
  if (step.state.ending !== undefined || isPreparing(step.state)) return;
  const [next, ...queue] = step.state.queue;
  if (next === undefined) {
    closeAtRest(step);
    return;
  }
  const atRest = isAtRest(step.state);
  if (isOverspent(step.state) && next.way !== undefined) {
    if (!atRest) return;
    step.update({ queue: [unaffordable(next), ...queue] });
    deliverNext(step);
    return;
  }
  const changes = changesFor(step.state, next);
  if (changes !== undefined && (next.way !== undefined || next.hasContext)) {
    const { hasContext: _, ...message } = next;
    if (atRest) renew(step, { changes, queue: [message, ...queue] });
    return;
  }
  switch (next.way) {
    case undefined:
      if (atRest) settleNext(step, { message: next, changes });
      return;
    case "stdin":
      step.update({ queue, sent: [...step.state.sent, next] });
      boundTurn(step);
      deliverNext(step);
      return;
    case "paste":
      if (atRest) pasteNext(step, next);
      return;
    case "rendezvous":
      if (atRest) sendNext(step, next);
      else joinTurn(step, next);
      return;
  }
}

/** Ends a conversation whose child rests and that has nothing left to do, or replaces a child that has to change. */
function closeAtRest(step: ControlStep): void {
  const { phase, wakeup } = step.state;
  if (isRenewedEarly(step.state)) {
    step.emit(deadline("renewal", RENEWAL_MS));
  } else if (phase === "resting" && isLast(step.state) && !wakeup?.awaited) {
    if (isFollowed(step.state)) step.emit(followUpDeadline(step.state));
    else endSession(step, { kind: "closed" });
  }
}

/** Answers a message that needs no child, or has a headless Claude Code carry it out. */
function settleNext(
  step: ControlStep,
  { message, changes }: {
    readonly message: SettledMessage;
    readonly changes: ChildChanges | undefined;
  },
): void {
  if (message.settled.kind === "asked") {
    if (changes !== undefined && needsNewChild(changes) && !message.settled.clears) {
      renew(step, { changes });
    } else {
      askCommand(step, message);
    }
    return;
  }
  if (!hasIntroduced(step.state)) {
    step.emit(deadline("servers", HOLD_MS));
    return;
  }
  step.emit({
    type: "turn",
    ending: { kind: "settled", message },
    recorded: true,
    tickets: ticketsOf([message]),
  });
  step.update({ queue: step.state.queue.slice(1) });
  const { begun, changes: noted } = carriedOutBy(message);
  if (begun !== undefined) {
    endSession(step, { kind: "renewed", changes: { ...changes, begun } });
    return;
  }
  if (noted !== undefined) changeNextChild(step, noted);
  deliverNext(step);
}

/**
 * Replaces a child that rests, unless it is about to continue with a prompt in its queue. That turn comes first.
 *
 * @param options.queue the messages for the next child, if they differ from the waiting messages
 */
function renew(
  step: ControlStep,
  { changes, queue }: {
    readonly changes: ChildChanges;
    readonly queue?: SessionState["queue"];
  },
): void {
  if (step.state.sent.length > 0) return;
  if (isFollowed(step.state)) {
    step.emit(followUpDeadline(step.state));
    return;
  }
  if (queue !== undefined) step.update({ queue });
  endSession(step, { kind: "renewed", changes });
}

/**
 * Whether the child is replaced before the first message, so that this message need not wait for the start of another
 * child. Later the child may have more to do, and changes wait for the next message.
 */
function isRenewedEarly(state: SessionState): boolean {
  const { phase, isOpen, changes, queue, consultedRequests } = state;
  return phase === "resting" && isOpen && !hasBegun(state) && changes !== undefined &&
    queue.length + consultedRequests.size === 0;
}

/** Replaces a child that has waited for further changes. */
export function renewEarly(step: ControlStep): void {
  if (!isRenewedEarly(step.state)) return;
  endSession(step, { kind: "renewed", changes: step.state.changes ?? {} });
}

/**
 * Delivers all messages with the priority `later`, once only the answer to the Stop hook is missing from a turn. As
 * with `claude -p`, several such messages make one turn, because the child takes all messages in its queue together. A
 * single message goes to a child that rests.
 */
export function deliverTogether(step: ControlStep): void {
  const { phase, ending, sent, changes, options, queue } = step.state;
  if (
    phase !== "settling" || ending !== undefined || sent.length > 0 || isFollowed(step.state) ||
    isPreparing(step.state) || changes !== undefined || options.maxBudgetUsd !== undefined
  ) return;
  const together = queue.filter(mayWait).filter((message) => !isReadBy(step.state, message));
  if (together.length < Math.max(2, queue.length)) return;
  step.update({ queue: [], sent: together });
  step.emit(...together.map(delivery));
}

/** The changes with which another child has to start for a message, if the present child cannot take the message. */
function changesFor(state: SessionState, message: Message): ChildChanges | undefined {
  const changes = isReadBy(state, message)
    ? mergeChanges(state.changes, { readsNoMentions: true })
    : state.changes;
  const { options: { conversation, hasOnStdin }, turns, sent, taken } = state;
  const isThere = !conversation || (hasOnStdin && turns + sent.length + taken.length === 0);
  if (message.hasContext) return { ...changes, context: contextIn(message.content) };
  return message.way === "stdin" && !isThere ? { ...changes, onStdin: message.text } : changes;
}

/** Whether the present child would read files that a message mentions, although it must not. */
function isReadBy({ options }: SessionState, message: Message): boolean {
  return message.unread === true && message.way !== undefined && !options.readsNoMentions;
}

function mayWait(message: Message): message is Prompt {
  return message.way === "rendezvous" && message.command === undefined &&
    message.priority === "later";
}

/**
 * Whether a request of the caller has to be carried out before the next turn: its initialization, a rewind of files, a
 * choice of the model or of MCP servers, or the stop of a task.
 */
function isPreparing({ consultedRequests, taskStops }: SessionState): boolean {
  return taskStops.length > 0 ||
    [...consultedRequests.values()].some((request) =>
      PREPARING.includes(request.subtype) || changesServers(request)
    );
}

const PREPARING = ["initialize", "rewind_files", SET_MODEL, SLASH_COMMAND];

/**
 * Whether the SessionStart hook has run. The frames at the beginning of a turn without the child depend on it. The hook
 * may come after the child's idle status.
 */
function hasIntroduced({ hasSessionStarted, turns, options }: SessionState): boolean {
  return hasSessionStarted || turns > 0 || options.hookless === true;
}

/** The answer of the headless Claude Code that has carried out a message, if any. */
function carriedOutBy({ settled }: SettledMessage): CarriedOut {
  return settled.kind === "local" ? settled.carried ?? {} : {};
}

/** A message that is refused because the budget is used up. */
function unaffordable(prompt: Prompt): Message {
  const { way: _, command: __, altered: ___, hasContext: ____, ...message } = prompt;
  return { ...message, settled: { kind: "unaffordable" } };
}

/** Whether the child waits for a message: nothing is running except background tasks. */
export function isAtRest({ phase, isOnlyBackground, status }: SessionState): boolean {
  return phase === "resting" ||
    (phase === "working" && isOnlyBackground && status?.status !== "waiting");
}

/**
 * If a child's turn has ended and background tasks remain, lets the child take the next message. Without a message,
 * limits the wait for the tasks.
 */
export function restWithTasks(step: ControlStep): void {
  cancelAbort(step);
  step.update({ isOnlyBackground: true });
  awaitBackground(step);
  deliverNext(step);
}

/** Pastes the next prompt into the input box. */
function pasteNext(step: ControlStep, prompt: Prompt): void {
  const { sent, queue } = step.state;
  step.update({ queue: queue.slice(1), sent: [...sent, prompt], isOnlyBackground: false });
  pasteFirst(step, promptParts(prompt));
  boundDelivery(step);
}

/**
 * Pastes the first of the remaining parts. An image is pasted as the path of a file, which Claude Code reads. Presses
 * Enter if no part remains.
 */
function pasteFirst(step: ControlStep, parts: readonly PromptPart[]): void {
  const [part] = parts;
  changePhase(step, { phase: "pasted", pasting: parts, echo: ECHO_START });
  if (part === undefined) {
    pressEnter(step);
    return;
  }
  let text: string;
  if (part.kind === "text") {
    text = part.text;
  } else {
    const { images, options: { imagesDir } } = step.state;
    const placed = images.placed + 1;
    text = `${imagesDir}/${placed}${imageSuffix(part.data)}`;
    step.update({ images: { ...images, placed } });
    step.emit({ type: "place-image", path: text, data: part.data });
  }
  step.emit({ type: "write", bytes: encodePaste(text) }, deadline("look"));
  awaitEcho(step);
  step.emit({ type: "trace", text: `${part.kind === "text" ? "prompt" : "image"} pasted` });
}

/**
 * Looks for the pasted part in visible text. Once the text shows it, pastes the next part or presses Enter.
 *
 * @returns the state of the search; undefined once the whole part has been seen
 */
export function seePasted(
  step: ControlStep,
  { visible, pasting, echo }: {
    readonly visible: Uint8Array;
    readonly pasting: readonly PromptPart[];
    readonly echo: EchoState;
  },
): EchoState | undefined {
  const [part, ...parts] = pasting;
  if (part?.kind === "image") {
    const { images } = step.state;
    const seen = seeImage(echo, { visible, after: images.number });
    if (seen.image === undefined) return seen.state;
    step.update({ images: { ...images, number: seen.image } });
  } else {
    const { state: seen, echoed } = seeEcho(echo, { visible, prompt: part?.text ?? "" });
    if (!echoed) return seen;
  }
  pasteFirst(step, parts);
  return undefined;
}

/** Sends the next message to the rendezvous socket of a child that rests, once the child has a socket. */
function sendNext(step: ControlStep, next: Prompt): void {
  const { queue, sent, isReachable, waitingStartHook, options, hasSessionStarted } = step.state;
  if (!isReachable) {
    step.emit(deadline("rendezvous", RENDEZVOUS_MS));
    return;
  }
  // The child would take the prompt immediately, although a hook delays its first request.
  if (waitingStartHook !== undefined) return;
  if (options.mcpServers !== undefined && !hasSessionStarted) {
    step.emit(deadline("servers", HOLD_MS));
    return;
  }
  changePhase(step, { phase: "entered", entersAgain: false });
  step.update({ queue: queue.slice(1), sent: [...sent, next], isOnlyBackground: false });
  step.emit(delivery(next), deadline("rendezvous"));
  boundDelivery(step);
  step.emit({ type: "trace", text: "prompt sent to the rendezvous socket" });
  abortIfStopped(step);
}

/** Sends the next message to a child during a turn, if the message may join that turn. */
function joinTurn(step: ControlStep, next: Prompt): void {
  const { phase, isOnlyBackground, stopsAfter, queue, sent } = step.state;
  const joins = phase === "working" && !isOnlyBackground && next.command === undefined &&
    next.priority !== "later" && stopsAfter === undefined;
  if (!joins) return;
  step.update({ queue: queue.slice(1), sent: [...sent, next] });
  step.emit(delivery(next));
  // Messages that came before the turn began go to the child together, as `claude -p` has them in one turn.
  deliverNext(step);
}

function delivery({ text }: Prompt): Effect {
  return { type: "deliver", prompt: text };
}

/** Limits the time until the child takes a prompt, and the time of the turn that begins with it. */
function boundDelivery(step: ControlStep): void {
  step.emit(deadline("delivery", step.state.options.deliveryTimeoutMs));
  boundTurn(step);
}

/** Starts the time limit of a turn, if each turn has its own limit. */
function boundTurn(step: ControlStep): void {
  const { options, isBounded } = step.state;
  if (options.conversation && isBounded !== true) {
    step.emit(deadline("timeout", options.timeoutMs));
  }
}
