import { replayCast } from "../../src/recording/cassette/replay_cast.ts";
import { advance, startConversation } from "../../src/conversation/output/advance.ts";
import { recordHistory } from "./record_history.ts";
import { isJsonObject, type JsonObject } from "../../src/json_object.ts";
import { ticketsOf } from "../../src/conversation/control/message.ts";
import { untakenMessages } from "../../src/conversation/control/taken_prompts.ts";
import type { Frame } from "../../src/claude/wire/frame.ts";
import type { TurnRecord } from "./child.ts";
import type { History } from "./simulate.ts";

/** What must hold of every history; says what does not, where that is so. */
export type Invariant = (history: History) => string | undefined;

/** Endings to which a child and a caller come that do nothing wrong. */
const SOUND_ENDINGS = ["answered", "closed", "failed", "max-turns", "budget", "renewed", "aborted"];

/** A conversation comes to its end, and takes no longer than its limits allow. */
function endsWithinLimits({ givenUp, duration, caller, options }: History): string | undefined {
  if (givenUp !== undefined) return givenUp;
  const { timeoutMs, startTimeoutMs, deliveryTimeoutMs, exitTimeoutMs } = options.session;
  const turns = caller.sent.length + 1;
  const longest = startTimeoutMs + turns * (timeoutMs + deliveryTimeoutMs) + 10 * exitTimeoutMs;
  return duration > longest
    ? `it took ${duration} ms, and at most ${longest} are allowed`
    : undefined;
}

/** Where the child and the caller do nothing wrong, nothing is given up. */
function givesNothingUp({ end, child, caller }: History): string | undefined {
  const kind = end?.ending.kind;
  if (kind === undefined || child.isFaulty || caller.hasStopped) return undefined;
  return SOUND_ENDINGS.includes(kind) ? undefined : `it ended as "${kind}" without a reason`;
}

/** Every message is answered by one turn, or left for another child. */
function answersEachMessageOnce(
  { reports, state, caller, end, steps }: History,
): string | undefined {
  // Of a caller that cannot be understood nothing more is done, whatever ends the child: so no other one follows it.
  const isUnreadable = steps.some(({ input }) => input.type === "unreadable");
  if (end === undefined || (isUnreadable && end.ending.kind !== "renewed")) return undefined;
  const answered = reports.flatMap(({ tickets = [] }) => tickets);
  const left = ticketsOf(untakenMessages(state.session));
  const wanted = caller.sent.filter(({ uuid }) =>
    uuid === undefined || !caller.cancelled.has(uuid)
  );
  for (const ticket of ticketsOf(wanted)) {
    const times = answered.filter((each) => each === ticket).length;
    if (times > 1) return `${ticket} was answered ${times} times`;
    if (times === 0 && !left.includes(ticket)) return `${ticket} was not answered`;
    if (times === 1 && left.includes(ticket)) return `${ticket} was answered, and left`;
  }
  return undefined;
}

/**
 * Where nothing is stopped or given up, and the child does not crash amid a turn, every turn that it begins before it is told
 * to go has one result, but for one that the child has begun by itself when a signal comes after the answer.
 */
function hasOneResultPerTurn(history: History): string | undefined {
  const { frames, state, steps, child, caller, end, options } = history;
  const isSound = end?.ending.kind === "answered" || end?.ending.kind === "closed";
  // What would cost more than the budget has a result, and no turn.
  const isBounded = options.session.maxBudgetUsd !== undefined;
  if (!isSound || isBounded || child.isFaulty || caller.interrupts > 0) return undefined;
  const results = frames.filter(({ type }) => type === "result").length;
  // A signal after the answer leaves what waits.
  const left = ticketsOf(untakenMessages(state.session));
  const commands =
    caller.sent.filter(({ way, uuid, ticket = "" }) =>
      way === undefined && !left.includes(ticket) && !caller.cancelled.has(uuid)
    ).length;
  const own = ownTurns(history);
  const turns = own.length + commands;
  const isCutOff = own.at(-1)?.end === undefined &&
    steps.some(({ input }) => input.type === "signal");
  return results === turns || (isCutOff && results === turns - 1)
    ? undefined
    : `there are ${results} results of ${turns} turns`;
}

/** The turns that the child begins before it is told to go. It may not heed that at once, and begin another one by itself. */
function ownTurns({ child }: History): readonly TurnRecord[] {
  return child.turns.filter(({ isLate }) => isLate === undefined);
}

/** Where the caller stops nothing, the child is told to go once the model knows of the tasks that have ended. */
function awaitsTaskEnds({ child, caller, end }: History): string | undefined {
  const isSound = end?.ending.kind === "answered" || end?.ending.kind === "closed";
  if (!isSound || child.isFaulty || caller.hasStopped || caller.interrupts > 0) return undefined;
  const [first] = child.pendingTaskEnds;
  return first === undefined ? undefined : `the child was told to go before its turn of ${first}`;
}

/** A session is introduced before anything is said of it. */
function introducesFirst({ frames }: History): string | undefined {
  const init = frames.findIndex(({ type, subtype }) => type === "system" && subtype === "init");
  const first = frames.findIndex(({ type }) => type === "assistant");
  return first >= 0 && (init < 0 || init > first)
    ? "something is said before system/init"
    : undefined;
}

/** No frame has the id of another one. */
function givesOwnIds({ frames }: History): string | undefined {
  const ids = new Set<unknown>();
  for (const { type, uuid, ...frame } of frames) {
    // A message that is printed again has the id that its sender gave it.
    if (uuid === undefined || (type === "user" && "isReplay" in frame)) continue;
    if (ids.has(uuid)) return `two frames have the id ${uuid}`;
    ids.add(uuid);
  }
  return undefined;
}

/** Every call that is printed has its result before the turn's, if that is an answer, and none without a call. */
function answersEachCall({ frames }: History): string | undefined {
  /** Calls without a result, by the number of the turn that is under way when they are printed. */
  const open = new Map<unknown, number>();
  const known = new Set<unknown>();
  const turns = { begun: 0, ended: 0 };
  for (const frame of frames) {
    if (frame.subtype === "init") turns.begun++;
    for (const { type, id, tool_use_id: call } of blocksOf(frame)) {
      if (type === "tool_use") {
        if (known.has(id)) return `the call ${id} is printed twice`;
        open.set(id, turns.begun);
        known.add(id);
      } else if (type === "tool_result") {
        if (!known.has(call)) return `there is a result of ${call}, which was not called`;
        if (!open.delete(call)) return `there are two results of ${call}`;
      }
    }
    if (frame.type === "result") {
      turns.ended++;
      // A result may come late, when the next turn is under way.
      const own = [...open].filter(([, turn]) => turn <= turns.ended).map(([id]) => id);
      if (frame.subtype === "success" && !frame.is_error && own.length > 0) {
        return `the turn is answered, and ${own.join(", ")} has no result`;
      }
      for (const id of own) open.delete(id);
    }
  }
  return undefined;
}

/** No call is carried out that was refused, or about which nobody has decided. */
function runsNothingForbidden({ child, caller }: History): string | undefined {
  for (const { id, input, needsPermission } of child.carriedOut) {
    const decision = caller.decisions.get(JSON.stringify(input));
    if (needsPermission && decision !== "allow") {
      return `${id} was carried out, and the decision is: ${decision ?? "none"}`;
    }
  }
  return undefined;
}

/** No hook is answered twice. */
function answersHooksOnce({ child }: History): string | undefined {
  for (const [id, times] of child.answered) {
    if (times > 1) return `the hook ${id} was answered ${times} times`;
  }
  return undefined;
}

/** What a conversation has cost never gets less. */
function costOnlyGrows({ frames }: History): string | undefined {
  let before = 0;
  for (const { type, total_cost_usd: cost } of frames as readonly JsonObject[]) {
    if (type !== "result" || typeof cost !== "number") continue;
    if (cost < before) return `it cost ${before}, and then ${cost}`;
    before = cost;
  }
  return undefined;
}

/** The child is told to go before it is killed, unless a second signal wants this program to end at once. */
function asksBeforeItKills({ child: { signals }, steps }: History): string | undefined {
  if (steps.filter(({ input }) => input.type === "signal").length > 1) return undefined;
  return signals[0] === "SIGKILL" ? "the child was killed, and not told to go before" : undefined;
}

/** The child does not outlive the conversation. */
function leavesNoChild({ child, end }: History): string | undefined {
  return end !== undefined && !child.isGone ? "the child is still there at the end" : undefined;
}

/** No message is delivered to a child twice. */
function deliversOnce({ child: { delivered } }: History): string | undefined {
  const again = delivered.find((prompt, at) => delivered.indexOf(prompt) < at);
  return again === undefined ? undefined : `"${again}" was delivered twice`;
}

/** What is printed as an answer is what the model has said last in a turn, in the order of the turns. */
function printsLastWords({ frames, child }: History): string | undefined {
  const said = child.turns.map(({ text }) => text);
  let at = 0;
  for (const { type, subtype, is_error: isError, result } of frames as readonly JsonObject[]) {
    if (type !== "result" || subtype !== "success" || isError === true) continue;
    if (String(result).startsWith("did /command")) continue;
    const found = said.indexOf(String(result), at);
    if (found < 0) return `"${result}" is printed, and the model did not say that then`;
    at = found + 1;
  }
  return undefined;
}

/** No turn of the child that has ended is left out, if it began before the child was told to go. */
function printsEachTurn(history: History): string | undefined {
  const { frames, end } = history;
  if (end === undefined || !["answered", "closed"].includes(end.ending.kind)) return undefined;
  const answered = ownTurns(history).filter((turn) => turn.end === "answered")
    .map(({ text }) => text);
  const printed = frames.filter(({ type }) => type === "result").map(({ result }) => result);
  // A turn after which the budget is used up is told to be over it.
  const overspent = frames.filter(({ subtype }) => subtype === "error_max_budget_usd").length;
  const missing = answered.filter((text) => !printed.includes(text))[overspent];
  return missing === undefined ? undefined : `"${missing}" was answered, and is not printed`;
}

/** Every compaction is printed, unless the child is ended first. */
function printsEachCompaction({ frames, child, end }: History): string | undefined {
  const isSound = end?.ending.kind === "answered" || end?.ending.kind === "closed";
  const printed = frames.filter(({ subtype }) => subtype === "compact_boundary").length;
  const { compactions } = child;
  return printed > compactions || (isSound && !child.isFaulty && printed < compactions)
    ? `${printed} of ${compactions} compactions are printed`
    : undefined;
}

/** Every request is answered once. */
function answersRequestsOnce({ caller, end }: History): string | undefined {
  for (const id of caller.requests) {
    const times = caller.responses.filter((each) => each === id).length;
    if (times > 1) return `${id} was answered ${times} times`;
    const isOver = end?.ending.kind === "closed" || end?.ending.kind === "answered";
    if (times === 0 && isOver) return `${id} was not answered`;
  }
  return undefined;
}

/** A message waits, is begun and is over, each once and in this order. */
function tellsLivesOfMessages({ frames }: History): string | undefined {
  const order = ["queued", "started", "completed", "cancelled", "discarded"];
  const last = new Map<unknown, number>();
  for (const { type, command_uuid: id, state } of frames as readonly JsonObject[]) {
    if (type !== "command_lifecycle") continue;
    const at = order.indexOf(String(state));
    const before = last.get(id) ?? -1;
    if (at <= before) return `the message ${id} is "${state}" after "${order[before]}"`;
    last.set(id, at);
  }
  return undefined;
}

/** The same inputs have the same effects. */
function isRepeatable({ options, steps }: History): string | undefined {
  let state = startConversation(options);
  for (const [at, { input, effects }] of steps.entries()) {
    const next = advance(state, input);
    state = next.state;
    if (isOther(next.effects, effects)) return `input ${at + 1} has other effects the second time`;
  }
  return undefined;
}

/** A recording of the run replays to the same frames. */
function replaysAsRecorded(history: History): string | undefined {
  const { cast } = recordHistory(history);
  const replayed = replayCast(cast);
  if (isOther(replayed.frames, history.frames)) return "the recording prints other frames";
  return replayed.differences[0];
}

/** Whether two values differ as JSON: states that effects hold are left out, as they are large. */
function isOther(one: unknown, other: unknown): boolean {
  const text = (value: unknown) =>
    JSON.stringify(value, (key, value) => key === "state" ? undefined : value);
  return text(one) !== text(other);
}

function blocksOf(frame: Frame): readonly JsonObject[] {
  const { type, message, parent_tool_use_id: parent } = frame as JsonObject;
  if ((type !== "assistant" && type !== "user") || typeof parent === "string") return [];
  const content = isJsonObject(message) ? message["content"] : undefined;
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

/** Those that take as long as the conversation itself, by their names. */
const SLOW: Readonly<Record<string, Invariant>> = { isRepeatable, replaysAsRecorded };

/** Those that take no time, by their names. */
const QUICK: Readonly<Record<string, Invariant>> = {
  endsWithinLimits,
  givesNothingUp,
  answersEachMessageOnce,
  hasOneResultPerTurn,
  awaitsTaskEnds,
  introducesFirst,
  givesOwnIds,
  answersEachCall,
  runsNothingForbidden,
  answersHooksOnce,
  costOnlyGrows,
  asksBeforeItKills,
  leavesNoChild,
  deliversOnce,
  printsLastWords,
  printsEachTurn,
  printsEachCompaction,
  answersRequestsOnce,
  tellsLivesOfMessages,
};

/** An invariant that does not hold. */
export interface Violation {
  readonly invariant: string;
  readonly text: string;
}

/** Returns what does not hold of a history; `isThorough` checks what takes long, too. */
export function violationsOf(
  history: History,
  { isThorough = false }: { readonly isThorough?: boolean } = {},
): readonly Violation[] {
  const invariants = isThorough ? { ...QUICK, ...SLOW } : QUICK;
  return Object.entries(invariants).flatMap(([invariant, check]) => {
    const text = check(history);
    return text === undefined ? [] : [{ invariant, text }];
  });
}
