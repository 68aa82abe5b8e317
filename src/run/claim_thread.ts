import { Poller } from "../../ffi/poll.ts";

/**
 * Has Deno make the thread that waits for the child. It aborts the program when it cannot have one, and then there must
 * be no folder yet; a thread that it has it keeps for 10 s.
 */
export async function claimThread(): Promise<void> {
  using poller = new Poller();
  await poller.wait([], 0);
}
