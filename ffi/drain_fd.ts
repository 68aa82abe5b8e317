import { readFd } from "./fd.ts";

/** How `drainFd` reads. */
export interface DrainOptions {
  /** Where each read lands; 64 KiB suits a pipe, a pty fills about 4 KB of it. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** Called with each read's bytes, a view of `buffer` that the next read overwrites. */
  readonly onBytes: (bytes: Uint8Array<ArrayBuffer>) => void;
  /** Most reads in one call, so that a flood does not starve the event loop; default 8. */
  readonly maxReads?: number;
}

/**
 * Reads what a nonblocking fd holds: "again" when it is empty, "end" when it is over, "more" when
 * `maxReads` were not enough.
 *
 * Called once per poll this carries 50 MB/s and more from a pty while timers fire on time.
 */
export function drainFd(fd: number, options: DrainOptions): "again" | "end" | "more" {
  const { buffer, onBytes, maxReads = 8 } = options;
  for (let reads = 0; reads < maxReads; reads++) {
    const count = readFd(fd, buffer);
    if (typeof count !== "number") return count;
    onBytes(buffer.subarray(0, count));
  }
  return "more";
}
