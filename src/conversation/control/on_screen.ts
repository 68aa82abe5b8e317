import { AGENT_TOOLS, findAllowedOnScreen } from "../protocol/questions/allowed_calls.ts";
import { isAsking } from "../protocol/questions/decide_permission.ts";
import { recordPrintedLines } from "../protocol/questions/printed_calls.ts";
import { isInTaskList, onTaskListScreen } from "../protocol/requests/background_calls.ts";
import { awaitEcho, enterAfterLook, extendStart } from "./begin_turn.ts";
import { type Choice, editedAtCursor, readChoices } from "../terminal/choices.ts";
import type { ControlStep } from "./control_step.ts";
import { type Dialog, ESCAPE } from "../terminal/dialogs.ts";
import { keysFor, recogniseDialog } from "../terminal/recognise_dialog.ts";
import { endSession } from "./end_session.ts";
import { seePasted } from "./deliver.ts";
import { deadline, write } from "./effect.ts";
import { ECHO_START, type EchoState } from "../terminal/paste.ts";
import type { PromptPart } from "./message.ts";
import { compactText, isBlank, type Screen } from "../terminal/screen.ts";
import type { SessionState } from "./session_state.ts";
import { lookDeadline, startLookDeadline } from "./wait_times.ts";

/** Time between a key in a dialog and the next look at the dialog, in milliseconds. */
const DIALOG_LOOK_MS = 300;
/** How long a screen with choices may stay unrecognised before it ends the run, in milliseconds. */
const UNKNOWN_DIALOG_MS = 3000;
/**
 * How long a key may have no effect before it is pressed again, in milliseconds. An early second key would hit the next
 * dialog.
 */
const KEY_AGAIN_MS = 2000;
/** How long a paste may be missing from the screen, in milliseconds from the first look. */
const ECHO_PATIENCE_MS = 12_000;
/** The maximum number of keys in dialogs until the child is busy. No known dialogs need more. */
const MAX_DIALOG_KEYS = 20;

/**
 * The answer to a permission dialog whose call the caller has allowed. The hook's answer usually closes the dialog long
 * before, unless a rule in `permissions.ask` has opened it.
 */
const ALLOWED: Pick<Dialog, "answer" | "patienceMs"> = {
  answer: { kind: "choose", choice: /^Yes$/u },
  patienceMs: 1500,
};

/** A screen as a person would see it. */
interface SeenScreen {
  readonly at: number;
  readonly screen: Screen;
}

/** A dialog on the screen. */
interface SeenDialog extends SeenScreen {
  readonly dialog: Dialog;
  readonly choices: readonly Choice[];
  /** When the dialog was first seen. */
  readonly since: number;
}

/** Receives a screen: answers a dialog on it, or looks for a paste. */
export function onScreen(step: ControlStep, seen: SeenScreen): void {
  // The status of a dialog may come later than the screen with its choices.
  const asks = step.state.status?.status === "waiting" || readChoices(seen.screen).length > 0;
  answerScreen(step, seen);
  enterAfterLook(step, { asks });
}

function answerScreen(step: ControlStep, { at, screen }: SeenScreen): void {
  const { phase, status, screen: before } = step.state;
  if (phase === "ending" || phase === "interrupting") return;
  if (isInTaskList(step.state)) {
    onTaskListScreen(step, screen);
    return;
  }
  // A key would answer the question that the caller is asked.
  if (isAsking(step.state)) return;
  const dialog = recogniseDialog(screen, { when: status === undefined ? "start" : "later" });
  const choices = readChoices(screen);
  const text = compactText(screen);
  // The text above a dialog may keep blinking, for example a tool's name.
  const allowed = dialog?.name === "permission"
    ? findAllowedOnScreen(step.state, screen)
    : undefined;
  const asks = choices.length > 0 ? JSON.stringify([dialog?.name, choices, allowed?.id]) : text;
  const since = before?.asks === asks ? before.since : at;
  step.update({ screen: { screen, asks, since } });
  if (mayBeDialog(step.state) && dialog !== undefined) {
    const answered = allowed === undefined ? dialog : { ...dialog, ...ALLOWED };
    answerDialog(step, { at, since, screen, dialog: answered, choices });
  } else if (mayBeDialog(step.state) && choices.length > 0) {
    if (at - since >= UNKNOWN_DIALOG_MS) endSession(step, { kind: "dialog", screen });
    else step.emit(deadline("look", DIALOG_LOOK_MS));
  } else if (step.state.phase === "pasted") {
    lookForPaste(step, { at, text, pasting: step.state.pasting, echo: step.state.echo });
  } else if (phase === "starting" && status === undefined) {
    step.emit(startLookDeadline(step.state));
  } else if (status?.status === "waiting") {
    if (at - since >= UNKNOWN_DIALOG_MS && !isBlank(screen)) {
      endSession(step, { kind: "dialog", screen });
    } else {
      step.emit(lookDeadline());
    }
  }
}

/** Looks for a paste on the whole screen. A busy machine may draw the paste much later. */
function lookForPaste(
  step: ControlStep,
  { at, text, pasting, echo }: {
    readonly at: number;
    readonly text: string;
    readonly pasting: readonly PromptPart[];
    readonly echo: EchoState;
  },
): void {
  const visible = new TextEncoder().encode(text);
  if (seePasted(step, { visible, pasting, echo: ECHO_START }) === undefined) return;
  const { missedSince = at } = echo;
  if (at - missedSince < ECHO_PATIENCE_MS) {
    step.update({ echo: { ...echo, missedSince } });
    awaitEcho(step);
    return;
  }
  const image = pasting[0]?.kind === "image";
  endSession(step, { kind: "undelivered", ...(image ? { image } : {}) });
}

/**
 * Choices on the screen are a dialog unless the child reports that it is idle or busy, because an answer may look like
 * a list.
 */
function mayBeDialog({ status }: SessionState): boolean {
  return status === undefined || status.status === "waiting";
}

function answerDialog(
  step: ControlStep,
  { at, since, screen, dialog, choices }: SeenDialog,
): void {
  // The wait for another answer ends once the choice has been opened for typing.
  const isOpened = editedAtCursor(screen) !== undefined;
  const patienceMs = (isOpened ? 0 : dialog.patienceMs ?? 0) - (at - since);
  if (patienceMs > 0) {
    step.emit(deadline("look", patienceMs));
    return;
  }
  const { options, dialogKeys, keyAt } = step.state;
  const isRefused = dialog.trusting !== undefined && options.needsTrust === true;
  const keys = isRefused
    ? undefined
    : dialog.alone && hasSeveralCalls(step.state)
    ? ESCAPE
    : keysFor(dialog, choices);
  if (keys === undefined || dialogKeys >= MAX_DIALOG_KEYS) {
    endSession(step, { kind: "dialog", name: dialog.name, screen });
    return;
  }
  const hasReacted = keyAt === undefined || since > keyAt;
  if (!hasReacted && at - keyAt < KEY_AGAIN_MS) {
    step.emit(deadline("look", DIALOG_LOOK_MS));
    return;
  }
  step.update({ dialogKeys: dialogKeys + 1, keyAt: at });
  step.emit(write(keys), deadline("look", DIALOG_LOOK_MS));
  if (hasReacted) extendStart(step);
  step.emit({ type: "trace", text: `dialog "${dialog.name}": ${JSON.stringify(keys)}` });
}

/** Whether several calls are open, each of which may ask on the screen. An agent's own call no longer asks. */
function hasSeveralCalls(state: SessionState): boolean {
  const { printedCalls } = recordPrintedLines(state);
  return printedCalls.filter(({ name, returned }) => !returned && !AGENT_TOOLS.includes(name))
    .length >
    1;
}
