import { begin, beginTurn } from "./telling/beginning.ts";
import { stopTasks } from "./single/task_ends.ts";
import { hearCompaction, isAwaited, tellBegun } from "./lines/compaction.ts";
import { hearStream } from "./live/exact_stream.ts";
import { and, type FramesState, type Told, told, type TurnEnd } from "./telling/frames_state.ts";
import { chained } from "../chain.ts";
import { holdTurn, isAheadOfSubagent, tellHeld } from "./lines/held_turns.ts";
import { earlyAnswer } from "./lines/line_order.ts";
import { tellAhead, tellNotices, tellRead, tellWaiting } from "./lines/tell_lines.ts";
import { endAnswers, tellHeard } from "./live/live_answers.ts";
import { tellBeats, untilBeat } from "./live/long_calls.ts";
import { tellLongShells, untilLong } from "./live/long_shells.ts";
import { hearTask } from "./subagents/hooked_tasks.ts";
import { awaitMessage } from "./messages.ts";
import { keepForMirror, tellMirror, withMirror } from "./mirror.ts";
import { noLines } from "./telling/kept_lines.ts";
import { hearText } from "./live/partial_messages.ts";
import { noteFault, tellMissed, tellRetry } from "./retries.ts";
import { isPriced, stopTurn, tellEarly } from "./turns/early_results.ts";
import { tellToCall } from "./subagents/begun_calls.ts";
import { tellTasks } from "./telling/saying.ts";
import { noteShell, noteShellOver, tellShellOutput, tellShellsEnd } from "./live/shell_output.ts";
import { asOwnTool } from "./structured_output.ts";
import { tellResult } from "./turns/settled_message.ts";
import type { Effect } from "../session/effect.ts";
import type { Input } from "../session/input.ts";
import { type LateTerms, limitsOf } from "../session/late_terms.ts";
import type { Entry } from "../transcript/entry.ts";
import { atHome } from "../transcript/files/at_home.ts";
import { summedSpent } from "../transcript/turn/cost.ts";
import { isVersionAtLeast } from "../wire/wire_keys.ts";

/**
 * How long after the prompt's line `system/init` is held back for the lines that describe the session, if the last of them
 * does not come: on a busy machine they take a second. In a session that goes on before 2.1.330 they do not come again.
 */
const INIT_DELAY_MS = 2000;
const INIT_DELAY_RESUMED_MS = 200;
/**
 * How long the lines before a compaction may take to be read, unless its outcome comes sooner: they are held back for
 * 0.1 s, and on a busy machine for more than 0.3 s. The model takes many seconds for a summary.
 */
const COMPACTION_DELAY = { type: "deadline", name: "compaction", afterMs: 1000 } as const;
/**
 * The same of the lines of a subagent that is over, which are written together with its result, and of one that begins. A
 * turn's waits too.
 */
const SUBAGENT_DELAY = { type: "deadline", name: "subagent", afterMs: 1000 } as const;
/** How long a result may wait for what its turn has cost: the status line runs 0.3 s after it. */
const PRICE_DELAY = { type: "deadline", name: "priced", afterMs: 1000 } as const;
/** How long until the next look, where it cannot be told yet which shell is whose. */
const LOOK_AGAIN_MS = 500;

/** What the machine waits for, or wants to know. */
type FramesEffect = Extract<Effect, { readonly type: "deadline" | "list-shells" }>;

const NOTHING = { totalUsd: 0, apiDurationMs: 0 };

/** What is said because of an input, and what has to be waited for. */
export interface FramesStep extends Told {
  readonly effects: readonly FramesEffect[];
}

/** Takes an input of the session and says what `claude -p` prints when it happens. */
export function tellInput(before: FramesState, given: Input): FramesStep {
  const { state, input } = asOwnTool(before, given);
  const missed = tellMissed(state, input);
  const step = takePriced(missed.state, input);
  const said = and({ ...step, frames: [...missed.frames, ...step.frames] }, tellHeard);
  return { ...said, effects: step.effects };
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

function takeInput(state: FramesState, input: Input): FramesStep {
  const now = state.options.startedAt + input.at;
  switch (input.type) {
    case "earlier":
      return quiet({ ...state, earlier: input.entries, kept: noLines(input.entries) });
    case "terms":
      return quiet(withTerms(state, input.terms));
    case "message":
      return { ...awaitMessage(state, input.message), effects: [] };
    case "closed":
      return quiet({ ...state, heardOut: true });
    case "cost": {
      // Since 2.1.330 a child that resumes a session may go on with its costs.
      const { before } = state.options;
      const isOurs = before !== undefined && input.totalUsd < before.totalUsd;
      const { paid = isOurs ? before : NOTHING } = state;
      const cost = summedSpent(input, paid);
      const priced: FramesState = {
        ...state,
        paid,
        pricedAt: input.ranAt,
        cost,
        overspent: isOverspent(state, cost.totalUsd),
        paidBefore: state.paidBefore ?? cost.totalUsd,
        ...(input.limits === undefined ? {} : { limits: input.limits }),
      };
      const isDue = priced.unpriced !== undefined && isPriced(priced, priced.unpriced.at);
      return isDue ? { ...tellEarly(priced), effects: [] } : quiet(priced);
    }
    case "hook": {
      const model = input.payload["model"];
      if (input.event === "SessionStart" && typeof model === "string") {
        return quiet({ ...state, model });
      }
      const { event, payload, ranAt, callback } = input;
      if (event === "MessageDisplay") return quiet(hearText(state, payload));
      // A hook of ours tells of a compaction, and of a typed one nobody has to.
      const heard = callback === undefined
        ? hearCompaction(state, { event, payload, at: ranAt ?? now })
        : state;
      if (heard.compactions.length > state.compactions.length) {
        return { ...told(heard), effects: [COMPACTION_DELAY] };
      }
      if (event === "Stop") return quiet(stopTurn(heard, { payload, ranAt }));
      if (callback !== undefined) {
        return { ...hearTask(state, { event, payload, at: ranAt ?? now }), effects: [] };
      }
      const isOutcome = heard !== state && heard.ahead !== undefined && !heard.unsummed &&
        heard.compactions[0]?.error !== undefined;
      return isOutcome ? { ...tellAhead(heard), effects: [] } : quiet(heard);
    }
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
    case "read": {
      const version = earlyAnswer(state);
      if (version !== undefined) {
        // They stay, and are told again.
        const held = { ...state, version };
        return { ...tellMirror(held), effects: [initDelay(held)] };
      }
      if (isAheadOfSubagent(state)) {
        const held = tellMirror({ ...state, awaitsSubagent: true });
        return { ...held, effects: state.awaitsSubagent ? [] : [SUBAGENT_DELAY] };
      }
      const held = tellToCall(state);
      return held === undefined
        ? waiting(withMirror(tellHeld(state, tellRead)), { before: state, now })
        : withCallDelay(waiting(withMirror(held), { before: state, now }), state);
    }
    case "fault":
      return { ...noteFault(state, input.fault), effects: [] };
    case "retry":
      return { ...tellRetry(state, input.retry), effects: [] };
    case "stream":
      return quiet(hearStream(state, input));
    case "shells": {
      const next = tellLongShells(state, {
        running: input.ids,
        startedAt: input.startedAt,
        now,
      });
      const afterMs = untilLong(next.state, now);
      return {
        ...next,
        effects: afterMs === undefined ? [] : [look(Math.max(LOOK_AGAIN_MS, afterMs))],
      };
    }
    case "shell":
      return { ...noteShell(state, input), effects: [] };
    case "shell-output":
      return { ...tellShellOutput(state, input), effects: [] };
    case "shell-over":
      return { ...noteShellOver(state, input), effects: [] };
    case "deadline":
      if (input.name === "compaction") {
        const begun = isAwaited(state) ? told(state) : tellBegun(state);
        const isOver = begun.state.compactions.every((each) => each.told);
        return { ...begun, effects: isOver ? [] : [COMPACTION_DELAY] };
      }
      if (input.name === "priced" && state.unpriced !== undefined) {
        return { ...tellEarly(state), effects: [] };
      }
      if (input.name === "beat") {
        const next = tellBeats(state, now);
        return { ...next, effects: [nextBeat(next.state, now)] };
      }
      if (input.name === "init") {
        // What waits for a subagent's lines has a deadline of its own; some of it comes before `system/init`.
        if (state.awaitsSubagent) return quiet(state);
        return withCallDelay({
          ...and(begin(state), (state) => tellToCall(state) ?? tellHeld(state)),
          effects: [],
        }, state);
      }
      if (input.name === "subagent" && (state.awaitsSubagent || state.unbegun !== undefined)) {
        return waiting(withMirror(tellHeld(state)), { before: state, now });
      }
      return input.name === "shells"
        ? { ...told(state), effects: [{ type: "list-shells" }] }
        : quiet(state);
    default:
      return quiet(state);
  }
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

/**
 * A turn is over that the child outlives.
 *
 * @param options.recorded whether all its lines are there; otherwise its result waits for the rest
 */
export function tellTurnEnd(
  state: FramesState,
  end: TurnEnd,
  { recorded }: { readonly recorded: boolean },
): FramesStep {
  if (!recorded) {
    return quiet({ ...state, ended: [...state.ended, { ...end, cost: state.cost }] });
  }
  if (isAheadOfSubagent(state)) {
    return { ...told(holdTurn(state, end)), effects: state.awaitsSubagent ? [] : [SUBAGENT_DELAY] };
  }
  const over = and(
    and(and(tellHeld(state), tellWaiting), tellEnded),
    (state) => tellResult(state, end),
  );
  // What has not returned by then never will.
  const rested = over.state.openCalls.size === 0
    ? over
    : { ...over, state: { ...over.state, openCalls: new Map() } };
  return { ...withMirror(rested, { all: true }), effects: [] };
}

/** Keeps a line that a forked session has of the one that it comes from: only whoever mirrors the session wants it. */
export function keepCopied(state: FramesState, entry: Entry): FramesState {
  return keepForMirror(state, { entry: fromHome(state, entry) });
}

/** The run is ending from a moment on, in milliseconds from its start, and with it what goes on in the background. */
export function tellEnding(state: FramesState, at: number): FramesState {
  return { ...state, endingAt: state.options.startedAt + at };
}

/**
 * Says what is missing at the end: `system/init` if nothing has given rise to it yet, because a run always begins with
 * it, and the end of what still went on in the background.
 *
 * @param options.version the version to assume for a transcript that ended before it named one
 * @param options.now milliseconds since the epoch
 */
export function tellEnd(
  state: FramesState,
  { version, now }: { readonly version: string; readonly now: number },
): Told {
  const read = and(and(tellHeld(state), tellWaiting), (state) => tellNotices(state));
  const mirrored = and(read, (state) => tellMirror(state, { all: true }));
  const begun = and(mirrored, (state) => and(tellLate(state, version), endAnswers));
  return and(
    and(begun, tellShellsEnd),
    (state) =>
      tellTasks(
        state,
        (context) => stopTasks(state.tasks, new Date(now).toISOString(), context),
      ),
  );
}

/** Tells results whose last lines never came. */
function tellEnded(state: FramesState): Told {
  const [end, ...ended] = state.ended;
  return end === undefined ? told(state) : and(tellResult({ ...state, ended }, end), tellEnded);
}

/** Tells those, and the beginning of the last turn. */
function tellLate(before: FramesState, version: string): Told {
  return and(tellEnded(before), (state) => tellBeginning(state, version));
}

/** Tells the beginning of the last turn, if nothing has given rise to it yet. */
function tellBeginning(state: FramesState, version: string): Told {
  const isUnasked = state.options.conversation === true && !state.begun &&
    state.prompt === undefined;
  const isQuiet = (state.rested || isUnasked) && state.awaited.length === 0;
  return isQuiet
    ? told(state)
    : and(beginTurn(state), (state) => begin(state, { version: state.version ?? version }));
}

/** Waits for what follows from new lines: the beginning of a session, and shells that take long. */
function waiting(
  next: Told,
  { before, now }: { readonly before: FramesState; readonly now: number },
): FramesStep {
  const { state } = next;
  const shellsChanged = state.shells !== before.shells;
  const afterMs = shellsChanged ? untilLong(state, now) : undefined;
  return {
    ...next,
    effects: [
      ...state.prompt !== undefined && before.prompt === undefined && !state.begun
        ? [initDelay(state)]
        : [],
      ...shellsChanged
        ? [afterMs === undefined ? { type: "deadline", name: "shells" } as const : look(afterMs)]
        : [],
      ...state.openCalls === before.openCalls ? [] : [nextBeat(state, now)],
    ],
  };
}

function initDelay({ version = "", earlier }: FramesState): FramesEffect {
  const afterMs = earlier.length === 0 || isVersionAtLeast(version, "2.1.330")
    ? INIT_DELAY_MS
    : INIT_DELAY_RESUMED_MS;
  return { type: "deadline", name: "init", afterMs };
}

/** Waits for the moment at which a call is to be told that is still at work then. */
export function nextBeat(state: FramesState, now: number): FramesEffect {
  const afterMs = untilBeat(state, now);
  return { type: "deadline", name: "beat", ...(afterMs === undefined ? {} : { afterMs }) };
}

function look(afterMs: number): FramesEffect {
  return { type: "deadline", name: "shells", afterMs };
}

function quiet(state: FramesState): FramesStep {
  return { ...told(state), effects: [] };
}
