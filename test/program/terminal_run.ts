import type { ExitStatus } from "../../ffi/processes/process.ts";
import type { WindowSize } from "../../ffi/terminal/pty.ts";
import { PtyChild } from "./ffi/pty_child.ts";

/** A program that has ended, and what the terminal it ran in was sent. */
export interface TerminalRun {
  readonly exit: ExitStatus;
  readonly output: string;
}

/** Runs a program as a person would: stdin, stdout and stderr are a terminal of this size. */
export async function runInTerminal(
  [program = "", ...args]: readonly string[],
  { meanwhile = () => Promise.resolve(), type = () => undefined, ...options }: {
    readonly size: WindowSize;
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    /** What happens to the program while it runs. */
    readonly meanwhile?: (
      terminal: { readonly resize: (size: WindowSize) => void },
    ) => Promise<void>;
    /** Returns the text to type for an output; each text is typed once. */
    readonly type?: (shown: string) => string | undefined;
  },
): Promise<TerminalRun> {
  let typed: string | undefined;
  await using child: PtyChild = new PtyChild(program, {
    ...{ args, ...options },
    onShown: (shown) => {
      const text = type(shown);
      if (text !== undefined && text !== typed) child.press(text);
      typed = text ?? typed;
    },
  });
  const happening = meanwhile({ resize: (size) => child.pty.resize(size) });
  const [{ status, text }] = await Promise.all([child.end(), happening]);
  return { exit: status, output: text };
}
