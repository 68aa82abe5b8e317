import { Poller } from "../../../ffi/descriptors/poll.ts";
import type { Caller } from "../../driver/inputs/caller/caller.ts";
import type { SessionWatcher } from "../perform_session.ts";
import { StoppedError } from "../stopped_error.ts";

/**
 * Waits for a caller as long as it likes, until it has said something or never will.
 *
 * @throws {StoppedError} when this program is asked to stop
 */
export async function awaitWords(
  caller: Caller,
  { signals, outlets = [] }: Pick<SessionWatcher, "signals" | "outlets">,
): Promise<void> {
  using poller = new Poller();
  signals.onArrival = () => poller.wake();
  caller.onArrival = () => poller.wake();
  try {
    while (!caller.hasWords && !caller.isOver) {
      const owing = outlets.filter(({ pending }) => pending > 0);
      const [signal] = signals.take();
      if (signal !== undefined) {
        const message = `The run was interrupted by ${signal}`;
        throw new StoppedError({ kind: "interrupted", signal, message });
      }
      const ready = await poller.wait(
        [...caller.interests, ...owing.map(({ fd }) => ({ fd, write: true }))],
        -1,
      );
      for (const outlet of owing) if (ready.some(({ fd }) => fd === outlet.fd)) outlet.flush();
      caller.hear(ready);
    }
  } finally {
    signals.onArrival = undefined;
    caller.onArrival = undefined;
  }
}
