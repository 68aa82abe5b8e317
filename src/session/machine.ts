import { type Choice, type Dialog, keysFor, readChoices, recogniseDialog } from "./dialogs.ts";
import type { Effect, Ending } from "./effect.ts";
import type { DeadlineName, Exit, HookPayload, Input, TranscriptSign } from "./input.ts";
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
/** Bound on keys in dialogs: no known one needs more. */
const MAX_DIALOG_KEYS = 20;
/** How long a paste may stay unseen before the screen is looked at. */
const ECHO_MS = 3000;
/** Time after which Enter is pressed again when UserPromptSubmit has not come; an Enter too many is harmless. */
const ENTER_AGAIN_MS = 600;
/** How long a child may be idle without a hook before the turn counts as over. */
const IDLE_MS = 3000;
/** How long the idle status may take after Stop when another Stop hook might go on. */
const SETTLE_MS = 10_000;
/**
 * How long it may take otherwise: the child is idle 24 to 66 ms after Stop, and only then has 2.1.197 recorded the
 * answer. A SIGTERM before that loses it on a busy machine, in 4 of 40 runs after Stop and 13 of 40 after StopFailure.
 */
const RECORD_MS = 2000;
/** How long the child may take to go after SIGTERM; 2.1.330 takes up to 1.6 s with tasks in the background. */
const EXIT_MS = 5000;
/** How long the child may take to go after SIGKILL. */
const KILLED_MS = 2000;
/** After so many signals the child is given up: it hangs in the kernel. */
const MAX_KILLS = 4;

/** Takes one input and says what is to be done: no clock, no file, no environment is read here. */
export function step(state: SessionState, input: Input): Step {
  if (state.phase === "ended") return stay(state);
  switch (input.type) {
    case "spawned":
      return then(state, [
        deadline("timeout", state.options.timeoutMs),
        deadline("start", state.options.startTimeoutMs),
      ]);
    case "terminal":
      return onTerminal(state, input.bytes);
    case "hook":
      return onHook(state, input.event, input.payload);
    case "status":
      return onStatus(state, input);
    case "transcript":
      return onTranscript(state, input.entry);
    case "screen":
      return onScreen(state, input);
    case "signal":
      if (state.phase !== "ending") {
        return end(state, announced(state) ?? { kind: "interrupted", signal: input.signal });
      }
      // A second signal means now; teardown after any other ending is bounded and goes on.
      return state.ending?.kind === "interrupted" ? kill(state, "SIGKILL") : stay(state);
    case "deadline":
      return onDeadline(state, input.name);
    case "exit":
      return onExit(state, input.exit);
    default:
      return input satisfies never;
  }
}

function onTerminal(state: SessionState, bytes: Uint8Array): Step {
  const { state: scanner, tokens } = scanTerminal(state.scanner, bytes);
  const effects: Effect[] = [];
  const cursor = state.screen?.screen.cursor;
  const replies = answerProbes(tokens, {
    size: state.options.size,
    ...(cursor === undefined ? {} : { cursor }),
  });
  if (replies !== "") effects.push(write(replies));
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
    { type: "trace", text: "Enter pressed" },
  ]);
}

function onHook(state: SessionState, event: string, payload: HookPayload): Step {
  if (state.phase === "ending") return stay(state);
  const trace: Effect = { type: "trace", text: `hook ${event}` };
  switch (event) {
    case "Stop": {
      if (!isSubmitted(state)) return then(state, [trace]);
      // With tasks in the background another turn follows, and another Stop.
      if (Array.isArray(payload["background_tasks"]) && payload["background_tasks"].length > 0) {
        const working = began({ ...state, background: true });
        return then(working.state, [trace, ...working.effects]);
      }
      return then({ ...state, phase: "settling", stop: payload }, settle(state, trace));
    }
    case "StopFailure":
      return then({ ...state, phase: "settling", failure: payload }, settle(state, trace));
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
      const next = event === "SessionStart" ? stay(state) : began(state);
      return then(next.state, [trace, ...next.effects]);
    }
  }
}

/** What is waited for once a hook has announced the end. */
function settle(state: SessionState, trace: Effect): readonly Effect[] {
  return [
    trace,
    deadline("start"),
    deadline("look"),
    deadline("idle"),
    deadline("settle", state.options.otherStopHooks ? SETTLE_MS : RECORD_MS),
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
  const { stop: _, failure: __, ...rest } = state;
  return then({ ...rest, phase: "working" }, [
    deadline("start"),
    deadline("look"),
    deadline("echo"),
    deadline("enter"),
    deadline("idle"),
    deadline("settle"),
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
  const trace: Effect = {
    type: "trace",
    text: `status ${status}${waitingFor === undefined ? "" : ` (${waitingFor})`}`,
  };
  switch (status) {
    case "busy": {
      // While settling, busy is what the child still is: only idle, or another hook of the turn, decides.
      if (state.phase === "settling" || state.options.inject === "paste") {
        return then(next, [trace, deadline("idle")]);
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
      return then(next, [
        trace,
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

function onTranscript(state: SessionState, entry: TranscriptSign): Step {
  if (!entry.prompt || state.phase === "ending") return stay(state);
  const recorded: SessionState = { ...state, recorded: true };
  if (state.phase === "settling") {
    const settled = state.status?.status === "idle" ? settledEnding(state) : undefined;
    return settled === undefined ? stay(recorded) : end(recorded, settled);
  }
  const next = began({ ...recorded, prompted: true });
  // A child that stays idle with the prompt in its transcript carried it out by itself, without the model.
  const idle = state.status?.status === "idle" ? [deadline("idle", IDLE_MS)] : [];
  return then(next.state, [...next.effects, ...idle]);
}

function onScreen(
  state: SessionState,
  { at, screen }: { readonly at: number; readonly screen: Screen },
): Step {
  if (state.phase === "ending") return stay(state);
  const text = compactText(screen);
  const since = state.screen?.text === text ? state.screen.since : at;
  const next: SessionState = { ...state, screen: { screen, text, since } };
  const dialog = recogniseDialog(screen);
  const choices = readChoices(screen);
  if (dialog !== undefined) return answerDialog(next, { dialog, choices, waited: at - since });
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
  { dialog, choices, waited }: {
    readonly dialog: Dialog;
    readonly choices: readonly Choice[];
    readonly waited: number;
  },
): Step {
  const screen = state.screen?.screen as Screen;
  const keys = keysFor(dialog, choices);
  if (keys === undefined) {
    // A dialog that is still being drawn has no caret yet.
    return dialog.choose !== undefined && waited < UNKNOWN_DIALOG_MS
      ? then(state, [deadline("look", DIALOG_LOOK_MS)])
      : end(state, { kind: "dialog", name: dialog.name, screen });
  }
  if (state.dialogKeys >= MAX_DIALOG_KEYS) {
    return end(state, { kind: "dialog", name: dialog.name, screen });
  }
  return then({ ...state, dialogKeys: state.dialogKeys + 1 }, [
    write(keys),
    deadline("look", DIALOG_LOOK_MS),
    { type: "trace", text: `dialog "${dialog.name}": ${JSON.stringify(keys)}` },
  ]);
}

function onDeadline(state: SessionState, name: DeadlineName): Step {
  if (name === "exit") return state.phase === "ending" ? kill(state, "SIGKILL") : stay(state);
  if (state.phase === "ending") return stay(state);
  switch (name) {
    case "timeout":
      return end(state, announced(state) ?? { kind: "timeout" });
    case "start":
      return end(state, { kind: "not-started", silent: !state.heard });
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
      // A prompt that was never taken stays with the start deadline, unless it is a command of Claude Code's own.
      return state.prompted || isCommand(state.options.prompt)
        ? end(state, { kind: "idle", prompted: state.prompted })
        : stay(state);
    case "settle": {
      const settled = state.phase === "settling" ? settledEnding(state) : undefined;
      return settled === undefined ? stay(state) : end(state, settled);
    }
    default:
      return name satisfies never;
  }
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
function settledEnding({ stop, failure }: SessionState): Ending | undefined {
  if (stop !== undefined) return { kind: "answered", stop };
  return failure === undefined ? undefined : { kind: "failed", failure };
}

/** The ending that nothing can change any more, though the child is not idle yet. */
function announced(state: SessionState): Ending | undefined {
  return state.phase === "settling" && !state.options.otherStopHooks
    ? settledEnding(state)
    : undefined;
}

/** Fixes the ending and tells the child to go. */
function end(state: SessionState, ending: Ending): Step {
  const settled: readonly DeadlineName[] = [
    "timeout",
    "start",
    "look",
    "echo",
    "enter",
    "idle",
    "settle",
  ];
  const killed = kill({ ...state, phase: "ending", ending }, "SIGTERM");
  return then(killed.state, [
    { type: "trace", text: `ending: ${ending.kind}` },
    ...settled.map((name) => deadline(name)),
    ...killed.effects,
  ]);
}

/** The child's tools die with it unless the turn ended by itself: what `claude -p` leaves running stays too. */
function kill(state: SessionState, signal: "SIGTERM" | "SIGKILL"): Step {
  if (state.kills >= MAX_KILLS) {
    const ending = state.ending as Ending;
    return then({ ...state, phase: "ended" }, [{ type: "end", ending }]);
  }
  const kind = state.ending?.kind;
  const tree = signal === "SIGKILL" || (kind !== "answered" && kind !== "failed");
  const kills = state.kills + 1;
  return then({ ...state, kills }, [
    { type: "kill", signal, tree },
    deadline("exit", signal === "SIGTERM" ? EXIT_MS : KILLED_MS),
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
