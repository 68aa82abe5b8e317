import { isJsonObject } from "../../../json_object.ts";
import { caretAtCursor } from "../../terminal/choices.ts";
import { compactText, type Screen } from "../../terminal/screen.ts";
import type { SessionState } from "../../control/session_state.ts";
import type { ToolCall } from "./question.ts";

/** The line above a dialog, from the terminal's edge. A line inside the dialog is indented. */
const RULE = /^\u2500{10,}$/u;

/** Tools that start an agent. Their own permission is decided before the agent makes calls. */
export const AGENT_TOOLS = ["Agent", "Task"];

/** Inputs whose path the screen may show shortened: the last name, or relative to the working directory. */
const PATHS = ["file_path", "notebook_path", "path"];

/**
 * Finds the call of the permission dialog on the screen, if the caller has allowed it. With a rule in
 * `permissions.ask`, Claude Code 2.1.330 shows the dialog although the hook has allowed the call.
 *
 * The dialog has to show every text of the call's input; a dialog that is higher than the screen does not. If the
 * dialog may be about another call, that call has to be allowed, too. Only plain ASCII is compared, because a terminal
 * may draw other characters differently, and the model chooses them.
 */
export function findAllowedOnScreen(
  { printedCalls }: SessionState,
  screen: Screen,
): ToolCall | undefined {
  if (!printedCalls.some(({ allowed }) => allowed)) return undefined;
  const caretRow = caretAtCursor(screen);
  if (caretRow === undefined) return undefined;
  const rule = screen.lines.findLastIndex((line, row) => row < caretRow && RULE.test(line));
  if (rule < 0) return undefined;
  const dialog = normalizeText(
    compactText({ ...screen, lines: screen.lines.slice(rule + 1, caretRow) }),
  );
  const shown = printedCalls.filter((call) => !call.returned)
    .map((call) => ({ call, state: shownState(call, dialog) }))
    .filter(({ state }) => state !== "absent");
  return shown.every(({ state }) => state === "allowed")
    ? shown.find(({ call }) => allowedTexts(call).length > 0)?.call
    : undefined;
}

/**
 * Returns whether a dialog shows a call, and whether with the input that the caller has allowed. If the hook allows
 * another input, Claude Code draws the dialog again with that input (2.1.330).
 */
function shownState(call: ToolCall, dialog: string): "absent" | "allowed" | "undecided" {
  const isShown = (texts: readonly string[]) => texts.every((text) => dialog.includes(text));
  const asked = askedTexts(call);
  const allowed = allowedTexts(call);
  // If the dialog is about this call, its answer allows only the input that the caller has allowed.
  if (call.allowed && call.allowedWith === undefined) {
    return isShown(allowed) ? "allowed" : "absent";
  }
  if (!isShown(allowed) || !call.allowed) return mayBeShown(call, dialog) ? "undecided" : "absent";
  const own = splitPieces(asked).filter((piece) => !allowed.some((text) => text.includes(piece)));
  // The first input is no longer shown, or only the part that both inputs have.
  const isDrawnAnew = own.length > 0
    ? !own.some((piece) => dialog.includes(piece))
    : allowed.some((text) => !asked.some((each) => each.includes(text)));
  return isDrawnAnew ? "allowed" : "undecided";
}

/** Whether a dialog may be about a call. It may show a part of the input, in another form. */
function mayBeShown(call: ToolCall, dialog: string): boolean {
  const texts = askedTexts(call);
  if (AGENT_TOOLS.includes(call.name)) return texts.every((text) => dialog.includes(text));
  const pieces = splitPieces(texts);
  return pieces.length === 0 || pieces.some((piece) => dialog.includes(piece));
}

/** Splits texts into the pieces that every terminal shows unchanged: printable ASCII without spaces. */
function splitPieces(texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => text.split(/[^!-~]+/u)).filter((piece) => piece !== "");
}

function askedTexts(call: ToolCall): readonly string[] {
  const { input, askedWith } = call;
  return readShownTexts(call, askedWith === undefined ? input : JSON.parse(askedWith));
}

function allowedTexts(call: ToolCall): readonly string[] {
  const { allowedWith } = call;
  return allowedWith === undefined
    ? askedTexts(call)
    : readShownTexts(call, JSON.parse(allowedWith));
}

/** Returns the lines of a call that its dialog shows. */
function readShownTexts({ name }: ToolCall, asked: unknown): readonly string[] {
  return [
    // The dialog names the server and its tool. For built-in tools, it uses other words.
    ...(name.startsWith("mcp__") ? name.split("__").slice(1) : []),
    ...(isJsonObject(asked) ? Object.entries(asked) : []).flatMap(([key, value]) =>
      readStrings(
        PATHS.includes(key) && typeof value === "string" ? value.split("/").at(-1) : value,
      )
    ),
  ].flatMap((text) => text.split("\n").map(normalizeText)).filter((line) => line !== "");
}

function readStrings(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null
    ? Object.values(value).flatMap(readStrings)
    : [];
}

/**
 * Removes white space and underscores, and the lines that Claude Code draws next to a command. The command may also
 * contain such characters. The name of a server's tool is shown as words.
 */
function normalizeText(text: string): string {
  return text.replaceAll(/[\s_\u2500-\u257f]/gu, "").toLowerCase();
}
