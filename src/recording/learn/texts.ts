import type { VersionProfile } from "../../claude/versions/profile.ts";
import { DIALOGS } from "../../conversation/terminal/dialogs.ts";
import type { ProgramText } from "./program_text.ts";
import type { Subject } from "./subject.ts";

/** Lists of hook events in the program; the longest one is that of all events, in the order in which it is printed. */
const EVENTS = /\["PreToolUse","PostToolUse"(?:,"[A-Za-z]+")+\]/gu;

/** Takes the hook events and the dialogs from the program's text. */
export function learnTexts(
  { program }: Subject,
): Promise<Pick<VersionProfile, "hookEvents" | "dialogs">> {
  const hookEvents = hookEventsIn(program);
  if (hookEvents === "") throw new Error("The program's text does not list the hook events");
  return Promise.resolve({ hookEvents, dialogs: dialogsIn(program) });
}

/** All events of hooks. */
export function hookEventsIn(program: ProgramText): string {
  const lists = program.matches(EVENTS).map(([list]) => list.match(/\w+/gu) ?? []);
  return lists.toSorted((one, other) => other.length - one.length)[0]?.join(" ") ?? "";
}

/** The names of the dialogs that this program knows and whose choices the measured one has. */
export function dialogsIn(program: ProgramText): string[] {
  const has = ({ source }: RegExp) => {
    const [text = ""] = source.replace(/^\^/u, "").split(/[$\\([?]/u, 1);
    return program.has(text);
  };
  const known = DIALOGS.filter(({ offers }) => offers.every(has)).map(({ name }) => name);
  return [...new Set(known)].toSorted();
}
