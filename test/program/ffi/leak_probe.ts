/**
 * Starts 20 children, each on a pty of its own, fails to start more, and prints as JSON the fds of this
 * process before and after, and how many of the new fds no child inherits. It is a program of its own
 * because tests in one process share their fds.
 *
 * @module
 */

import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../../ffi/descriptors/pipe.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { openPidfd, waitFor } from "../../../ffi/processes/process.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";
import { openPty } from "../../../ffi/terminal/pty.ts";
import { PtyChild } from "./pty_child.ts";
import { MISSING } from "../../nowhere.ts";

async function runOne(): Promise<number> {
  await using child = new PtyChild("/bin/sh", { args: ["-c", "echo hello"], stdin: "/dev/null" });
  const { text, status } = await child.end();
  return text === "hello\r\n" && status.kind === "exited" && status.code === 0 ? child.pid : NaN;
}

function failOne(): void {
  using pty = openPty({ rows: 24, cols: 80 });
  const plain = { args: [], env: {}, cwd: "/", pty };
  for (
    const [file, options] of [
      [MISSING, plain],
      ["/bin/true", { ...plain, cwd: MISSING }],
      ["/bin/true", { ...plain, stdin: MISSING }],
    ] as const
  ) {
    try {
      spawn(file, options);
    } catch (error) {
      if (!(error instanceof LibcError)) throw error;
    }
  }
}

function isReaped(pid: number): boolean {
  try {
    waitFor(pid);
    return false;
  } catch (error) {
    return error instanceof LibcError && error.code === "ECHILD";
  }
}

/** The targets of fds that this module opens. Deno opens and closes others on its threads. */
const OPENED_HERE = /^(\/|\/dev\/null|\/dev\/pts?.*|\/.*\/fifo( \(deleted\))?|anon_inode:.*)$/;

/** The numbers of the fds of such kinds. */
function openFds(): readonly string[] {
  const names = [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => name);
  return names.filter((name) => OPENED_HERE.test(target(name))).sort();
}

function target(fd: string): string {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return "closed meanwhile";
  }
}

async function disposeDuringWait(): Promise<void> {
  const poller = new Poller();
  const wait = poller.wait([], -1);
  poller[Symbol.dispose]();
  await wait;
}

/** The open(2) flags of one new fd of each kind. */
function flagsOfNewFds(): readonly number[] {
  const known = new Set(openFds());
  const folder = Deno.makeTempDirSync();
  using _pty = openPty({ rows: 24, cols: 80 });
  using _poller = new Poller();
  makeFifo(`${folder}/fifo`);
  const fds = [openFifo(`${folder}/fifo`), openPidfd(Deno.pid)];
  Deno.removeSync(folder, { recursive: true });
  const flags = openFds().filter((name) => !known.has(name)).map((name) => {
    const info = Deno.readTextFileSync(`/proc/self/fdinfo/${name}`);
    return parseInt(info.match(/^flags:\s*(\d+)$/m)?.[1] ?? "0", 8);
  });
  for (const fd of fds) closeFd(fd);
  return flags;
}

await runOne();
const before = openFds();
const pids: number[] = [];
for (let round = 0; round < 20; round++) {
  pids.push(await runOne());
  failOne();
  await disposeDuringWait();
}
const closeOnExec = 0o2000000;
const flags = flagsOfNewFds();
const report = {
  before,
  after: openFds(),
  opened: flags.length,
  closedOnExec: flags.filter((value) => (value & closeOnExec) !== 0).length,
  ended: pids.filter((pid) => !Number.isNaN(pid)).length,
  reaped: pids.filter(isReaped).length,
};
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(report)));
