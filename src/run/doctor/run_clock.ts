import type { Input } from "../../conversation/control/input.ts";
import {
  SCANNER_START,
  type ScannerState,
  scanTerminal,
} from "../../conversation/terminal/terminal_scanner.ts";

/** The terminal mode that Claude Code switches on as it starts (bracketed paste), before any dialog and the input box. */
const PASTE_MODE = "?2004";

/** When a session's steps were first seen, in milliseconds since the child was started. */
export interface RunTimes {
  /** The child wrote to its terminal. */
  readonly firstByteMs?: number;
  /** The child was about to show its input box, or a dialog of its start: it asked for bracketed paste. */
  readonly readyMs?: number;
  /** The Stop hook said that the turn is over. */
  readonly stopMs?: number;
  /** The child was gone. */
  readonly exitMs?: number;
}

/** The times so far, and what is known of the terminal's output. */
export interface RunClock {
  readonly times: RunTimes;
  readonly scanner: ScannerState;
}

/** The clock before the first input. */
export const RUN_CLOCK_START: RunClock = { times: {}, scanner: SCANNER_START };

/** Takes the next input of a session. */
export function clockInput({ times, scanner }: RunClock, input: Input): RunClock {
  const { at } = input;
  switch (input.type) {
    case "terminal": {
      const first = { firstByteMs: at, ...times };
      if (times.readyMs !== undefined) return { times: first, scanner };
      const { state, tokens } = scanTerminal(scanner, input.bytes);
      const ready = tokens.some((token) =>
        token.kind === "csi" && token.final === "h" && token.parameters.startsWith(PASTE_MODE)
      );
      return { times: ready ? { ...first, readyMs: at } : first, scanner: state };
    }
    case "hook":
      return { times: input.event === "Stop" ? { stopMs: at, ...times } : times, scanner };
    case "exit":
      return { times: { exitMs: at, ...times }, scanner };
    default:
      return { times, scanner };
  }
}
