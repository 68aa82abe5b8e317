import {
  backgroundTasksOf,
  backgroundWaitMs,
  DEFAULT_BACKGROUND_CEILING_MS,
  isShellsOnly,
} from "./background_wait.ts";
import { type Choice, readChoices } from "./choices.ts";
import { type Dialog, keysFor, recogniseDialog } from "./dialogs.ts";
import type { Effect, Ending } from "./effect.ts";
import type {
  DeadlineName,
  Exit,
  HookPayload,
  Input,
  StopSignal,
  TranscriptSign,
} from "./input.ts";
import { ECHO_START, encodePaste, ENTER, PASTE_MODE, seeEcho } from "./paste.ts";
import { answerProbes } from "./probes.ts";
import { compactText, isBlank, type Screen } from "./screen.ts";
import type { SessionState } from "./session_state.ts";
import { scanTerminal } from "./terminal_scanner.ts";

/** A state and what is to be done because of it. */
export interface Step {
  readonly state: SessionState;
  readonly effects: readonly Effect[];
}

/** Quiet time after which a child that has not begun its turn is looked at. Keys are dropped by 2.1.269 before 150 ms of quiet. */
const QUIET_MS = 600;
/** Time between a key in a dialog and the next look at it. */
const DIALOG_LOOK_MS = 300;
/** How long a screen with choices may stand unrecognised before it ends the run. */
const UNKNOWN_DIALOG_MS = 3000;
/** How long a key may show no effect before it is pressed again: a second one in haste would hit the dialog that follows. */
const KEY_AGAIN_MS = 2000;
/** Bound on keys in dialogs: no known one needs more. */
const MAX_DIALOG_KEYS = 20;
/** How long a paste may stay unseen before the screen is looked at. */
const ECHO_MS = 3000;
/** Time after which Enter is pressed again when UserPromptSubmit has not come; an Enter too many is harmless. */
const ENTER_AGAIN_MS = 600;
/** How long a child may be idle without a hook before the turn counts as over. */
const IDLE_MS = 3000;
/** How long the child may take to put down what it is at after Escape: 2.1.197 and 2.1.330 take 0.1 s. */
const INTERRUPT_MS = 1000;
/** How long a stopped answer may take to get into the transcript: lines are held back for 0.1 s. */
const RECORDED_MS = 300;
/** The key with which a person stops a turn. */
const ESCAPE = "\x1b";
/**
 * How long the idle status may take after Stop unless another Stop hook might go on: the child is idle 24 to 66 ms after Stop, and only then has 2.1.197 recorded the
 * answer. A SIGTERM before that loses it on a busy machine, in 4 of 40 runs after Stop and 13 of 40 after StopFailure.
 */
const RECORD_MS = 2000;
/**
 * How long the child may take to go after SIGTERM when somebody waits for this program to stop. 2.1.330 takes up to
 * 1.6 s with tasks in the background; all that a SIGKILL loses then is the cost.
 */
const HURRIED_EXIT_MS = 1500;
/** How long the child may take to go after SIGKILL. */
const KILLED_MS = 2000;
/** After so many signals the child is given up: it hangs in the kernel. */
const MAX_KILLS = 4;

/** Takes one input and says what is to be done: no clock, no file, no environment is read here. */
export function step(state: SessionState, input: Input): Step {
  if (state.phase === "ended") return stay(state);
  switch (input.type) {
    case "spawned":
      return then({ ...state, lifeAt: input.at }, [
        deadline("timeout", state.options.timeoutMs),
        deadline("start", state.options.startTimeoutMs),
        deadline("silence", state.options.idleTimeoutMs),
      ]);
    case "terminal":
      return onTerminal(alive(state, input), input.bytes);
    case "hook":
      return onHook(alive(state, input), input.event, input.payload);
    case "unheard":
      return state.phase === "ending" || state.phase === "interrupting"
        ? stay(state)
        : interrupt(state, announced(state) ?? { kind: "unheard" });
    case "status":
      return onStatus(alive(state, input), input);
    case "transcript":
      return onTranscript(alive(state, input), input.entry);
    case "screen":
      return onScreen(state, input);
    case "signal":
      return onSignal(state, input.signal);
    case "resized":
      return then({ ...state, size: input.size }, [{ type: "resize", size: input.size }]);
    case "deadline":
      return onDeadline(state, input);
    case "exit":
      return onExit(state, input.exit);
    default:
      return input satisfies never;
  }
}

/** A sign of life, which the `silence` deadline looks at when it fires. */
function alive(state: SessionState, { at }: { readonly at: number }): SessionState {
  return { ...state, lifeAt: at };
}

function onSignal(state: SessionState, signal: StopSignal): Step {
  switch (state.phase) {
    case "interrupting": {
      // A second signal means now.
      const ending = state.ending ?? { kind: "interrupted", signal };
      const killed = kill({ ...state, phase: "ending", ending }, "SIGKILL");
      return then(killed.state, [...settled(), ...killed.effects]);
    }
    case "ending":
      // Teardown after any other ending is bounded and goes on.
      return state.ending?.kind === "interrupted" ? kill(state, "SIGKILL") : stay(state);
    default:
      return interrupt(state, announced(state) ?? { kind: "interrupted", signal });
  }
}

/** Ends a turn under way as a person would, so that its text so far gets into the transcript. */
function interrupt(state: SessionState, ending: Ending): Step {
  const underWay = state.phase === "working" && state.status?.status !== "idle";
  if (!underWay) return end(state, ending);
  return then({ ...state, phase: "interrupting", ending }, [
    ...settled(),
    write(ESCAPE),
    deadline("interrupt", INTERRUPT_MS),
    { type: "trace", text: `${ending.kind}: Escape pressed` },
  ]);
}

function onTerminal(state: SessionState, bytes: Uint8Array): Step {
  const { state: scanner, tokens } = scanTerminal(state.scanner, bytes);
  const effects: Effect[] = [];
  const cursor = state.screen?.screen.cursor;
  const replies = answerProbes(tokens, {
    size: state.size,
    ...(cursor === undefined ? {} : { cursor }),
  });
  if (replies !== "") effects.push(write(replies));
  if (!state.heard && !state.ready) {
    effects.push(deadline("start", state.options.startTimeoutMs));
  }
  let next: SessionState = { ...state, scanner, heard: true };
  if (next.phase === "starting") {
    if (next.status === undefined) effects.push(deadline("look", QUIET_MS));
    const ready = tokens.some((token) =>
      token.kind === "csi" && token.final === "h" && token.parameters.startsWith(PASTE_MODE)
    );
    if (ready && next.options.inject === "paste") {
      next = { ...next, phase: "pasted" };
      effects.push({ type: "write", bytes: encodePaste(next.options.prompt) });
      effects.push(deadline("look"), deadline("echo", ECHO_MS));
      effects.push({ type: "trace", text: "prompt pasted" });
    }
  } else if (next.phase === "pasted") {
    for (const token of tokens) {
      if (token.kind !== "text" || next.phase !== "pasted") continue;
      const { state: echo, echoed } = seeEcho(next.echo, {
        visible: token.bytes,
        prompt: next.options.prompt,
      });
      next = { ...next, echo };
      if (echoed) {
        const entered = enter(next);
        next = entered.state;
        effects.push(...entered.effects);
      }
    }
  }
  return then(next, effects);
}

function enter(state: SessionState): Step {
  return then({ ...state, phase: "entered" }, [
    { type: "write", bytes: ENTER },
    deadline("echo"),
    deadline("enter", ENTER_AGAIN_MS),
    ...extendDelivery(state),
    { type: "trace", text: "Enter pressed" },
  ]);
}

/** The child can take a prompt: what is awaited now is that it does. */
function ready(state: SessionState): Step {
  return then({ ...state, ready: true }, [deadline("start"), ...extendDelivery(state)]);
}

/** A dialog that is on its way out gives the rest of the start its whole time again. */
function extendStart(state: SessionState): readonly Effect[] {
  return isWaiting(state) && !state.ready
    ? [deadline("start", state.options.startTimeoutMs)]
    : extendDelivery(state);
}

function extendDelivery(state: SessionState): readonly Effect[] {
  return isWaiting(state) ? [deadline("delivery", state.options.deliveryTimeoutMs)] : [];
}

/** Whether the turn has not begun yet. */
function isWaiting({ phase }: SessionState): boolean {
  return phase === "starting" || phase === "pasted" || phase === "entered";
}

function onHook(state: SessionState, event: string, payload: HookPayload): Step {
  if (state.phase === "ending") return stay(state);
  if (state.phase === "interrupting") {
    // The turn was over before Escape arrived, or because of it.
    return event === "Stop" || event === "StopFailure"
      ? end(state, state.ending as Ending)
      : stay(state);
  }
  const trace: Effect = { type: "trace", text: `hook ${event}` };
  switch (event) {
    case "Stop": {
      if (!isSubmitted(state)) return then(state, [trace]);
      // With tasks in the background another turn follows, and another Stop.
      if (backgroundTasksOf(payload).length > 0) {
        const working = began({ ...state, background: true, backgroundStop: payload });
        return then(working.state, [trace, ...working.effects]);
      }
      return then(
        { ...state, phase: "settling", stop: payload, background: false },
        settle(state, trace),
      );
    }
    case "StopFailure":
      return then({ ...state, phase: "settling", failure: payload }, settle(state, trace));
    case "PostToolBatch":
      // Only the call that stops the turn is announced, and no Stop follows it.
      return then({ ...state, phase: "settling", limited: true }, settle(state, trace));
    case "UserPromptSubmit": {
      const taken = payload["prompt"];
      // Later ones announce tasks that ended in the background.
      if (!state.prompted && typeof taken === "string" && taken !== state.options.prompt) {
        const ended = end(state, { kind: "undelivered", taken });
        return then(ended.state, [trace, ...ended.effects]);
      }
      const next = began({ ...state, prompted: true, background: false });
      return then(next.state, [trace, ...next.effects]);
    }
    default: {
      // Any hook of the turn proves that it is under way; SessionStart comes before it.
      const next = event === "SessionStart" ? ready(state) : began(state);
      return then(next.state, [trace, ...next.effects]);
    }
  }
}

/** What is waited for once a hook has announced the end. */
function settle(state: SessionState, trace: Effect): readonly Effect[] {
  return [
    trace,
    deadline("start"),
    deadline("delivery"),
    deadline("look"),
    deadline("idle"),
    deadline(
      "drain",
      state.options.otherStopHooks
        ? state.options.drainTimeoutMs
        : Math.min(state.options.drainTimeoutMs, RECORD_MS),
    ),
  ];
}

/** Whether a prompt can have reached the child: a Stop before that is not this turn's. */
function isSubmitted(state: SessionState): boolean {
  return state.options.inject === "stdin" || state.phase === "entered" ||
    state.phase === "working" ||
    state.phase === "settling";
}

/** The turn is under way; from `settling` too, when another Stop hook made the assistant go on. */
function began(state: SessionState): Step {
  if (state.phase === "working" || state.phase === "ending") return stay(state);
  const { stop: _, failure: __, limited: ___, ...rest } = state;
  return then({ ...rest, phase: "working", ready: true, completed: false }, [
    deadline("start"),
    deadline("delivery"),
    deadline("look"),
    deadline("echo"),
    deadline("enter"),
    deadline("idle"),
    deadline("drain"),
  ]);
}

function onStatus(
  state: SessionState,
  { status, waitingFor }: { readonly status: string; readonly waitingFor?: string },
): Step {
  const next: SessionState = {
    ...state,
    status: { status, ...(waitingFor === undefined ? {} : { waitingFor }) },
  };
  if (state.phase === "ending") return stay(next);
  if (state.phase === "interrupting") {
    // What there was of an answer gets into the transcript a moment after the child is idle.
    return then(next, status === "busy" ? [] : [deadline("interrupt", RECORDED_MS)]);
  }
  const trace: Effect = {
    type: "trace",
    text: `status ${status}${waitingFor === undefined ? "" : ` (${waitingFor})`}`,
  };
  switch (status) {
    case "busy": {
      // While settling, busy is what the child still is: only idle, or another hook of the turn, decides.
      if (state.phase === "settling" || state.options.inject === "paste") {
        const taken = ready(next);
        return then(taken.state, [trace, ...taken.effects, deadline("idle")]);
      }
      const working = began(next);
      // A permission that a hook denied made the child wait for a moment: nothing to look at any more.
      return then(working.state, [trace, ...working.effects, deadline("idle"), deadline("look")]);
    }
    case "idle": {
      if (state.phase === "settling") {
        const settled = settledEnding(state);
        if (settled === undefined || !isOnRecord(state)) return then(next, [trace]);
        const ended = end(next, settled);
        return then(ended.state, [trace, ...ended.effects]);
      }
      // The input box is there, so no start-up dialog is in the way.
      const usable = ready(next);
      return then(usable.state, [
        trace,
        ...usable.effects,
        deadline("look"),
        ...(isSubmitted(next) ? [deadline("idle", IDLE_MS)] : []),
      ]);
    }
    case "waiting":
      // A failed request may put a menu on the screen, as a rate limit does: nobody has to choose any more.
      return state.phase === "settling" && state.failure !== undefined
        ? end(next, { kind: "failed", failure: state.failure })
        : then(next, [trace, deadline("idle"), deadline("look", QUIET_MS)]);
    default:
      return then(next, [trace]);
  }
}

function onTranscript(before: SessionState, entry: TranscriptSign): Step {
  const { called = [], returned = [] } = entry;
  const tools = new Set([...before.tools, ...called]);
  for (const id of returned) tools.delete(id);
  const state: SessionState = {
    ...before,
    tools,
    completed: entry.end === "completed" || (before.completed && entry.type === "system"),
    ...(entry.shellLimitMs === undefined
      ? {}
      : { shellLimitMs: Math.max(entry.shellLimitMs, before.shellLimitMs ?? 0) }),
  };
  if (state.phase === "ending") return stay(state);
  if (state.phase === "interrupting") {
    return entry.end === undefined ? stay(state) : end(state, state.ending as Ending);
  }
  if (entry.end === "completed" && state.background) {
    return awaitBackground(state, entry.version ?? "");
  }
  if (!entry.prompt || entry.end !== undefined) return stay(state);
  const recorded: SessionState = { ...state, recorded: true };
  if (state.phase === "settling") {
    const settled = state.status?.status === "idle" ? settledEnding(state) : undefined;
    return settled === undefined ? stay(recorded) : end(recorded, settled);
  }
  const next = began({ ...recorded, prompted: true });
  // A child that stays idle with the prompt in its transcript carried it out by itself, without the model.
  const idle = state.status?.status === "idle" ? [deadline("idle", IDLE_MS)] : [];
  // The end of a task starts a turn; the first prompt may be written late, by 2.1.168 and 2.1.197.
  const turn = state.recorded ? [deadline("background")] : [];
  return then(next.state, [...next.effects, ...idle, ...turn]);
}

/**
 * Bounds the wait for background tasks once the transcript says that the turn is over: the order of its lines tells a
 * turn's own prompt from the next one, which the time of the Stop hook does not.
 */
function awaitBackground(state: SessionState, version: string): Step {
  const { backgroundStop = {}, shellsOnlySince: since, ...rest } = state;
  const tasks = backgroundTasksOf(backgroundStop);
  const shellsOnlySince = isShellsOnly(tasks) ? since ?? state.lifeAt : undefined;
  const waitMs = backgroundWaitMs({
    tasks,
    version,
    ceilingMs: state.options.backgroundCeilingMs ?? DEFAULT_BACKGROUND_CEILING_MS,
    shellLimitMs: state.shellLimitMs,
    shellsOnlyMs: shellsOnlySince === undefined ? 0 : state.lifeAt - shellsOnlySince,
  });
  return then({
    ...rest,
    backgroundStop,
    ...(shellsOnlySince === undefined ? {} : { shellsOnlySince }),
  }, [deadline("background", waitMs)]);
}

function onScreen(
  state: SessionState,
  { at, screen }: { readonly at: number; readonly screen: Screen },
): Step {
  if (state.phase === "ending" || state.phase === "interrupting") return stay(state);
  const dialog = recogniseDialog(screen, { when: state.status === undefined ? "start" : "later" });
  const choices = readChoices(screen);
  const text = compactText(screen);
  // What stands above a dialog may blink on, as a tool's name does in 2.1.168 and 2.1.197.
  const asks = choices.length > 0 ? JSON.stringify([dialog?.name, choices]) : text;
  const since = state.screen?.asks === asks ? state.screen.since : at;
  const next: SessionState = { ...state, screen: { screen, asks, since } };
  if (dialog !== undefined && mayBeDialog(next)) return answerDialog(next, { at, dialog, choices });
  if (choices.length > 0 && mayBeDialog(next)) {
    return at - since >= UNKNOWN_DIALOG_MS
      ? end(next, { kind: "dialog", screen })
      : then(next, [deadline("look", DIALOG_LOOK_MS)]);
  }
  if (next.phase === "pasted") {
    const { echoed } = seeEcho(ECHO_START, {
      visible: new TextEncoder().encode(text),
      prompt: next.options.prompt,
    });
    return echoed ? enter(next) : end(next, { kind: "undelivered" });
  }
  if (next.phase === "starting" && next.status === undefined) {
    return then(next, [deadline("look", QUIET_MS)]);
  }
  if (next.status?.status === "waiting") {
    return at - since >= UNKNOWN_DIALOG_MS && !isBlank(screen)
      ? end(next, { kind: "dialog", screen })
      : then(next, [deadline("look", QUIET_MS)]);
  }
  return stay(next);
}

/** Choices on the screen are a dialog unless the child says it is idle or busy: a reply may look like a list. */
function mayBeDialog(state: SessionState): boolean {
  return state.status === undefined || state.status.status === "waiting";
}

function answerDialog(
  state: SessionState,
  { at, dialog, choices }: {
    readonly at: number;
    readonly dialog: Dialog;
    readonly choices: readonly Choice[];
  },
): Step {
  const { screen, since } = state.screen as NonNullable<SessionState["screen"]>;
  const patienceMs = (dialog.patienceMs ?? 0) - (at - since);
  if (patienceMs > 0) return then(state, [deadline("look", patienceMs)]);
  const keys = keysFor(dialog, choices);
  if (keys === undefined || state.dialogKeys >= MAX_DIALOG_KEYS) {
    return end(state, { kind: "dialog", name: dialog.name, screen });
  }
  const { keyAt } = state;
  const reacted = keyAt === undefined || since > keyAt;
  if (!reacted && at - keyAt < KEY_AGAIN_MS) {
    return then(state, [deadline("look", DIALOG_LOOK_MS)]);
  }
  return then({ ...state, dialogKeys: state.dialogKeys + 1, keyAt: at }, [
    write(keys),
    deadline("look", DIALOG_LOOK_MS),
    ...(reacted ? extendStart(state) : []),
    { type: "trace", text: `dialog "${dialog.name}": ${JSON.stringify(keys)}` },
  ]);
}

function onDeadline(
  state: SessionState,
  { name, at }: { readonly name: DeadlineName; readonly at: number },
): Step {
  if (name === "exit") return state.phase === "ending" ? kill(state, "SIGKILL") : stay(state);
  if (state.phase === "ending") return stay(state);
  switch (name) {
    case "timeout":
      return interrupt(state, announced(state) ?? { kind: "timeout" });
    case "start":
      return end(state, { kind: "not-started", silent: !state.heard });
    case "delivery":
      return end(state, { kind: "not-taken" });
    case "silence":
      return onSilence(state, at);
    case "interrupt":
      return state.phase === "interrupting" ? end(state, state.ending as Ending) : stay(state);
    case "look":
    case "echo":
      return then(state, [{ type: "look" }]);
    case "enter":
      return state.phase === "entered"
        ? then(state, [
          { type: "write", bytes: ENTER },
          deadline("enter", ENTER_AGAIN_MS),
          { type: "trace", text: "Enter pressed again" },
        ])
        : stay(state);
    case "idle":
      if (state.background) return stay(state);
      // The transcript knows of an end that no hook could tell, as when the FIFO is gone.
      if (state.completed) return end(state, { kind: "answered", stop: {} });
      // A prompt that was never taken stays with the start deadline, unless it is a command of Claude Code's own.
      return state.prompted || isCommand(state.options.prompt)
        ? end(state, { kind: "idle", prompted: state.prompted })
        : stay(state);
    case "background": {
      const { background, backgroundStop: stop } = state;
      return state.phase === "working" && background && stop !== undefined
        ? end(state, { kind: "answered", stop, unfinished: backgroundTasksOf(stop) })
        : stay(state);
    }
    case "drain": {
      const settled = state.phase === "settling" ? settledEnding(state) : undefined;
      return settled === undefined ? stay(state) : end(state, settled);
    }
    default:
      return name satisfies never;
  }
}

/** A tool at work, or a task in the background, is not silence, however long it takes. */
function onSilence(state: SessionState, at: number): Step {
  const { idleTimeoutMs } = state.options;
  if (idleTimeoutMs === undefined) return stay(state);
  const busy = state.tools.size > 0 || state.background;
  const quietMs = busy ? 0 : at - state.lifeAt;
  return quietMs < idleTimeoutMs
    ? then(state, [deadline("silence", idleTimeoutMs - quietMs)])
    : interrupt(state, announced(state) ?? { kind: "silent" });
}

/** Whether Claude Code may carry a prompt out by itself: 2.1.330 skips white space before the slash. */
function isCommand(prompt: string): boolean {
  return prompt.trimStart().startsWith("/");
}

function onExit(state: SessionState, exit: Exit): Step {
  // A Stop that still waited for the idle status was the last one after all.
  const ending: Ending = state.ending ?? settledEnding(state) ?? { kind: "exited", exit };
  return then({ ...state, phase: "ended", ending }, [{ type: "end", ending, exit }]);
}

/** Whether nothing would be lost if an idle child ended now. */
function isOnRecord(state: SessionState): boolean {
  return state.recorded || !state.options.forked;
}

/** The ending a hook has announced, if one is only waiting to be carried out. */
function settledEnding({ stop, failure, limited }: SessionState): Ending | undefined {
  if (stop !== undefined) return { kind: "answered", stop };
  if (failure !== undefined) return { kind: "failed", failure };
  return limited === undefined ? undefined : { kind: "max-turns" };
}

/** The ending that nothing can change any more, though the child is not idle yet. */
function announced(state: SessionState): Ending | undefined {
  return state.phase === "settling" && !state.options.otherStopHooks
    ? settledEnding(state)
    : undefined;
}

/** Fixes the ending and tells the child to go. */
function end(state: SessionState, ending: Ending): Step {
  const killed = kill({ ...state, phase: "ending", ending }, "SIGTERM");
  return then(killed.state, [
    { type: "trace", text: `ending: ${ending.kind}` },
    ...settled(),
    ...killed.effects,
  ]);
}

/** Nothing of what was awaited matters any more. */
function settled(): readonly Effect[] {
  const names: readonly DeadlineName[] = [
    "timeout",
    "start",
    "delivery",
    "silence",
    "drain",
    "look",
    "echo",
    "enter",
    "idle",
    "interrupt",
    "background",
  ];
  return names.map((name) => deadline(name));
}

/** The child's tools die with it unless the turn ended by itself: what `claude -p` leaves running stays too. */
function kill(state: SessionState, signal: "SIGTERM" | "SIGKILL"): Step {
  if (state.kills >= MAX_KILLS) {
    const ending = state.ending as Ending;
    return then({ ...state, phase: "ended" }, [{ type: "end", ending }]);
  }
  const kind = state.ending?.kind;
  const unfinished = state.ending?.kind === "answered" && state.ending.unfinished !== undefined;
  const tree = signal === "SIGKILL" || unfinished ||
    (kind !== "answered" && kind !== "failed" && kind !== "max-turns");
  const kills = state.kills + 1;
  const { exitTimeoutMs } = state.options;
  const patience = kind === "interrupted"
    ? Math.min(exitTimeoutMs, HURRIED_EXIT_MS)
    : exitTimeoutMs;
  return then({ ...state, kills }, [
    { type: "kill", signal, tree },
    deadline("exit", signal === "SIGTERM" ? patience : KILLED_MS),
  ]);
}

function deadline(name: DeadlineName, afterMs?: number): Effect {
  return { type: "deadline", name, ...(afterMs === undefined ? {} : { afterMs }) };
}

function write(keys: string): Effect {
  return { type: "write", bytes: new TextEncoder().encode(keys) };
}

function then(state: SessionState, effects: readonly Effect[]): Step {
  return { state, effects };
}

function stay(state: SessionState): Step {
  return then(state, []);
}
