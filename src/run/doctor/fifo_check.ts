import { closeFd, readFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../../ffi/descriptors/pipe.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import type { Check } from "./check.ts";
import { bytesInWords } from "./in_words.ts";
import { makePrivateFolder } from "../../sandbox/folder/private_folder.ts";
import { removeEmpty, removeFolder } from "../../sandbox/on_disk.ts";
import { parentOf } from "../../sandbox/paths.ts";

/** Room a run should find for its transcript and its logs, in bytes. */
const LEAST_FREE = 10_000_000;

/** Time a line may take through a FIFO, in milliseconds. */
const LIMIT_MS = 1000;

/**
 * Whether a run's private folder can be made in its place: readable by nobody else, with room in it, and with a FIFO
 * that carries a line.
 *
 * @param tmp the folder to make it in
 */
export async function fifoCheck(tmp: string): Promise<Check> {
  const name = "fifo";
  try {
    const free = await tryFolder(tmp);
    const data = { folder: tmp, free_bytes: free };
    return { name, ok: true, detail: `works in ${tmp}, ${bytesInWords(free)} free`, data };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      name,
      ok: false,
      detail: `Cannot work in ${tmp}: ${why.replace(/ \(os error \d+\).*/su, "")}`,
      suggestion: "Set TMPDIR to a folder on a disk with room that you can write to",
      data: { folder: tmp },
    };
  }
}

/**
 * Makes a private folder, tries it and removes it.
 *
 * @returns bytes that are free on its disk
 * @throws {Error} when a run could not work in it
 */
async function tryFolder(tmp: string): Promise<number> {
  const { path } = makePrivateFolder(tmp);
  try {
    const mode = (Deno.statSync(path).mode ?? 0) & 0o777;
    if (mode !== 0o700) throw new Error(`a private folder gets the mode ${mode.toString(8)}`);
    // Only here: where there is no /proc, loading it ends the program (Deno 2.9.6).
    const { statfsSync } = await import("node:fs");
    const { bavail, bsize } = statfsSync(path);
    const free = bavail * bsize;
    if (free < LEAST_FREE) throw new Error(`only ${bytesInWords(free)} are free`);
    if (!await carriesLine(`${path}/fifo`)) {
      throw new Error("a FIFO loses what is written to it");
    }
    return free;
  } finally {
    removeFolder(path);
    removeEmpty(parentOf(path));
  }
}

async function carriesLine(path: string): Promise<boolean> {
  const line = new TextEncoder().encode("line\n");
  makeFifo(path);
  using stack = new DisposableStack();
  const fd = openFifo(path);
  stack.defer(() => closeFd(fd));
  const poller = stack.use(new Poller());
  if (writeFd(fd, line) !== line.length) return false;
  const [ready] = await poller.wait([{ fd, read: true }], LIMIT_MS);
  const buffer = new Uint8Array(16);
  if (ready?.readable !== true || readFd(fd, buffer) !== line.length) return false;
  return line.every((byte, index) => buffer[index] === byte);
}
