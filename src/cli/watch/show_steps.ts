import { Outlet } from "../../../ffi/descriptors/outlet.ts";
import { windowSize } from "../../../ffi/terminal/pty.ts";
import { isInForeground, RedrawnLine } from "./live_line.ts";
import { renderStep } from "./render_live_line.ts";

/** The fd of this program's stderr. */
const STDERR = 2;

/** The steps of a command that takes long, on the terminal that stderr is. */
export interface ShownSteps extends Disposable {
  /** Shows another step, and for how long it has been going on. */
  readonly begin: (step: string) => void;
}

/**
 * Shows which step a command is at, in one line on stderr that is redrawn in place until it is disposed. Without a terminal
 * nothing is shown.
 */
export function showSteps(env: Readonly<Record<string, string | undefined>>): ShownSteps {
  const { TERM } = env;
  if (!Deno.stderr.isTerminal() || TERM === undefined || TERM === "dumb") {
    return { begin: () => {}, [Symbol.dispose]: () => {} };
  }
  let [step, since] = ["", 0];
  const stack = new DisposableStack();
  const line = stack.use(
    new RedrawnLine({
      output: stack.use(new Outlet(STDERR)),
      isOurs: () => isInForeground(),
      render: () =>
        renderStep(step, {
          columns: windowSize(STDERR)?.cols ?? 80,
          elapsedMs: performance.now() - since,
          color: !env["NO_COLOR"],
        }),
    }),
  );
  return {
    begin: (next) => {
      [step, since] = [next, performance.now()];
      line.draw();
    },
    [Symbol.dispose]: () => stack.dispose(),
  };
}
