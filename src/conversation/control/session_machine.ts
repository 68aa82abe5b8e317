import { recordDrawing, stopAfterCommand, stopForUrgentMessage } from "./stop_turn.ts";
import { awaitBackground } from "./background_wait.ts";
import { emitAfterInitialization } from "../protocol/requests/initialize.ts";
import {
  onAnswer,
  onLinesPrinted,
  onPromptToolAnswer,
  onServerMessage,
} from "../protocol/questions/ask_caller.ts";
import { onCallerGone } from "../protocol/questions/unanswered.ts";
import { postponeQuestions } from "../protocol/questions/question.ts";
import { deferLine } from "../protocol/questions/printed_calls.ts";
import { answerAfterExit, onHelperAnswer } from "../protocol/requests/ask_helper.ts";
import { answerStops, recordTasks } from "../protocol/requests/background_calls.ts";
import { receiveRequest } from "../protocol/requests/receive_request.ts";
import { onOutputMessage } from "../protocol/structured_output.ts";
import { changePhase, type ControlStep } from "./control_step.ts";
import { deadline, type Effect, type Ending, write } from "./effect.ts";
import {
  awaitTranscript,
  clearedDeadlines,
  endSession,
  finishSession,
  killChild,
  settledEnding,
} from "./end_session.ts";
import { recordGoal, recordShell } from "./follow_ups.ts";
import { deliverNext, seePasted } from "./deliver.ts";
import type { Exit, Input, SubagentLine } from "./input.ts";
import { onSpent } from "./budget.ts";
import { onDeadline } from "./on_deadline.ts";
import { onHook } from "./on_hook.ts";
import { onScreen } from "./on_screen.ts";
import { isPong, onPong, onServers } from "./await_servers.ts";
import { onStatus } from "./on_status.ts";
import { onTranscript } from "./on_transcript.ts";
import { enqueued, type Message } from "./message.ts";
import type { SessionState } from "./session_state.ts";
import { plainOutput, withWritten } from "../terminal/screen.ts";
import { missedLater } from "../terminal/paste.ts";
import { endAtOnce, onTaskless, settleCost, stopChild } from "./end_turn.ts";
import { OUTPUT_SERVER } from "../../claude/transcript/structured_output_tool.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";
import type { StopSignal } from "../../claude/wire/stop_signal.ts";
import { type LateTerms, limitsOf } from "./session_options.ts";
import { Step } from "../step.ts";
import {
  answerProbes,
  PROBE_FINAL,
  scanTerminal,
  type TerminalToken,
} from "../terminal/terminal_scanner.ts";
import { idleDeadline, startLookDeadline } from "./wait_times.ts";

type InputOf<Type extends Input["type"]> = Extract<Input, { readonly type: Type }>;

/**
 * Returns the state after an input, and the effects for the child and the caller. Reads no clock, no file and no
 * environment.
 */
export function receiveSessionInput(
  before: SessionState,
  input: Input,
): { readonly state: SessionState; readonly effects: readonly Effect[] } {
  const step: ControlStep = new Step<SessionState, Effect>(before, (state) => ({ ...state }));
  const effects = step.capture(() => {
    receive(step, input);
    stopAfterCommand(step);
  });
  emitAfterInitialization(step, { effects, before, input });
  return { state: step.state as SessionState, effects: step.emitted };
}

function receive(step: ControlStep, input: Input): void {
  const { phase } = step.state;
  if (phase === "ended") return;
  if (phase === "reading") {
    receiveLate(step, input);
    return;
  }
  if (SIGNS_OF_LIFE.has(input.type)) step.update({ lifeAt: input.at });
  switch (input.type) {
    case "spawned":
      return onSpawned(step);
    case "terminal":
      return onTerminal(step, input);
    case "hook":
      return onHook(step, input);
    case "mcp":
      return onServers(step, input);
    case "unheard":
      return onUnheard(step);
    case "reachable":
      step.update({ isReachable: true });
      return deliverNext(step);
    case "terms":
      return onTerms(step, input.terms);
    case "message":
      return onMessage(step, input.message);
    case "control":
      onRequest(step, input.request);
      return closeIfDismissed(step);
    case "consulted":
      return onHelperAnswer(step, input);
    case "answer":
      return onAnswer(step, input.answer);
    case "mcp-message":
      return onMcpMessage(step, input);
    case "closed":
      return onClosed(step);
    case "unreadable":
      return onUnreadable(step, input.reason);
    case "cost":
      return onCost(step, input);
    case "status":
      return onStatus(step, input);
    case "transcript":
      step.replace(deferLine(step.state, input.entry));
      recordTasks(step, input.entry);
      return onTranscript(step, input.entry);
    case "screen":
      return onScreen(step, input);
    case "signal":
      return onSignal(step, input.signal);
    case "suspended":
      return onSuspended(step, input.ms);
    case "resized":
      step.update({ size: input.size });
      return step.emit({ type: "resize", size: input.size });
    case "deadline":
      return onDeadline(step, input);
    case "exit":
      return onExit(step, input);
    case "subagent":
      return onSubagentLine(step, input.line);
    case "read":
      return onLinesPrinted(step, input.at);
    case "shells":
      if (input.unused) onTaskless(step);
      return;
    case "log":
      return step.emit({ type: "log", line: input.line });
    case "earlier":
      return recordGoal(step, input.entries);
    case "stream":
    case "subagent-note":
    case "fault":
    case "retry":
    case "shell":
    case "shell-output":
    case "shell-over":
      return;
    default:
      return input satisfies never;
  }
}

/** Inputs that extend the `silence` deadline. */
const SIGNS_OF_LIFE: ReadonlySet<Input["type"]> = new Set<Input["type"]>([
  ...["spawned", "terminal", "hook", "mcp", "reachable", "terms", "message", "control"] as const,
  ...["consulted", "answer", "mcp-message", "closed", "cost", "status", "stream"] as const,
  "transcript",
]);

/**
 * Receives inputs after the child's end: the rest of its transcript, and further messages and requests of the caller.
 */
function receiveLate(step: ControlStep, input: Input): void {
  switch (input.type) {
    case "transcript":
      return onTranscript(step, input.entry);
    case "message":
      return onMessage(step, input.message);
    case "control":
      onRequest(step, input.request);
      return answerAfterExit(step);
    case "deadline":
      if (input.name === "record") finishSession(step);
      return;
    case "signal":
      return finishSession(step);
    default:
      return;
  }
}

function onSpawned(step: ControlStep): void {
  const { conversation, timeoutMs, startTimeoutMs, idleTimeoutMs } = step.state.options;
  // In a conversation, each turn has a time limit of its own; otherwise the whole run has one.
  if (!conversation) step.emit(deadline("timeout", timeoutMs));
  step.emit(deadline("start", startTimeoutMs), deadline("silence", idleTimeoutMs));
}

/** Stops the child, because its hooks cannot report anything. */
function onUnheard(step: ControlStep): void {
  const { phase } = step.state;
  if (phase === "ending" || phase === "interrupting") return;
  stopChild(step, { kind: "unheard" });
}

/** Receives a request of the caller. A change may need another child, which is started before its first message. */
function onRequest(step: ControlStep, request: ControlRequest): void {
  const { changes } = step.state;
  receiveRequest(step, request);
  if (step.state.changes !== changes) deliverNext(step);
}

/** Receives the child's message to a server that is bridged to this program, or the prompt tool's answer. */
function onMcpMessage(step: ControlStep, input: InputOf<"mcp-message">): void {
  const { output, caller } = step.state.options;
  if (isPong(input.message)) {
    onPong(step);
  } else if (input.server === OUTPUT_SERVER && output !== undefined) {
    onOutputMessage(step, input);
  } else if (input.server === caller?.promptTool?.server) {
    onPromptToolAnswer(step, input.message);
  } else {
    onServerMessage(step, input);
  }
}

/** Extends the deadlines that ran while this program was suspended. Only the time limit of the run continued. */
function onSuspended(step: ControlStep, ms: number): void {
  const { screen, keyAt, lifeAt, openQuestions } = step.state;
  if (step.state.phase === "pasted") step.update({ echo: missedLater(step.state.echo, ms) });
  step.update({
    lifeAt: lifeAt + ms,
    openQuestions: postponeQuestions(openQuestions, ms),
    ...(screen === undefined ? {} : { screen: { ...screen, since: screen.since + ms } }),
    ...(keyAt === undefined ? {} : { keyAt: keyAt + ms }),
  });
  step.emit({ type: "postpone", byMs: ms });
}

/** Receives the child's exit. */
function onExit(step: ControlStep, exit: InputOf<"exit">): void {
  const ending = step.state.ending ?? endingAtExit(step.state, exit.exit);
  changePhase(step, { phase: "reading", ending });
  step.update({ exit });
  answerStops(step);
  answerAfterExit(step);
  awaitTranscript(step);
}

/** The ending of a child that has ended by itself. */
function endingAtExit(state: SessionState, exit: Exit): Ending {
  const { phase, wakeup, taken, turns, sent, queue, options } = state;
  // A Stop hook that still waited for the idle status was the last one after all.
  const known = settledEnding(state) ?? refusal(state, exit);
  if (known !== undefined) return known;
  // If this child has done any work, the next child takes the messages that this one has not taken.
  const isUnasked = (phase === "resting" || phase === "entered") && !wakeup?.awaited &&
    taken.length === 0 && (turns > 0 || sent.length + queue.length === 0);
  return isUnasked && options.conversation ? { kind: "closed" } : { kind: "exited", exit };
}

/** The exit code with which Claude Code and `claude -p` end if they refuse to start. */
const REFUSED = 1;

/** The refusal of a child that has not begun any work, in its own words. */
function refusal(state: SessionState, exit: Exit): Ending | undefined {
  const isEarly = state.phase === "starting" && state.status === undefined && !state.isReady;
  if (!isEarly || exit.kind !== "exited" || exit.code !== REFUSED) return undefined;
  const words = plainOutput(state.written);
  return words === undefined ? undefined : { kind: "refused", words };
}

/** Receives the cost so far. After the announced end of a turn, it is the cost of the turn. */
function onCost(step: ControlStep, cost: InputOf<"cost">): void {
  const { unpaidHooks, announcedAt, phase, stopHook } = step.state;
  onSpent(step, cost);
  if (unpaidHooks.length > 0) return;
  // A status line that ran before the turn's last hook reports an earlier change.
  const isEarlier = cost.ranAt !== undefined && announcedAt !== undefined &&
    cost.ranAt < announcedAt;
  if (!isEarlier && (phase === "settling" || stopHook !== undefined)) settleCost(step);
}

/** Receives a signal that asks this program to stop. */
function onSignal(step: ControlStep, signal: StopSignal): void {
  const { phase, ending, exitLeftMs } = step.state;
  if (phase === "interrupting") {
    // A second signal ends the child immediately.
    changePhase(step, { phase: "ending", ending });
    step.emit(...clearedDeadlines());
    killChild(step, "SIGKILL");
  } else if (phase === "ending") {
    // After any other ending, the child may take the usual time to exit.
    if (ending.kind === "interrupted" || exitLeftMs < 0) killChild(step, "SIGKILL");
  } else {
    stopChild(step, { kind: "interrupted", signal });
  }
}

/**
 * Receives a message of the caller. An urgent message stops the current turn, or the turn of an earlier message that
 * still waits: `claude -p` has begun that turn by then (2.1.330).
 */
function onMessage(step: ControlStep, message: Message): void {
  const { isDismissed, ending } = step.state;
  if (message.repeated || isDismissed) return;
  const { timeLeftMs, priority } = message;
  const isOpen = ending === undefined;
  if (isOpen && timeLeftMs !== undefined) step.emit(deadline("timeout", timeLeftMs));
  if (isOpen && priority === "now") stopForUrgentMessage(step);
  // If no turn is running, `claude -p` begins the turn of the first message immediately. Here a child may have to start
  // first.
  const { phase, sent, queue } = step.state;
  const begun = (phase === "starting" || phase === "resting") && sent.length === 0 ? 1 : 0;
  step.update({ queue: enqueued(queue, message, { begun }) });
  if (!isOpen) return;
  if (timeLeftMs !== undefined) step.update({ isBounded: true });
  deliverNext(step);
}

/** Receives that the caller closed its input. Messages that were sent are still answered. */
function onClosed(step: ControlStep): void {
  const { phase, ending } = step.state;
  step.update({ isOpen: false });
  onCallerGone(step);
  if (ending !== undefined) return;
  if (phase !== "settling" || !endAtOnce(step)) deliverNext(step);
  if (step.state.phase === "working") awaitBackground(step);
}

/** Closes the conversation if the caller has ended the session. */
function closeIfDismissed(step: ControlStep): void {
  const { isDismissed, isOpen } = step.state;
  if (isDismissed && isOpen) onClosed(step);
}

/** Ends the session because of invalid input, after which no input can be trusted. */
function onUnreadable(step: ControlStep, reason: string): void {
  const { ending } = step.state;
  step.update({ isOpen: false, queue: [] });
  if (ending === undefined) {
    endSession(step, { kind: "unreadable", reason });
  } else if (ending.kind === "renewed") {
    // No other child replaces this one.
    step.update({ ending: { kind: "unreadable", reason } });
  }
}

/** Receives the options of a caller who takes a warm child, before the session has any message. */
function onTerms(step: ControlStep, terms: LateTerms): void {
  const { idleTimeoutMs: _, caller, ...options } = step.state.options;
  const { initializedBy: id, idleTimeoutMs } = terms;
  const initialized = id === undefined || caller === undefined
    ? caller
    : { ...caller, initialized: { ...caller.initialized, id } };
  step.update({
    options: {
      ...options,
      ...limitsOf(terms),
      ...(initialized === undefined ? {} : { caller: initialized }),
    },
  });
  step.emit(deadline("silence", idleTimeoutMs));
}

/** Receives a line of a subagent's transcript. */
function onSubagentLine(step: ControlStep, line: SubagentLine): void {
  const { entry, subagent: { agentId, toolUseId } } = line;
  recordShell(step, line);
  step.replace(deferLine(step.state, entry, { agentId }));
  if (toolUseId !== undefined) recordTasks(step, entry);
}

/** Receives the child's terminal output: answers its queries, and looks for the echo of a paste. */
function onTerminal(step: ControlStep, { bytes, at }: InputOf<"terminal">): void {
  const { phase, scanner: scannerBefore, firstOutputAt, isReady, hasPromptLine, status, options } =
    step.state;
  // Only queries matter, unless a paste has to be seen.
  const only = phase === "pasted" ? undefined : PROBE_FINAL;
  const { state: scanner, tokens } = scanTerminal(scannerBefore, bytes, { only });
  const replies = answerProbes(tokens);
  if (replies !== "") step.emit(write(replies));
  if (firstOutputAt === undefined && !isReady) {
    step.emit(deadline("start", options.startTimeoutMs));
  }
  // A child that draws is working on its prompt, although its status may come seconds later on a busy machine.
  if (phase === "working" && hasPromptLine && status?.status === "idle") step.emit(idleDeadline());
  step.update({ scanner, firstOutputAt: firstOutputAt ?? at });
  if (phase === "starting" && status === undefined) {
    step.update({ written: withWritten(step.state.written, bytes) });
    step.emit(startLookDeadline(step.state));
  } else if (phase === "pasted") {
    lookForPaste(step, tokens);
  }
  recordDrawing(step);
}

/** Looks for a paste in new output. */
function lookForPaste(step: ControlStep, tokens: readonly TerminalToken[]): void {
  for (const token of tokens) {
    if (token.kind !== "text") continue;
    const { state } = step;
    if (state.phase !== "pasted") return;
    const { pasting } = state;
    const echo = seePasted(step, { visible: token.bytes, pasting, echo: state.echo });
    if (echo !== undefined) step.update({ echo });
  }
}
