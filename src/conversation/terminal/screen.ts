/**
 * The maximum number of rows and of columns of a terminal: more than a screen can show, and few enough to be drawn in
 * negligible time.
 */
export const LARGEST_SIDE = 1000;

/** A rendered terminal: its rows from top to bottom without trailing blanks, and the cursor, counted from 1. */
export interface Screen {
  readonly lines: readonly string[];
  readonly cursor: { readonly row: number; readonly col: number };
}

/** The screen's text without white space, because the TUI moves the cursor instead of writing blanks. */
export function compactText(screen: Screen): string {
  return screen.lines.join("").replace(/\s+/gu, "");
}

/** Whether nothing is visible. */
export function isBlank(screen: Screen): boolean {
  return screen.lines.every((line) => line.trim() === "");
}

const NOTICE_ROW = /^\u258e /u;
/** The notice of debug mode (2.1.332) for a log in the private folder of a run. A user's own log is elsewhere. */
const OWN_LOG_NOTICE = /^Debug ?mode ?enabled ?\u00b7 ?logging ?to ?\/.*\/own\/debug\.log$/u;

/**
 * The rows of a screen without the notice that Claude Code writes a debug log, if this program has asked for the log.
 * No setting removes the notice (2.1.332). On a narrow screen it takes several rows.
 */
export function withoutOwnNotice(lines: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const length = lines.slice(at).findIndex((line) => !NOTICE_ROW.test(line));
    const notice = lines.slice(at, at + length).map((line) => line.replace(NOTICE_ROW, ""));
    if (!OWN_LOG_NOTICE.test(notice.join(""))) kept.push(lines[at] ?? "");
    else at += lines[at + length] === "" ? length : length - 1;
  }
  return kept;
}

/** The maximum length of Claude Code's output before it refuses to start, in bytes. */
const MOST = 8192;

/** The output that a terminal shows unchanged: text, lines, colours, and the sequence that shows the cursor again. */
// deno-lint-ignore no-control-regex
const PLAIN = /\x1b\[(?:[\d;]*m|\?25h)|\r(?=\r?\n)/gu;
// deno-lint-ignore no-control-regex
const CONTROL = /[\x00-\x09\x0b-\x1f\x7f]/u;

/** Adds bytes to the output of a child since its start, up to a limit above the length of any plain message. */
export function withWritten(before: Uint8Array, bytes: Uint8Array): Uint8Array {
  if (before.length >= MOST) return before;
  const written = new Uint8Array(before.length + bytes.length);
  written.set(before);
  written.set(bytes, before.length);
  return written;
}

/** A child's output without colours, if it draws nothing; undefined if it draws, or is empty. */
export function plainOutput(written: Uint8Array): string | undefined {
  if (written.length >= MOST) return undefined;
  const text = new TextDecoder().decode(written).replace(PLAIN, "").trim();
  return text === "" || CONTROL.test(text) ? undefined : text;
}

/** The background tasks on the screen (2.1.330). */
type TasksOnScreen =
  /** The number of tasks below the empty input box is selected. Enter opens the list of tasks. */
  | { readonly kind: "offered" }
  /** The list of several tasks. If all are subagents, it is the list below the input box. */
  | { readonly kind: "list"; readonly rows: readonly TaskRow[] }
  /** A single shell, with its complete command; `text` has no white space. */
  | { readonly kind: "task"; readonly text: string }
  | { readonly kind: "none" };

/** A row of the list. */
export interface TaskRow {
  /** The command or task, without white space and cut if it is too long; empty if the row shows no running task. */
  readonly text: string;
  readonly selected: boolean;
}

const LIST_HINT = /^\s*\u2191\/\u2193 to (?:navigate|select) \u00b7 .*\bclose\b/u;
const TASK_HINT = /^\s*\u2190 to go back \u00b7 .*\bclose\b/u;
/** The hint below the input box for a selected subagent that no longer works. */
const OVER_HINT = /\bx to clear\b/u;
const INPUT_BOX = /^\u276f\s*$/u;
const RULE = /^\s*\u2500{20,}/u;
const CARET = /^\s*\u276f/u;
/** A mark, the text, and the word "running"; since 2.1.330 also the model of a subagent. */
const ROW = /^\s*\u276f?\s*(?:\u25cf\s+)?(?<text>\S.*?)\s+\(?running\)?(?: \u00b7 .*)?\s*$/u;
/** A mark, the type of a subagent, its task, and how long it has worked. */
const AGENT =
  /^\s*\u276f?\s*[\u25cf\u25ef]\s+\S+\s{2,}(?<text>\S.*?)\s{2,}(?<over>\w+ \u00b7 )?(?:\d+[dhms] ?)+\s*$/u;
const AGENT_ROW = /^\s*\u276f?\s*[\u25cf\u25ef]\s+\S/u;

/** Reads the list of tasks, or one of them, that is open on the screen. */
export function readTasks(screen: Screen): TasksOnScreen {
  const { lines, cursor } = screen;
  const hint = lines.findLastIndex((line) => LIST_HINT.test(line) || TASK_HINT.test(line));
  if (hint >= 0) {
    const rule = lines.findLastIndex((line, row) => row < hint && RULE.test(line));
    const panel = lines.slice(rule + 1, hint);
    return TASK_HINT.test(lines[hint] ?? "")
      ? { kind: "task", text: compactText({ ...screen, lines: panel }) }
      : { kind: "list", rows: panel.flatMap((line) => rowOf(line, ROW)) };
  }
  const box = lines.findLastIndex((line) => INPUT_BOX.test(line));
  if (box < 0 || cursor.row - 1 <= box) return { kind: "none" };
  const below = lines.slice(box + 1);
  const agents = below.filter((line) => AGENT_ROW.test(line));
  if (!agents.some((line) => CARET.test(line))) return { kind: "offered" };
  const isOver = below.some((line) => OVER_HINT.test(line));
  return {
    kind: "list",
    rows: agents.flatMap((line) => rowOf(line, AGENT)).map((row) =>
      row.selected && isOver ? { ...row, text: "" } : row
    ),
  };
}

function rowOf(line: string, pattern: RegExp): readonly TaskRow[] {
  const { text = "", over } = pattern.exec(line)?.groups ?? {};
  const selected = CARET.test(line);
  const isRow = text !== "" || selected || AGENT_ROW.test(line);
  return isRow ? [{ text: over === undefined ? text.replace(/\s+/gu, "") : "", selected }] : [];
}

/** Whether the screen may name a task so that was called with a text. */
export function isCalled(shown: string, text: string): boolean {
  const whole = text.replace(/\s+/gu, "");
  return shown.endsWith("\u2026")
    ? shown.length > 1 && whole.startsWith(shown.slice(0, -1))
    : shown !== "" && shown === whole;
}

/** So much of a long command is shown in any case. */
const LONGEST = 200;

/** Whether a shell that is shown alone was called with a command. */
export function hasCommand(shown: string, command: string): boolean {
  const whole = command.replace(/\s+/gu, "");
  const end = whole.length > LONGEST ? "" : "Output";
  return whole !== "" && shown.includes(`Command:${whole.slice(0, LONGEST)}${end}`);
}
