import { chained } from "../../chain.ts";
import { type ApiFault, type ApiRetry, type Input, isTurnFailure } from "../control/input.ts";
import { type LateTerms, limitsOf } from "../control/session_options.ts";
import type { Entry } from "../../claude/transcript/entry.ts";
import { atHome } from "../../claude/transcript/moved_lines.ts";
import { summedSpent } from "../../claude/transcript/cost.ts";
import {
  type FramesEffect,
  type FramesStep,
  quiet,
  SUBAGENT_DELAY,
  waitingFor,
} from "./frames_step.ts";
import { hearCompaction, isAwaited, tellBegun } from "./lines/compaction.ts";
import { isAheadOfSubagent, tellHeld } from "./lines/held_turns.ts";
import { earlyAnswer } from "./lines/line_order.ts";
import { tellAhead, tellRead } from "./lines/tell_lines.ts";
import { hearRetry, hearStream } from "./live/exact_stream.ts";
import { tellHeard } from "./live/live_answers.ts";
import { tellBeats, tellLongShells, untilBeat, untilLong } from "./live/long_calls.ts";
import { hearBatch, hearText } from "./live/partial_messages.ts";
import { noteShell, noteShellOver, tellShellOutput } from "./live/shell_output.ts";
import { awaitMessage } from "./messages.ts";
import { keepForMirror, tellMirror, withMirror } from "./mirror.ts";
import { tellToCall } from "./subagents/begun_calls.ts";
import { hearTask } from "./subagents/hooked_tasks.ts";
import { begin } from "./telling/beginning.ts";
import { and, type FramesState, type Told, told } from "./telling/frames_state.ts";
import { noLines } from "./telling/kept_lines.ts";
import { isPriced, noteStop, tellEarly } from "./turns/early_results.ts";
import { isJsonObject } from "../../json_object.ts";
import {
  asOutputLine,
  outputCallsIn,
  renamedBlock,
} from "../../claude/transcript/structured_output_tool.ts";
import { tellAgain } from "./live/stream_frames.ts";

/**
 * How long after the prompt's line `system/init` waits for the lines that describe the session. They come in a second; on a
 * machine with 30 busy processes they took more than two, and `system/init` had no tools.
 */
const INIT_DELAY = { type: "deadline", name: "init", afterMs: 10_000 } as const;
/**
 * How long the lines before a compaction may take to be read, unless its outcome comes sooner: they are held back for
 * 0.1 s, and on a busy machine for more than 0.3 s. The model takes many seconds for a summary.
 */
const COMPACTION_DELAY = { type: "deadline", name: "compaction", afterMs: 1000 } as const;
/** How long a result may wait for what its turn has cost: the status line runs 0.3 s after it. */
const PRICE_DELAY = { type: "deadline", name: "priced", afterMs: 1000 } as const;
/** How long until the next look, where it cannot be told yet which shell is whose. */
const LOOK_AGAIN_MS = 500;

/** Takes an input of the session and says what `claude -p` prints when it happens. */
export function tellInput(before: FramesState, given: Input): FramesStep {
  const { state, input } = asOwnTool(before, given);
  const missed = tellMissed(state, input);
  const step = takePriced(missed.state, input);
  const said = and({ ...step, frames: [...missed.frames, ...step.frames] }, tellHeard);
  return waitingFor(said, step.effects);
}

/** Takes an input: what comes after a result that waits for its price is told after it. */
function takePriced(state: FramesState, input: Input): FramesStep {
  const step = takeInput(state, input);
  if (state.unpriced === undefined) {
    const delay = step.state.unpriced === undefined ? [] : [PRICE_DELAY];
    return { ...step, effects: [...step.effects, ...delay] };
  }
  if (step.state.unpriced === undefined || step.frames.length === 0) return step;
  const early = tellEarly(state);
  const next = takeInput(early.state, input);
  return { ...next, frames: [...early.frames, ...next.frames] };
}

/** An input of one type. */
type InputOf<Type extends Input["type"]> = Extract<Input, { readonly type: Type }>;

function takeInput(state: FramesState, input: Input): FramesStep {
  const now = state.options.startedAt + input.at;
  switch (input.type) {
    case "earlier":
      return quiet({ ...state, earlier: input.entries, kept: noLines(input.entries) });
    case "terms":
      return quiet(withTerms(state, input.terms));
    case "message":
      return waitingFor(awaitMessage(state, input.message));
    case "closed":
      return quiet({ ...state, heardOut: true });
    case "cost":
      return takeCost(state, input);
    case "hook":
      return takeHook(state, input);
    case "mcp":
      return quiet(input.settled ? { ...state, connections: input.settled } : state);
    case "consulted": {
      const { said } = input;
      return quiet("response" in said && said.init ? { ...state, described: said.init } : state);
    }
    case "transcript": {
      const entry = fromHome(state, input.entry);
      return quiet(keepForMirror({ ...state, own: chained(state.own, entry) }, { entry }));
    }
    case "subagent": {
      const line = fromHome(state, input.line);
      const { subagent: { agentId }, entry } = line;
      const next = { ...state, subagents: chained(state.subagents, line) };
      return quiet(keepForMirror(next, { agentId, entry }));
    }
    case "subagent-note": {
      const { agentId } = input;
      return quiet(keepForMirror(state, { agentId, note: fromHome(state, input.note) }));
    }
    case "read":
      return takeRead(state, now);
    case "fault":
      return waitingFor(noteFault(state, input.fault));
    case "retry":
      return waitingFor(tellRetry(state, input.retry));
    case "stream":
      return quiet(hearStream(state, input));
    case "shells": {
      const next = tellLongShells(state, {
        running: input.ids,
        startedAt: input.startedAt,
        now,
      });
      const afterMs = untilLong(next.state, now);
      return waitingFor(
        next,
        afterMs === undefined ? [] : [look(Math.max(LOOK_AGAIN_MS, afterMs))],
      );
    }
    case "shell":
      return waitingFor(noteShell(state, input));
    case "shell-output":
      return waitingFor(tellShellOutput(state, input));
    case "shell-over":
      return waitingFor(noteShellOver(state, input));
    case "deadline":
      return takeDeadline(state, input);
    default:
      return quiet(state);
  }
}

/** What has been paid before a child that counts its own costs alone. */
const NOTHING_PAID = { totalUsd: 0, apiDurationMs: 0 };

/** The status line tells what the conversation has cost, which a result may wait for. */
function takeCost(state: FramesState, input: InputOf<"cost">): FramesStep {
  // A child that resumes a session may go on with its costs.
  const { before } = state.options;
  const isOurs = before !== undefined && input.totalUsd < before.totalUsd;
  const { paid = isOurs ? before : NOTHING_PAID } = state;
  const cost = summedSpent(input, paid);
  const { ranAt = state.options.startedAt + input.at } = input;
  const priced: FramesState = {
    ...state,
    paid,
    pricedAt: input.ranAt,
    cost,
    overspentAt: isOverspent(state, cost.totalUsd) ? state.overspentAt ?? ranAt : undefined,
    paidBefore: state.paidBefore ?? cost.totalUsd,
    ...(input.limits === undefined ? {} : { limits: input.limits }),
  };
  const isDue = priced.unpriced !== undefined && isPriced(priced, priced.unpriced.at);
  return isDue ? waitingFor(tellEarly(priced)) : quiet(priced);
}

/** A hook tells what no line does, or before a line does. */
function takeHook(
  before: FramesState,
  { event, payload, ranAt, callback, at: heardAt }: InputOf<"hook">,
): FramesStep {
  const state = event === "PostToolBatch" ? hearBatch(before, payload) : before;
  const model = payload["model"];
  if (event === "SessionStart" && typeof model === "string") return quiet({ ...state, model });
  if (event === "MessageDisplay") return quiet(hearText(state, payload));
  const at = ranAt ?? state.options.startedAt + heardAt;
  // A hook of ours tells of a compaction, and of a typed one nobody has to.
  const heard = callback === undefined ? hearCompaction(state, { event, payload, at }) : state;
  if (heard.compactions.length > state.compactions.length) {
    return waitingFor(told(heard), [COMPACTION_DELAY]);
  }
  if (event === "Stop") return quiet(noteStop(heard, { payload, ranAt }));
  if (callback !== undefined) return waitingFor(hearTask(state, { event, payload, at }));
  const isOutcome = heard !== state && heard.ahead !== undefined && !heard.unsummed &&
    heard.compactions[0]?.error !== undefined;
  return isOutcome ? waitingFor(tellAhead(heard)) : quiet(heard);
}

/** All lines that the child has written by now are there: they are told, unless something has to come before them. */
function takeRead(state: FramesState, now: number): FramesStep {
  const version = earlyAnswer(state);
  if (version !== undefined) {
    // They stay, and are told again.
    const held = { ...state, version };
    return waitingFor(tellMirror(held), [INIT_DELAY]);
  }
  if (isAheadOfSubagent(state)) {
    const held = tellMirror({ ...state, awaitsSubagent: true });
    return waitingFor(held, state.awaitsSubagent ? [] : [SUBAGENT_DELAY]);
  }
  const held = tellToCall(state);
  return held === undefined
    ? waiting(withMirror(tellHeld(state, tellRead)), { before: state, now })
    : withCallDelay(waiting(withMirror(held), { before: state, now }), state);
}

/** Something has been waited for as long as it may take. */
function takeDeadline(
  state: FramesState,
  { name, at }: InputOf<"deadline">,
): FramesStep {
  const now = state.options.startedAt + at;
  switch (name) {
    case "compaction": {
      const begun = isAwaited(state) ? told(state) : tellBegun(state);
      const isOver = begun.state.compactions.every((each) => each.told);
      return waitingFor(begun, isOver ? [] : [COMPACTION_DELAY]);
    }
    case "priced":
      return state.unpriced === undefined ? quiet(state) : waitingFor(tellEarly(state));
    case "beat": {
      const next = tellBeats(state, now);
      return waitingFor(next, [nextBeat(next.state, now)]);
    }
    case "init":
      // What waits for a subagent's lines has a deadline of its own; some of it comes before `system/init`.
      return state.awaitsSubagent ? quiet(state) : withCallDelay(
        waitingFor(and(begin(state), (state) => tellToCall(state) ?? tellHeld(state, tellRead))),
        state,
      );
    case "subagent":
      return state.awaitsSubagent || state.unbegun !== undefined
        ? waiting(withMirror(tellHeld(unheld(state), tellRead)), { before: state, now })
        : quiet(state);
    case "shells":
      return waitingFor(told(state), [{ type: "list-shells" }]);
    default:
      return quiet(state);
  }
}

/** The state where nothing waits for lines of subagents any more. */
function unheld(state: FramesState): FramesState {
  return { ...state, awaitsSubagent: false, unbegun: undefined };
}

/** Waits for the beginning of a subagent, where it is held back what was written behind the call. */
function withCallDelay(step: FramesStep, { unbegun }: FramesState): FramesStep {
  const { id } = step.state.unbegun ?? {};
  return id === undefined || id === unbegun?.id
    ? step
    : { ...step, effects: [...step.effects, SUBAGENT_DELAY] };
}

/** From now on what is told is up to a caller who was not there yet. */
function withTerms(state: FramesState, terms: LateTerms): FramesState {
  const { replayMessages, subagentText, hookEvents } = terms;
  const { replay: _, subagentText: __, hookEvents: ___, ...others } = state.options;
  return {
    ...state,
    options: {
      ...others,
      ...(replayMessages ? { replay: true } : {}),
      ...(subagentText ? { subagentText: true } : {}),
      ...(hookEvents ? { hookEvents: true } : {}),
    },
    reporting: { ...state.reporting, limits: limitsOf(terms) },
  };
}

/** What was read in the run's own folder, as it will stand at the user's home, if it goes there. */
function fromHome<Line>({ options: { homes } }: FramesState, line: Line): Line {
  return homes === undefined ? line : atHome(line, homes);
}

/** Whether the conversation has cost as much as it may. */
function isOverspent({ reporting: { maxBudgetUsd } }: FramesState, totalUsd: number): boolean {
  return maxBudgetUsd !== undefined && totalUsd >= maxBudgetUsd;
}

/** Keeps a line that a forked session has of the one that it comes from: only whoever mirrors the session wants it. */
export function keepCopied(state: FramesState, entry: Entry): FramesState {
  return keepForMirror(state, { entry: fromHome(state, entry) });
}

/** Waits for what follows from new lines: the beginning of a session, and shells that take long. */
function waiting(
  next: Told,
  { before, now }: { readonly before: FramesState; readonly now: number },
): FramesStep {
  const { state } = next;
  const shellsChanged = state.shells !== before.shells;
  const afterMs = shellsChanged ? untilLong(state, now) : undefined;
  return waitingFor(next, [
    ...state.prompt !== undefined && before.prompt === undefined && !state.begun
      ? [INIT_DELAY]
      : [],
    ...shellsChanged
      ? [afterMs === undefined ? { type: "deadline", name: "shells" } as const : look(afterMs)]
      : [],
    ...state.openCalls === before.openCalls ? [] : [nextBeat(state, now)],
  ]);
}

/** Waits for the moment at which a call is to be told that is still at work then. */
export function nextBeat(state: FramesState, now: number): FramesEffect {
  const afterMs = untilBeat(state, now);
  return { type: "deadline", name: "beat", ...(afterMs === undefined ? {} : { afterMs }) };
}

function look(afterMs: number): FramesEffect {
  return { type: "deadline", name: "shells", afterMs };
}

/**
 * An input as it would be if the tool for structured answers were Claude Code's own, as it is in `claude -p`. Here a
 * server of ours has it, which shows in its name and in what it gives back.
 */
function asOwnTool(
  state: FramesState,
  input: Input,
): { readonly state: FramesState; readonly input: Input } {
  const { outputCalls } = state;
  if (outputCalls === undefined) return { state, input };
  switch (input.type) {
    case "transcript": {
      const made = outputCallsIn(input.entry);
      const calls = made.length === 0 ? outputCalls : new Set([...outputCalls, ...made]);
      const entry = asOutputLine(input.entry, calls);
      return {
        state: calls === outputCalls ? state : { ...state, outputCalls: calls },
        input: entry === input.entry ? input : { ...input, entry },
      };
    }
    case "stream": {
      const { part } = input;
      if (part.kind !== "event" || !isJsonObject(part.event["content_block"])) {
        return { state, input };
      }
      const block = renamedBlock(part.event["content_block"]);
      return {
        state,
        input: { ...input, part: { ...part, event: { ...part.event, content_block: block } } },
      };
    }
    default:
      return { state, input };
  }
}

/** How long Claude Code waits before its first retry, and at most, in milliseconds; each time twice as long. */
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 32_000;
const SECOND_MS = 1000;

/** After so many requests in a row for which the API has no room Claude Code asks the fallback model, or gives up. */
const OVERLOADS = 3;

/** Tells that a request is made again, unless that has been told before the screen announced it. */
function tellRetry(before: FramesState, retry: ApiRetry): Told {
  const { fault: _, missed, ...state } = before;
  if (retry.attempt === missed) return told(state);
  if (state.exact !== undefined) return told(hearRetry(state, retry));
  const asked = tellAgain(state, retry);
  if (state.begun) return asked;
  return told({ ...asked.state, early: [...asked.state.early, ...asked.frames] });
}

/** A request has failed that may be made again, or that was; a subagent's is nobody's business. */
function noteFault(state: FramesState, fault: ApiFault): Told {
  if (state.tasks.size > 0) return told(state);
  const isAgain = fault.attempt === (state.fault?.attempt ?? 0) + 1;
  const next = isAgain ? tellFault(state) : told(state);
  return isRetried(fault) ? told({ ...withoutFault(next.state), fault }, next.frames) : next;
}

/**
 * Tells of a retry that the screen has not announced, on a machine too busy to draw it in time, before what shows that
 * it was made: an answer.
 */
function tellMissed(state: FramesState, input: Input): Told {
  if (state.fault === undefined) return told(state);
  switch (input.type) {
    case "hook":
      if (input.event === "MessageDisplay") return tellFault(state);
      return told(isTurnFailure(input.event, input.payload) ? withoutFault(state) : state);
    case "stream":
      return input.part.kind === "event" ? tellFault(state) : told(state);
    case "transcript":
      if (input.entry.type !== "assistant") return told(state);
      return input.entry.isApiErrorMessage ? told(withoutFault(state)) : tellFault(state);
    default:
      return told(state);
  }
}

function tellFault(state: FramesState): Told {
  const { fault } = state;
  if (fault === undefined) return told(state);
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (fault.attempt - 1), LONGEST_DELAY_MS);
  const retry = { ...fault, delayMs: Math.ceil(delayMs / SECOND_MS) * SECOND_MS };
  return and(tellRetry(state, retry), (state) => told({ ...state, missed: fault.attempt }));
}

function withoutFault({ fault: _, missed: __, ...state }: FramesState): FramesState {
  return state;
}

/** Whether such a request is made again: nothing was wrong with it, and no other model is asked in the place of its own. */
function isRetried({ attempt, maxRetries, status }: ApiFault): boolean {
  if (status === 529) return attempt <= maxRetries && attempt < OVERLOADS;
  return attempt <= maxRetries &&
    (status === null || status === 408 || status === 409 || status === 429 || status >= 500);
}
