import { readChoices } from "../../../conversation/terminal/choices.ts";
import type { Dialog } from "../../../conversation/terminal/dialogs.ts";
import { recogniseDialog } from "../../../conversation/terminal/recognise_dialog.ts";
import { isBlank, type Screen } from "../../../conversation/terminal/screen.ts";
import type { Found } from "../finding.ts";

/** How long a screen that asks has to stand until it counts: a run waits as long for one that it knows. */
const STANDS_MS = 3000;

/** What has been seen on the screen so far. */
export interface SeenDialogs {
  /** What the child says that it is at; undefined before it has said anything. */
  readonly status: string | undefined;
  /** What asks, and since when; absent where nothing does that is unknown. */
  readonly asking?: { readonly words: string; readonly since: number; readonly told: boolean };
}

/** Nothing has been seen yet. */
export const NOTHING_SEEN: SeenDialogs = { status: undefined };

/** A screen as a person would see it: one that waits for a choice, is known or stands too short a time. */
export function seeScreen(
  seen: SeenDialogs,
  { screen, at }: { readonly screen: Screen; readonly at: number },
): { readonly seen: SeenDialogs; readonly found: readonly Found[] } {
  const { status } = seen;
  const words = unknownWords(screen, status);
  if (words === undefined || !(status === undefined || status === "waiting")) {
    return { seen: { status }, found: [] };
  }
  const before = seen.asking?.words === words ? seen.asking : { words, since: at, told: false };
  const isDue = !before.told && at - before.since >= STANDS_MS;
  return {
    seen: { status, asking: { ...before, told: before.told || isDue } },
    found: isDue ? [unknown(words)] : [],
  };
}

/** A dialog has ended the run: whether this program would not know it today either. */
export function seeEnd(seen: SeenDialogs, screen: Screen): readonly Found[] {
  if (isBlank(screen)) return [];
  const words = recogniseDialog(screen, { when: whenOf(seen.status) }) === undefined
    ? unknownWords(screen, seen.status) ?? firstWords(screen)
    : undefined;
  const isTold = seen.asking?.told === true && seen.asking.words === words;
  return words === undefined || isTold ? [] : [unknown(words)];
}

/** The choices of a dialog that is not known. */
function unknownWords(screen: Screen, status: string | undefined): string | undefined {
  const choices = readChoices(screen);
  if (choices.length === 0) return undefined;
  if (recogniseDialog(screen, { when: whenOf(status) }) !== undefined) return undefined;
  return choices.map(({ text }) => text).join(" / ");
}

function firstWords(screen: Screen): string {
  return screen.lines.map((line) => line.trim()).filter((line) => line !== "").join(" ");
}

function whenOf(status: string | undefined): Dialog["when"] {
  return status === undefined ? "start" : "later";
}

function unknown(words: string): Found {
  return { check: "dialog unknown", where: "screen", what: words };
}
