import type { Input, Untimed } from "../../../src/conversation/control/input.ts";
import type { Screen } from "../../../src/conversation/terminal/screen.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import { answer, userLine } from "./lines.ts";

/** An input without its time. */
export type Given = Untimed<Input>;

/** The newest version that the fixtures know. */
export const VERSION = "2.1.332";

export const REACHABLE = { type: "reachable" } as const;
export const READ = { type: "read" } as const;
export const IDLE = status("idle");
export const BUSY = status("busy");
export const COST = cost(1);
export const EXIT = exit(143);

export function exit(code: number) {
  return { type: "exit", exit: { kind: "exited", code } } as const;
}

export function status(name: string, waitingFor?: string) {
  const waiting = waitingFor === undefined ? {} : { waitingFor };
  return { type: "status", status: name, ...waiting } as const;
}

export function cost(totalUsd: number, apiDurationMs = 1) {
  return { type: "cost", totalUsd, apiDurationMs } as const;
}

export function signal(name: "SIGINT" | "SIGTERM" | "SIGHUP") {
  return { type: "signal", signal: name } as const;
}

/** A hook of ours. One with an id waits for an answer. */
export function hook(event: string, payload: JsonObject = {}, id = "") {
  return { type: "hook", event, payload, ...(id === "" ? {} : { id }) } as const;
}

/** The hook of a prompt that the child has taken. */
export function submit(prompt: string) {
  return hook("UserPromptSubmit", { prompt });
}

/** The hook of the end of a turn, with the assistant's last words. */
export function stop(text?: string, payload: JsonObject = {}, id = "") {
  const words = text === undefined ? {} : { last_assistant_message: text };
  return hook("Stop", { ...words, ...payload }, id);
}

/** All of a turn from its prompt to its Stop hook; the assistant answers with the text and an exclamation mark. */
export function turn(text: string, id = ""): readonly Given[] {
  return [submit(text), BUSY, userLine(text), answer(`${text}!`), stop(`${text}!`, {}, id)];
}

/** A screen with the cursor on its last caret, where Claude Code leaves it in a dialog. */
export function screen(lines: readonly string[], cursor?: Screen["cursor"]): Screen {
  const row = Math.max(0, lines.findLastIndex((line) => line.includes("❯")));
  const col = Math.max(0, (lines[row] ?? "").indexOf("❯"));
  return { lines, cursor: cursor ?? { row: row + 1, col: col + 1 } };
}
