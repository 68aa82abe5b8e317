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

/** How long a child with an input box may take to open its rendezvous socket: 2.1.330 opens the socket first. */
const RENDEZVOUS_MS = 10_000;

/** How long a change that takes another child waits for further changes: callers choose mode and model in a row. */
const RENEWAL_MS = 200;

/** How long the SessionStart hook may take to run in a child that can take a message. */
const HOLD_MS = 5000;

/**
 * Hands the next message to the child, if it is its time, and ends a conversation in which there is nothing left to do.
 *
 * While a turn is under way the child keeps a queue of its own, as `claude -p` does: a message that comes in time becomes a
 * part of the turn, the others are the next turn, all together. A message that does not go to the socket waits until the
 * child rests, and so does one that shall come after everything else.
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

/** Ends a conversation whose child rests and in which nothing is left to do, or replaces a child that has to change. */
function closeAtRest(step: ControlStep): void {
  const { phase, wakeup } = step.state;
  if (isRenewedEarly(step.state)) {
    step.emit(deadline("renewal", RENEWAL_MS));
  } else if (phase === "resting" && isLast(step.state) && !wakeup?.awaited) {
    if (isFollowed(step.state)) step.emit(followUpDeadline(step.state));
    else endSession(step, { kind: "closed" });
  }
}

/** Answers a message that takes no child, or has a headless Claude Code carry it out. */
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
 * Replaces a child that rests, unless it is about to go on with a prompt in its queue: that turn comes first.
 *
 * @param options.queue the messages for the next child, where these are not the ones that wait
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
 * Whether the child is replaced before the first message, which then need not wait for the start of another one. Later the
 * child may have more to do, and changes wait for the message.
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
 * Delivers all messages that shall come after everything else, once only the answer to the Stop hook is left of a turn: as
 * with `claude -p`, several such messages make one turn, and the child takes together what is in its queue. A single one
 * goes to a child that rests.
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

/** What another child has to be started with for a message, if the present one cannot take it. */
function changesFor(state: SessionState, message: Message): ChildChanges | undefined {
  const changes = isReadBy(state, message)
    ? mergeChanges(state.changes, { readsNoMentions: true })
    : state.changes;
  const { options: { conversation, hasOnStdin }, turns, sent, taken } = state;
  const isThere = !conversation || (hasOnStdin && turns + sent.length + taken.length === 0);
  if (message.hasContext) return { ...changes, context: contextIn(message.content) };
  return message.way === "stdin" && !isThere ? { ...changes, onStdin: message.text } : changes;
}

/** Whether the present child would read files that a message mentions, and must not. */
function isReadBy({ options }: SessionState, message: Message): boolean {
  return message.unread === true && message.way !== undefined && !options.readsNoMentions;
}

function mayWait(message: Message): message is Prompt {
  return message.way === "rendezvous" && message.command === undefined &&
    message.priority === "later";
}

/**
 * Whether a request of the caller's has to be carried out before any further turn: its initialization, a rewind of files,
 * a choice of the model or of MCP servers, or the stop of a task.
 */
function isPreparing({ consultedRequests, taskStops }: SessionState): boolean {
  return taskStops.length > 0 ||
    [...consultedRequests.values()].some((request) =>
      PREPARING.includes(request.subtype) || changesServers(request)
    );
}

const PREPARING = ["initialize", "rewind_files", SET_MODEL, SLASH_COMMAND];

/**
 * Whether the SessionStart hook has run, which tells what is printed at the beginning of a turn that the child knows nothing
 * of. The hook may come after the child's idle status.
 */
function hasIntroduced({ hasSessionStarted, turns, options }: SessionState): boolean {
  return hasSessionStarted || turns > 0 || options.hookless === true;
}

/** The answer of the headless Claude Code that has carried out a message, if one has. */
function carriedOutBy({ settled }: SettledMessage): CarriedOut {
  return settled.kind === "local" ? settled.carried ?? {} : {};
}

/** A message for which no request is made any more. */
function unaffordable(prompt: Prompt): Message {
  const { way: _, command: __, altered: ___, hasContext: ____, ...message } = prompt;
  return { ...message, settled: { kind: "unaffordable" } };
}

/** Whether the child waits for a message: nothing is under way but tasks in the background. */
export function isAtRest({ phase, isOnlyBackground, status }: SessionState): boolean {
  return phase === "resting" ||
    (phase === "working" && isOnlyBackground && status?.status !== "waiting");
}

/**
 * Lets a child whose turn is over, and which has tasks in the background, take the next message; without one, bounds
 * the wait for the tasks.
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
 * Pastes the first of the parts that are left, an image as the path of a file, which Claude Code reads. Presses Enter if no
 * part is left.
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
 * Looks for the pasted part in visible text. Once it is there, pastes the next part or presses Enter.
 *
 * @returns how much of the part has been seen so far; undefined once all of it has
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

/** Sends the next message to the rendezvous socket of a child that rests, once it has one. */
function sendNext(step: ControlStep, next: Prompt): void {
  const { queue, sent, isReachable, waitingStartHook, options, hasSessionStarted } = step.state;
  if (!isReachable) {
    step.emit(deadline("rendezvous", RENDEZVOUS_MS));
    return;
  }
  // The child would take the prompt at once, though a hook delays its first request.
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

/** Sends the next message to a child with a turn under way, if the message may become a part of that turn. */
function joinTurn(step: ControlStep, next: Prompt): void {
  const { phase, isOnlyBackground, stopsAfter, queue, sent } = step.state;
  const joins = phase === "working" && !isOnlyBackground && next.command === undefined &&
    next.priority !== "later" && stopsAfter === undefined;
  if (!joins) return;
  step.update({ queue: queue.slice(1), sent: [...sent, next] });
  step.emit(delivery(next));
  // Messages that came before the turn began are the child's together, as `claude -p` has them in one turn.
  deliverNext(step);
}

function delivery({ text }: Prompt): Effect {
  return { type: "deliver", prompt: text };
}

/** Bounds the time until the child takes a prompt, and the turn that begins with it. */
function boundDelivery(step: ControlStep): void {
  step.emit(deadline("delivery", step.state.options.deliveryTimeoutMs));
  boundTurn(step);
}

/** Sets the wall clock of a turn, where it has one of its own. */
function boundTurn(step: ControlStep): void {
  const { options, isBounded } = step.state;
  if (options.conversation && isBounded !== true) {
    step.emit(deadline("timeout", options.timeoutMs));
  }
}
