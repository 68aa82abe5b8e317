import { onDrawn, stopForUrgent, stopWhenFree } from "./stop_turn.ts";
import { awaitBackground } from "./background_wait.ts";
import { answersInOrder } from "../protocol/requests/answers_in_order.ts";
import { onAnswer, onServerMessage, onTold, onToolAnswer } from "../protocol/questions/asking.ts";
import { onCallerGone } from "../protocol/questions/unanswered.ts";
import { dueLater } from "../protocol/questions/question.ts";
import { withUntold } from "../protocol/questions/told_calls.ts";
import { onChildGone, onConsulted } from "../protocol/requests/consulting.ts";
import { stopsOver, withTasks } from "../protocol/requests/stopping.ts";
import { onControl } from "../protocol/requests/on_control.ts";
import { onOutputMessage } from "../protocol/structured_output.ts";
import type { Effect, Ending } from "./effect.ts";
import {
  announced,
  awaitRest,
  clearedDeadlines,
  end,
  finish,
  interrupt,
  killChild,
  settledEnding,
} from "./end_session.ts";
import { withGoal, withShell } from "./follow_ups.ts";
import { handToChild, seePasted } from "./deliver.ts";
import type { Exit, Input } from "./input.ts";
import { onSpent } from "./budget.ts";
import { onDeadline } from "./on_deadline.ts";
import { onHook } from "./on_hook.ts";
import { onScreen } from "./on_screen.ts";
import { isPong, onPong, onServers } from "./await_servers.ts";
import { onStatus } from "./on_status.ts";
import { onTranscript } from "./on_transcript.ts";
import { enqueued, type Message } from "./message.ts";
import type { SessionState } from "./session_state.ts";
import { act, andThen, deadline, stay, type Step, write } from "./step.ts";
import { plainOutput, withWritten } from "../terminal/screen.ts";
import { missedLater } from "../terminal/paste.ts";
import { onPriced, onTaskless, overAtOnce } from "./end_turn.ts";
import { OUTPUT_SERVER } from "../../claude/transcript/structured_output_tool.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";
import type { StopSignal } from "../../claude/wire/stop_signal.ts";
import { type LateTerms, limitsOf } from "./session_options.ts";
import { answerProbes, PROBE_FINAL, scanTerminal } from "../terminal/terminal_scanner.ts";
import { lookAtStart, overWhenIdle } from "./wait_times.ts";

/** Takes one input and says what is to be done: no clock, no file, no environment is read here. */
export function step(state: SessionState, input: Input): Step {
  return answersInOrder(stopWhenFree(stepOn(state, input)), { before: state, input });
}

function stepOn(state: SessionState, input: Input): Step {
  if (state.phase === "ended") return stay(state);
  if (state.phase === "reading") return onLateInput(state, input);
  switch (input.type) {
    case "spawned":
      return act({ ...state, lifeAt: input.at }, [
        ...(state.options.conversation ? [] : [deadline("timeout", state.options.timeoutMs)]),
        deadline("start", state.options.startTimeoutMs),
        deadline("silence", state.options.idleTimeoutMs),
      ]);
    case "terminal":
      return onTerminal(alive(state, input), input);
    case "hook":
      return onHook(alive(state, input), input);
    case "mcp":
      return onServers(alive(state, input), input);
    case "unheard":
      return state.phase === "ending" || state.phase === "interrupting"
        ? stay(state)
        : interrupt(state, announced(state) ?? { kind: "unheard" });
    case "reachable":
      return handToChild({ ...alive(state, input), reachable: true });
    case "terms":
      return onTerms(state, input);
    case "message":
      return onMessage(alive(state, input), input.message);
    case "control":
      return dismissed(onRequest(alive(state, input), input.request));
    case "consulted":
      return onConsulted(alive(state, input), input);
    case "answer":
      return onAnswer(alive(state, input), input.answer);
    case "mcp-message":
      return onMcpMessage(alive(state, input), input);
    case "closed":
      return onClosed(alive(state, input));
    case "unreadable":
      return onUnreadable(state, input.reason);
    case "cost":
      return onCost(alive(state, input), input);
    case "status":
      return onStatus(alive(state, input), input);
    case "stream":
      return stay(alive(state, input));
    case "transcript":
      return onTranscript(
        withTasks(withUntold(alive(state, input), input.entry), input.entry),
        input.entry,
      );
    case "screen":
      return onScreen(state, input);
    case "signal":
      return onSignal(state, input.signal);
    case "suspended":
      return onSuspended(state, input.ms);
    case "resized":
      return act({ ...state, size: input.size }, [{ type: "resize", size: input.size }]);
    case "deadline":
      return onDeadline(state, input);
    case "exit":
      return onExit(state, input.exit);
    case "subagent": {
      const { entry, subagent: { agentId, toolUseId } } = input.line;
      const known = withUntold(withShell(state, input.line), entry, { agentId });
      return stay(toolUseId === undefined ? known : withTasks(known, entry));
    }
    case "read":
      return onTold(state, input.at);
    case "shells":
      return input.unused ? onTaskless(state) : stay(state);
    case "log":
      return act(state, [{ type: "log", line: input.line }]);
    case "earlier":
      return stay(withGoal(state, input.entries));
    case "subagent-note":
    case "fault":
    case "retry":
    case "shell":
    case "shell-output":
    case "shell-over":
      return stay(state);
    default:
      return input satisfies never;
  }
}

/** The caller asks for something: a change may be for another child, which is started before anything is said to it. */
function onRequest(state: SessionState, request: ControlRequest): Step {
  const asked = onControl(state, request);
  return asked.state.changes === state.changes ? asked : andThen(asked, handToChild);
}

/** The child speaks to a server that is bridged to this program, or one that is asked for permissions answers. */
function onMcpMessage(
  state: SessionState,
  input: Extract<Input, { readonly type: "mcp-message" }>,
): Step {
  const { output, caller } = state.options;
  if (isPong(input.message)) return onPong(state);
  if (input.server === OUTPUT_SERVER && output !== undefined) return onOutputMessage(state, input);
  return input.server === caller?.promptTool?.server
    ? onToolAnswer(state, input.message)
    : onServerMessage(state, input);
}

/** Whoever was stopped is not late: nothing has lasted longer for it but the run. */
function onSuspended(state: SessionState, ms: number): Step {
  const { screen, keyAt } = state;
  return act({
    ...(state.phase === "pasted" ? { ...state, echo: missedLater(state.echo, ms) } : state),
    lifeAt: state.lifeAt + ms,
    asked: dueLater(state.asked, ms),
    ...(screen === undefined ? {} : { screen: { ...screen, since: screen.since + ms } }),
    ...(keyAt === undefined ? {} : { keyAt: keyAt + ms }),
  }, [{ type: "postpone", byMs: ms }]);
}

/** A sign of life, which the `silence` deadline looks at when it fires. */
function alive(state: SessionState, { at }: { readonly at: number }): SessionState {
  return state.lifeAt === at ? state : { ...state, lifeAt: at };
}

function onExit(state: SessionState, exit: Exit): Step {
  // A Stop that still waited for the idle status was the last one after all.
  // What it was sent and has not taken is for the next child, if this one was any good.
  const isUnasked = (state.phase === "resting" || state.phase === "entered") &&
    !state.wakeup?.awaited && state.taken.length === 0 &&
    (state.turns > 0 || state.sent.length + state.queue.length === 0);
  const ending: Ending = state.ending ?? settledEnding(state) ?? refusal(state, exit) ??
    (isUnasked && state.options.conversation ? { kind: "closed" } : { kind: "exited", exit });
  const stopped = stopsOver({ ...state, phase: "reading", ending, exit });
  const gone = onChildGone(stopped.state);
  const next = awaitRest(gone.state);
  return act(next.state, [...stopped.effects, ...gone.effects, ...next.effects]);
}

/** The exit code with which Claude Code, and `claude -p`, end without beginning anything. */
const REFUSED = 1;

/** Why the child has not begun anything, in its own words. */
function refusal(state: SessionState, exit: Exit): Ending | undefined {
  const isEarly = state.phase === "starting" && state.status === undefined && !state.ready;
  if (!isEarly || exit.kind !== "exited" || exit.code !== REFUSED) return undefined;
  const words = plainOutput(state.written);
  return words === undefined ? undefined : { kind: "refused", words };
}

/** The child tells what it has cost: after the announced end of a turn, what the turn has. */
function onCost(
  before: SessionState,
  told: Extract<Input, { readonly type: "cost" }>,
): Step {
  const waited = before.unpaid.length > 0;
  const paid = onSpent(before, told);
  if (waited) return paid;
  const { state } = paid;
  // One that ran before the turn's last hook was asked for by an earlier change.
  const isEarlier = told.ranAt !== undefined && state.announcedAt !== undefined &&
    told.ranAt < state.announcedAt;
  if (isEarlier) return stay(state);
  return state.phase === "settling" || state.stopHook !== undefined ? onPriced(state) : stay(state);
}

/** What is heard once the child is gone: the rest of its transcript, and what the caller says meanwhile. */
function onLateInput(state: SessionState, input: Input): Step {
  switch (input.type) {
    case "transcript":
      return onTranscript(state, input.entry);
    case "message":
      return onMessage(state, input.message);
    case "control":
      return andThen(onRequest(state, input.request), onChildGone);
    case "deadline":
      return input.name === "record" ? finish(state) : stay(state);
    case "signal":
      return finish(state);
    default:
      return stay(state);
  }
}

/** Somebody asks this program to stop. */
function onSignal(state: SessionState, signal: StopSignal): Step {
  switch (state.phase) {
    case "interrupting": {
      // A second signal ends the child at once.
      const ending = state.ending ?? { kind: "interrupted", signal };
      const killed = killChild({ ...state, phase: "ending", ending }, "SIGKILL");
      return act(killed.state, [...clearedDeadlines(), ...killed.effects]);
    }
    case "ending":
      // Teardown after any other ending goes on as long as is usual.
      return state.ending?.kind === "interrupted" || state.exitLeftMs < 0
        ? killChild(state, "SIGKILL")
        : stay(state);
    default:
      return interrupt(state, announced(state) ?? { kind: "interrupted", signal });
  }
}

/**
 * The caller sends a message. An urgent one stops the turn under way, or the turn of an earlier message that still waits:
 * `claude -p` has begun that turn by then (2.1.330).
 */
function onMessage(before: SessionState, message: Message): Step {
  if (message.repeated || before.dismissed) return stay(before);
  const isUrgent = message.priority === "now" && before.ending === undefined;
  const { state, effects } = isUrgent ? stopForUrgent(before) : stay(before);
  // What waits while no turn is under way is begun at once there, whatever it is: here a child may have yet to start.
  const { phase, sent } = state;
  const begun = (phase === "starting" || phase === "resting") && sent.length === 0 ? 1 : 0;
  const queue = enqueued(state.queue, message, { begun });
  if (state.ending !== undefined) return stay({ ...state, queue });
  const { timeLeftMs } = message;
  const given = handToChild(
    timeLeftMs === undefined ? { ...state, queue } : { ...state, queue, isBounded: true },
  );
  return act(given.state, [
    ...(timeLeftMs === undefined ? [] : [deadline("timeout", timeLeftMs)]),
    ...effects,
    ...given.effects,
  ]);
}

/** There are no further messages: what has been sent is still answered. */
function onClosed(state: SessionState): Step {
  const { state: next, effects } = onCallerGone({ ...state, open: false });
  if (state.ending !== undefined) return act(next, effects);
  const over = (state.phase === "settling" ? overAtOnce(next) : undefined) ?? handToChild(next);
  const last = over.state.phase === "working" ? awaitBackground(over.state) : stay(over.state);
  return act(last.state, [...effects, ...over.effects, ...last.effects]);
}

/** Where the caller has ended the session, nothing more is heard of it. */
function dismissed(before: Step): Step {
  if (!before.state.dismissed || !before.state.open) return before;
  const { state, effects } = onClosed(before.state);
  return act(state, [...before.effects, ...effects]);
}

/** What the caller sends cannot be understood: nothing that follows could be trusted, so that nothing is done any more. */
function onUnreadable(state: SessionState, reason: string): Step {
  const next = { ...state, open: false, queue: [] };
  const ending = { kind: "unreadable", reason } as const;
  if (next.ending === undefined) return end(next, ending);
  // No other child takes the place of one that goes for that.
  return stay(next.ending.kind === "renewed" ? { ...next, ending } : next);
}

/** The caller comes: the session goes on by its terms, before anything has been said in it. */
function onTerms(
  state: SessionState,
  { terms, at }: { readonly terms: LateTerms; readonly at: number },
): Step {
  const { idleTimeoutMs: _, caller, ...options } = state.options;
  const { initializedBy: id } = terms;
  const initialized = id === undefined || caller === undefined
    ? caller
    : { ...caller, initialized: { ...caller.initialized, id } };
  const { idleTimeoutMs } = terms;
  return act({
    ...state,
    lifeAt: at,
    options: {
      ...options,
      ...limitsOf(terms),
      ...(initialized === undefined ? {} : { caller: initialized }),
    },
  }, [deadline("silence", idleTimeoutMs)]);
}

/** What the child wrote: its probes are answered, and the echo of a paste is seen. */
function onTerminal(
  state: SessionState,
  { bytes, at }: Extract<Input, { readonly type: "terminal" }>,
): Step {
  // Unless a paste is to be seen, nothing but probes matters.
  const only = state.phase === "pasted" ? undefined : PROBE_FINAL;
  const { state: scanner, tokens } = scanTerminal(state.scanner, bytes, { only });
  const effects: Effect[] = [];
  const replies = answerProbes(tokens);
  if (replies !== "") effects.push(write(replies));
  const { heardAt = at } = state;
  if (state.heardAt === undefined && !state.ready) {
    effects.push(deadline("start", state.options.startTimeoutMs));
  }
  // A child that draws goes on with its prompt, though where the machine is busy it may take seconds to say so.
  if (state.phase === "working" && state.recorded && state.status?.status === "idle") {
    effects.push(overWhenIdle());
  }
  let next: SessionState = heardAt === state.heardAt && scanner === state.scanner
    ? state
    : { ...state, scanner, heardAt };
  if (next.phase === "starting") {
    if (next.status === undefined) {
      next = { ...next, written: withWritten(next.written, bytes) };
      effects.push(lookAtStart(next));
    }
  } else if (next.phase === "pasted") {
    for (const token of tokens) {
      if (token.kind !== "text" || next.phase !== "pasted") continue;
      const seen = seePasted(next, { visible: token.bytes, echo: next.echo });
      next = seen.next?.state ?? { ...next, echo: seen.echo };
      effects.push(...seen.next?.effects ?? []);
    }
  }
  const drawn = onDrawn(next);
  return act(drawn.state, [...effects, ...drawn.effects]);
}
