import type { Screen } from "../../terminal/screen.ts";
import { SCANNER_START, type ScannerState } from "../../terminal/terminal_scanner.ts";

/** What is remembered of the child's terminal: what it writes there, what is typed, and what the screen asks. */
export interface TerminalMemory {
  /** Its size, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  readonly scanner: ScannerState;
  /** What the child has written as long as it has no status. */
  readonly written: Uint8Array;
  /** When the child wrote something for the first time, in milliseconds after its start; absent until it has. */
  readonly heardAt?: number;
  /** How many images have been put into files, and the number that the child has given to the last of them. */
  readonly images: { readonly placed: number; readonly number: number };
  /** The last screen looked at, what it asks, and since when it has asked that. */
  readonly screen?:
    | { readonly screen: Screen; readonly asks: string; readonly since: number }
    | undefined;
  /** Keys pressed in dialogs since the child was busy last. */
  readonly dialogKeys: number;
  /** When the last of them was pressed. */
  readonly keyAt?: number;
}

/** A terminal in which nothing has been written or typed. */
export function newTerminal(size: TerminalMemory["size"]): TerminalMemory {
  return {
    size,
    scanner: SCANNER_START,
    written: new Uint8Array(),
    images: { placed: 0, number: 0 },
    dialogKeys: 0,
  };
}
