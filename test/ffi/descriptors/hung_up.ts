import { Poller } from "../../../ffi/descriptors/poll.ts";

/**
 * Waits until an fd of which nothing is to be read has lost its other side. A program that another test starts just then
 * has that side, too, until it is started.
 */
export async function hungUp(fd: number): Promise<void> {
  using poller = new Poller();
  await poller.wait([{ fd, read: true }], -1);
}
