import { libc } from "./libc.ts";
import { signalMasks } from "./signal_masks.ts";
import { SIGNALS } from "./signals.ts";

/** SIG_DFL of signal(2). */
const SIG_DFL = null;

/**
 * Has the kernel keep how a child of this program ended until that is asked. It keeps nothing for a program that ignores
 * SIGCHLD, as one does that was started by such a program: waitpid(2) fails there, and `Deno.Command` with it.
 */
export function heedChildren(): void {
  if (signalMasks().ignored.has(SIGNALS.SIGCHLD)) libc().signal(SIGNALS.SIGCHLD, SIG_DFL);
}
