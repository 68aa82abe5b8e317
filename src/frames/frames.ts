import type { Effect } from "../session/effect.ts";
import type { Input } from "../session/input.ts";
import { isVersionAtLeast } from "../wire/wire_keys.ts";
import { apiRetryFrame } from "./build/api_retry_frame.ts";
import { begin, beginTurn } from "./beginning.ts";
import { hearCompaction, isAwaited, tellBegun } from "./compaction.ts";
import {
  and,
  chained,
  type FramesState,
  type Told,
  told,
  type TurnEnd,
  withIds,
} from "./frames_state.ts";
import { tellLines, tellWaiting } from "./lines.ts";
import { tellLongShells, untilLong } from "./long_shells.ts";
import { awaitMessage } from "./messages.ts";
import { mirrored } from "./mirror.ts";
import { stopTurn } from "./results.ts";
import { hearStream } from "./exact_stream.ts";
import { endAnswers, tellHeard } from "./live_answers.ts";
import { hearText } from "./partial_messages.ts";
import { tellRequest } from "./request_status.ts";
import { tellTasks } from "./saying.ts";
import { noteShell, noteShellOver, tellShellOutput, tellShellsEnd } from "./shell_output.ts";
import { stopTasks } from "./build/task_frames.ts";
import { tellResult } from "./turn_result.ts";

/**
 * How long after the prompt's line `system/init` is held back for the lines that describe the session. Since 2.1.330 the
 * line of the first request is the last of them, and nothing is waited for any more; on a busy machine it comes after a
 * second.
 */
const INIT_DELAY_MS = 200;
const INIT_DELAY_SINCE_330_MS = 2000;
/** How long the lines before a compaction may take to be read: they are held back for 0.1 s. */
const COMPACTION_DELAY = { type: "deadline", name: "compaction", afterMs: 300 } as const;
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
export function tellInput(state: FramesState, input: Input): FramesStep {
  const step = takeInput(state, input);
  const said = and(step, tellHeard);
  return { ...said, effects: step.effects };
}

function takeInput(state: FramesState, input: Input): FramesStep {
  const now = state.options.startedAt + input.at;
  switch (input.type) {
    case "earlier":
      return quiet({ ...state, earlier: input.entries });
    case "message":
      return { ...awaitMessage(state, input.message), effects: [] };
    case "cost": {
      const { totalUsd, apiDurationMs } = input;
      // Since 2.1.330 a child that resumes a session may go on with its costs.
      const { before } = state.options;
      const isOurs = before !== undefined && totalUsd < before.totalUsd;
      const { paid = isOurs ? before : NOTHING } = state;
      return quiet({
        ...state,
        paid,
        cost: {
          totalUsd: totalUsd + paid.totalUsd,
          apiDurationMs: apiDurationMs + paid.apiDurationMs,
        },
        overspent: isOverspent(state, totalUsd + paid.totalUsd),
        paidBefore: state.paidBefore ?? totalUsd + paid.totalUsd,
        ...(input.limits === undefined ? {} : { limits: input.limits }),
      });
    }
    case "hook": {
      const model = input.payload["model"];
      if (input.event === "SessionStart" && typeof model === "string") {
        return quiet({ ...state, model });
      }
      const { event, payload, ranAt = now } = input;
      if (event === "MessageDisplay") return quiet(hearText(state, payload));
      const heard = hearCompaction(state, { event, payload, at: ranAt });
      if (heard.compactions.length > state.compactions.length) {
        return { ...told(heard), effects: [COMPACTION_DELAY] };
      }
      return quiet(event === "Stop" ? stopTurn(heard, payload) : heard);
    }
    case "transcript":
      return quiet({ ...state, own: chained(state.own, input.entry) });
    case "subagent":
      return quiet({ ...state, subagents: chained(state.subagents, input.line) });
    case "read":
      return waiting(and(tellLines(state), (next) => told(next, mirrored(state))), {
        before: state,
        now,
      });
    case "retry": {
      const { sessionId } = state.options;
      const asked = and(tellRequest(state), (state) => {
        const { state: next, made } = withIds(
          state,
          (newUuid) => apiRetryFrame(input.retry, { sessionId, uuid: newUuid() }),
        );
        return told(next, [made]);
      });
      if (state.begun) return { ...asked, effects: [] };
      const { early } = asked.state;
      return quiet({ ...asked.state, early: [...early, ...asked.frames] });
    }
    case "stream":
      return quiet(hearStream(state, input));
    case "shells": {
      const next = tellLongShells(state, { running: input.ids, now });
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
        return isAwaited(state)
          ? { ...told(state), effects: [COMPACTION_DELAY] }
          : { ...tellBegun(state), effects: [] };
      }
      if (input.name === "init") return { ...begin(state), effects: [] };
      return input.name === "shells"
        ? { ...told(state), effects: [{ type: "list-shells" }] }
        : quiet(state);
    default:
      return quiet(state);
  }
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
): Told {
  if (!recorded) {
    return told({ ...state, ended: [...state.ended, { ...end, cost: state.cost }] });
  }
  return and(tellLines(state), (state) => tellResult(state, end));
}

/** The run is ending, and with it what goes on in the background. */
export function tellEnding(state: FramesState): FramesState {
  return { ...state, ending: true };
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
  const read = and(tellLines(state), tellWaiting);
  const begun = and(read, (state) => and(tellLate(state, version), endAnswers));
  return and(
    and(begun, tellShellsEnd),
    (state) =>
      tellTasks(
        state,
        (context) => stopTasks(state.tasks, new Date(now).toISOString(), context),
      ),
  );
}

/** Tells results whose last lines never came, and the beginning of the last turn. */
function tellLate(state: FramesState, version: string): Told {
  const [end, ...ended] = state.ended;
  if (end !== undefined) {
    return and(tellResult({ ...state, ended }, end), (state) => tellLate(state, version));
  }
  const isQuiet = state.rested && state.awaited.length === 0;
  return isQuiet
    ? told(state)
    : and(beginTurn(state), (state) => begin(state, state.version ?? version));
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
        ? [{ type: "deadline", name: "init", afterMs: initDelayMs(state) } as const]
        : [],
      ...shellsChanged
        ? [afterMs === undefined ? { type: "deadline", name: "shells" } as const : look(afterMs)]
        : [],
    ],
  };
}

function initDelayMs({ version = "" }: FramesState): number {
  return isVersionAtLeast(version, "2.1.330") ? INIT_DELAY_SINCE_330_MS : INIT_DELAY_MS;
}

function look(afterMs: number): FramesEffect {
  return { type: "deadline", name: "shells", afterMs };
}

function quiet(state: FramesState): FramesStep {
  return { ...told(state), effects: [] };
}
