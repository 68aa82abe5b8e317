import type { HoldOptions } from "../../library/hold_conversation.ts";
import { Teardown } from "../../run/teardown.ts";
import type { Handover } from "./invocation.ts";

/** What of a conversation's options hangs on whether anybody waits for it still. */
type WaitedFor = Required<Pick<HoldOptions, "teardown" | "onWhole" | "warn" | "trace">>;

/** Holds a conversation, with these in the place of its own. */
export type HoldRun = (
  options: Omit<WaitedFor, "onWhole"> & Partial<WaitedFor>,
) => Promise<number>;

/**
 * Has a run that was handed over be over before its last Claude Code is: as soon as all is said, and what that leaves is
 * at home. The rest of it goes on in the server.
 *
 * @param handedOver the run; absent for one of this program's own, which ends with its Claude Code
 * @returns the exit code
 */
export async function lettingGo(
  handedOver: Handover | undefined,
  { hold, teardown, warn, trace }: Pick<HoldOptions, "warn" | "trace"> & {
    readonly teardown: Teardown;
    readonly hold: HoldRun;
  },
): Promise<number> {
  if (handedOver === undefined) return await hold({ teardown, warn, trace });
  /** What tears down what goes on once nobody waits for it any more. */
  let rest: Teardown | undefined;
  const { promise: whole, resolve: letGo } = Promise.withResolvers<number>();
  const held = hold({
    teardown: {
      own: (run) => (rest ?? teardown).own(run),
      keep: (save) => (rest ?? teardown).keep(save),
      childEnded: () => (rest ?? teardown).childEnded(),
      run: () => (rest ?? teardown).run(),
    },
    onWhole: (say) => {
      if (!teardown.bringHome()) return;
      trace("whole: its Claude Code ends by itself");
      rest = new Teardown({ warn: handedOver.tell });
      teardown.passTo(rest);
      letGo(say());
    },
    warn: (text) => rest === undefined ? warn(text) : handedOver.tell(text),
    trace: (text) => {
      if (rest === undefined) trace(text);
    },
  });
  const exitCode = await Promise.race([held, whole]);
  if (rest !== undefined) handedOver.leave(held.finally(rest[Symbol.dispose].bind(rest)));
  return exitCode;
}
