import { AGENTS, allowedOnScreen } from "../protocol/questions/allowed_calls.ts";
import { isAsking } from "../protocol/questions/deciding.ts";
import { withTold } from "../protocol/questions/told_calls.ts";
import { isInTasks, onTaskScreen } from "../protocol/requests/stopping.ts";
import { afterLook, awaitEcho, extendStart } from "./begin_turn.ts";
import { type Choice, editedAtCursor, readChoices } from "../terminal/choices.ts";
import { type Dialog, ESCAPE } from "../terminal/dialogs.ts";
import { keysFor, recogniseDialog } from "../terminal/recognise_dialog.ts";
import { end } from "./end_session.ts";
import { seePasted } from "./deliver.ts";
import { ECHO_START } from "../terminal/paste.ts";
import { compactText, isBlank, type Screen } from "../terminal/screen.ts";
import type { SessionState } from "./session_state.ts";
import { act, deadline, stay, type Step, write } from "./step.ts";
import { lookAtStart, lookWhenQuiet } from "./wait_times.ts";

/** Time between a key in a dialog and the next look at it. */
const DIALOG_LOOK_MS = 300;
/** How long a screen with choices may stand unrecognised before it ends the run. */
const UNKNOWN_DIALOG_MS = 3000;
/** How long a key may show no effect before it is pressed again: a second one in haste would hit the dialog that follows. */
const KEY_AGAIN_MS = 2000;
/** How long a paste may be missed on the screen, from the first look. */
const ECHO_PATIENCE_MS = 12_000;
/** Bound on keys in dialogs until the child is busy: no known ones need more. */
const MAX_DIALOG_KEYS = 20;

/**
 * What is done about a permission dialog whose call the caller has allowed. That answer takes it off the screen long
 * before, but for a rule in `permissions.ask`.
 */
const ALLOWED: Pick<Dialog, "answer" | "patienceMs"> = {
  answer: { kind: "choose", choice: /^Yes$/u },
  patienceMs: 1500,
};

/** The screen as a person would see it: a dialog, a paste, or nothing to do. */
export function onScreen(state: SessionState, seen: SeenScreen): Step {
  // A list is a dialog whose status may not have been told yet.
  const asks = state.status?.status === "waiting" || readChoices(seen.screen).length > 0;
  return afterLook(answerScreen(state, seen), { asks });
}

interface SeenScreen {
  readonly at: number;
  readonly screen: Screen;
}

function answerScreen(state: SessionState, { at, screen }: SeenScreen): Step {
  if (state.phase === "ending" || state.phase === "interrupting") return stay(state);
  if (isInTasks(state)) return onTaskScreen(state, screen);
  // A key would decide what the caller is asked.
  if (isAsking(state)) return stay(state);
  const dialog = recogniseDialog(screen, { when: state.status === undefined ? "start" : "later" });
  const choices = readChoices(screen);
  const text = compactText(screen);
  // What stands above a dialog may blink on, as a tool's name does.
  const allowed = dialog?.name === "permission" ? allowedOnScreen(state, screen) : undefined;
  const asks = choices.length > 0 ? JSON.stringify([dialog?.name, choices, allowed?.id]) : text;
  const since = state.screen?.asks === asks ? state.screen.since : at;
  const next: SessionState = { ...state, screen: { screen, asks, since } };
  if (dialog !== undefined && mayBeDialog(next)) {
    return answerDialog(next, {
      at,
      since,
      screen,
      dialog: allowed === undefined ? dialog : { ...dialog, ...ALLOWED },
      choices,
    });
  }
  if (choices.length > 0 && mayBeDialog(next)) {
    return at - since >= UNKNOWN_DIALOG_MS
      ? end(next, { kind: "dialog", screen })
      : act(next, [deadline("look", DIALOG_LOOK_MS)]);
  }
  if (next.phase === "pasted") {
    const visible = new TextEncoder().encode(text);
    const seen = seePasted(next, { visible, echo: ECHO_START });
    if (seen.next !== undefined) return seen.next;
    // A busy machine may draw it much later.
    const { missedSince = at } = next.echo;
    return at - missedSince < ECHO_PATIENCE_MS
      ? awaitEcho({ ...next, echo: { ...next.echo, missedSince } })
      : end(next, {
        kind: "undelivered",
        ...(next.pasting[0]?.kind === "image" ? { image: true } : {}),
      });
  }
  if (next.phase === "starting" && next.status === undefined) {
    return act(next, [lookAtStart(next)]);
  }
  if (next.status?.status === "waiting") {
    return at - since >= UNKNOWN_DIALOG_MS && !isBlank(screen)
      ? end(next, { kind: "dialog", screen })
      : act(next, [lookWhenQuiet()]);
  }
  return stay(next);
}

/** Choices on the screen are a dialog unless the child says it is idle or busy: a reply may look like a list. */
function mayBeDialog(state: SessionState): boolean {
  return state.status === undefined || state.status.status === "waiting";
}

function answerDialog(
  state: SessionState,
  { at, since, screen, dialog, choices }: {
    readonly at: number;
    readonly since: number;
    readonly screen: Screen;
    readonly dialog: Dialog;
    readonly choices: readonly Choice[];
  },
): Step {
  // Who else might answer has had the time before the choice was opened for words.
  const isOpened = editedAtCursor(screen) !== undefined;
  const patienceMs = (isOpened ? 0 : dialog.patienceMs ?? 0) - (at - since);
  if (patienceMs > 0) return act(state, [deadline("look", patienceMs)]);
  const isRefused = dialog.trusting !== undefined && state.options.needsTrust === true;
  const keys = isRefused
    ? undefined
    : dialog.alone && hasSeveralCalls(state)
    ? ESCAPE
    : keysFor(dialog, choices);
  if (keys === undefined || state.dialogKeys >= MAX_DIALOG_KEYS) {
    return end(state, { kind: "dialog", name: dialog.name, screen });
  }
  const { keyAt } = state;
  const reacted = keyAt === undefined || since > keyAt;
  if (!reacted && at - keyAt < KEY_AGAIN_MS) {
    return act(state, [deadline("look", DIALOG_LOOK_MS)]);
  }
  return act({ ...state, dialogKeys: state.dialogKeys + 1, keyAt: at }, [
    write(keys),
    deadline("look", DIALOG_LOOK_MS),
    ...(reacted ? extendStart(state) : []),
    { type: "trace", text: `dialog "${dialog.name}": ${JSON.stringify(keys)}` },
  ]);
}

/** Whether several calls are open, of which each may ask on the screen; an agent's own call asks no more. */
function hasSeveralCalls(state: SessionState): boolean {
  const { calls } = withTold(state);
  return calls.filter(({ name, returned }) => !returned && !AGENTS.includes(name)).length > 1;
}
