import { isJsonObject } from "../../../json_object.ts";
import { caretAtCursor } from "../../terminal/choices.ts";
import { compactText, type Screen } from "../../terminal/screen.ts";
import type { SessionState } from "../../control/session_state.ts";
import type { ToolCall } from "./question.ts";

/** The rule above a dialog, at the terminal's edge: what stands inside is indented. */
const RULE = /^\u2500{10,}$/u;

/** Tools whose calls are past their own permission by the time in which others are made for them. */
export const AGENTS = ["Agent", "Task"];

/** Inputs that stand on the screen by their last name alone, or by their path from the working directory. */
const PATHS = ["file_path", "notebook_path", "path"];

/**
 * The call that the permission dialog on the screen is about, if the caller has allowed it: Claude Code
 * (2.1.330) heeds a rule in `permissions.ask` more than the hook that says so, and leaves the dialog standing.
 *
 * Every text of the call's input has to stand in the dialog, which one that is higher than the screen does not show;
 * and of no call that might be meant as well the caller may have said nothing yet, or something else. So much is known
 * of what a terminal shows as plain text alone: the model could write the rest so that nothing on the screen is like it.
 */
export function allowedOnScreen(
  { printedCalls }: SessionState,
  screen: Screen,
): ToolCall | undefined {
  if (!printedCalls.some(({ allowed }) => allowed)) return undefined;
  const caretRow = caretAtCursor(screen);
  if (caretRow === undefined) return undefined;
  const rule = screen.lines.findLastIndex((line, row) => row < caretRow && RULE.test(line));
  if (rule < 0) return undefined;
  const dialog = worded(compactText({ ...screen, lines: screen.lines.slice(rule + 1, caretRow) }));
  const shown = printedCalls.filter((call) => !call.returned)
    .map((call) => ({ call, state: shownState(call, dialog) }))
    .filter(({ state }) => state !== "absent");
  return shown.every(({ state }) => state === "allowed")
    ? shown.find(({ call }) => allowedTexts(call).length > 0)?.call
    : undefined;
}

/**
 * What a dialog shows of a call: nothing, what the caller has allowed, or what it has not. One that was allowed with
 * another input is drawn anew with that, since the hook has said so (2.1.330).
 */
function shownState(call: ToolCall, dialog: string): "absent" | "allowed" | "undecided" {
  const isShown = (texts: readonly string[]) => texts.every((text) => dialog.includes(text));
  const asked = askedTexts(call);
  const allowed = allowedTexts(call);
  // If it is this one all the same, nothing happens that was not allowed.
  if (call.allowed && call.allowedWith === undefined) {
    return isShown(allowed) ? "allowed" : "absent";
  }
  if (!isShown(allowed) || !call.allowed) return mayBeShown(call, dialog) ? "undecided" : "absent";
  const own = piecesOf(asked).filter((piece) => !allowed.some((text) => text.includes(piece)));
  // What was asked is not there any more, or no more than a part of it.
  const isDrawnAnew = own.length > 0
    ? !own.some((piece) => dialog.includes(piece))
    : allowed.some((text) => !asked.some((each) => each.includes(text)));
  return isDrawnAnew ? "allowed" : "undecided";
}

/** Whether a dialog may be about a call, of which it may show a part, and that in its own way. */
function mayBeShown(call: ToolCall, dialog: string): boolean {
  const texts = askedTexts(call);
  if (AGENTS.includes(call.name)) return texts.every((text) => dialog.includes(text));
  const pieces = piecesOf(texts);
  return pieces.length === 0 || pieces.some((piece) => dialog.includes(piece));
}

/** What of texts any terminal shows as it is written, without what stands in between. */
function piecesOf(texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => text.split(/[^!-~]+/u)).filter((piece) => piece !== "");
}

function askedTexts(call: ToolCall): readonly string[] {
  const { input, askedWith } = call;
  return textsOf(call, askedWith === undefined ? input : JSON.parse(askedWith));
}

function allowedTexts(call: ToolCall): readonly string[] {
  const { allowedWith } = call;
  return allowedWith === undefined ? askedTexts(call) : textsOf(call, JSON.parse(allowedWith));
}

/** What of a call a dialog about it shows, a line at a time. */
function textsOf({ name }: ToolCall, asked: unknown): readonly string[] {
  return [
    // The dialog of a server's tool names both; others have words of their own.
    ...(name.startsWith("mcp__") ? name.split("__").slice(1) : []),
    ...(isJsonObject(asked) ? Object.entries(asked) : []).flatMap(([key, value]) =>
      textsIn(PATHS.includes(key) && typeof value === "string" ? value.split("/").at(-1) : value)
    ),
  ].flatMap((text) => text.split("\n").map(worded)).filter((line) => line !== "");
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * Without white space, and without the lines that Claude Code draws beside a command, which the command may hold too. The
 * name of a server's tool is drawn in words of its own.
 */
function worded(text: string): string {
  return text.replaceAll(/[\s_\u2500-\u257f]/gu, "").toLowerCase();
}
