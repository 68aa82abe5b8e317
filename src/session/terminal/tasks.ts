import { compactText, type Screen } from "./screen.ts";

/** What the screen shows of the tasks in the background (2.1.197 and 2.1.330). */
export type TasksOnScreen =
  /** The number of tasks below the empty input box is selected: Enter opens the list of them. */
  | { readonly kind: "offered" }
  /** The list; there is one only for several tasks. */
  | { readonly kind: "list"; readonly tasks: readonly ListedTask[] }
  /** One task, with all that it was called with; `text` has no white space. */
  | { readonly kind: "task"; readonly text: string }
  | { readonly kind: "none" };

/** A task in the list. */
export interface ListedTask {
  /** What it was called with, cut where it is too long, without white space. */
  readonly text: string;
  readonly selected: boolean;
}

const LIST_HINT = /^\s*\u2191\/\u2193 to (?:navigate|select) \u00b7 .*\bclose\b/u;
const TASK_HINT = /^\s*\u2190 to go back \u00b7 .*\bclose\b/u;
const INPUT_BOX = /^\u276f\s*$/u;
const RULE = /^\s*\u2500{20,}/u;
/** A caret, a mark, the text, and that it runs. */
const ROW = /^\s*(?<caret>\u276f)?\s*(?:\u25cf\s+)?(?<text>\S.*?)\s+\(?running\)?\s*$/u;

/** Reads the list of tasks, or one of them, that is open on the screen. */
export function readTasks(screen: Screen): TasksOnScreen {
  const { lines, cursor } = screen;
  const hint = lines.findLastIndex((line) => LIST_HINT.test(line) || TASK_HINT.test(line));
  const box = lines.findLastIndex((line) => INPUT_BOX.test(line));
  if (hint < 0) return { kind: box >= 0 && cursor.row - 1 > box ? "offered" : "none" };
  const rule = lines.findLastIndex((line, row) => row < hint && RULE.test(line));
  const panel = lines.slice(rule + 1, hint);
  if (TASK_HINT.test(lines[hint] ?? "")) {
    return { kind: "task", text: compactText({ ...screen, lines: panel }) };
  }
  const tasks = panel.flatMap((line) => {
    const { caret, text } = ROW.exec(line)?.groups ?? {};
    return text === undefined
      ? []
      : [{ text: text.replace(/\s+/gu, ""), selected: caret !== undefined }];
  });
  return { kind: "list", tasks };
}

/** Whether the screen may name a task so that was called with a text. */
export function isCalled(shown: string, text: string): boolean {
  const whole = text.replace(/\s+/gu, "");
  return shown.endsWith("\u2026")
    ? shown.length > 1 && whole.startsWith(shown.slice(0, -1))
    : shown === whole;
}
