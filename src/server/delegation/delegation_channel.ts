import deno from "../../../deno.json" with { type: "json" };
import { closeFd, sendFd } from "../../../ffi/descriptors/fd.ts";
import { receiveFds, sendFds } from "../../../ffi/descriptors/passed_fds.ts";
import type { Interest, Ready } from "../../../ffi/descriptors/poll.ts";
import { WriteQueue } from "../../../ffi/descriptors/write_queue.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { readProcFile, readProcLink } from "../../../ffi/processes/proc.ts";

/** How much is read at once, and how many bytes a line may have: a prompt, an environment and a command line at their longest. */
const READ_BYTES = 256 * 1024;
const LONGEST_LINE = 64 * 1024 * 1024;

const LINE_FEED = 0x0a;

/**
 * One end of a connection on which two processes of this program say JSON to each other, a line each, and pass each other
 * what they have open.
 */
export class LineChannel implements Disposable {
  readonly #fd: number;
  readonly #queue = new WriteQueue();
  readonly #decoder = new TextDecoder();
  readonly #encoder = new TextEncoder();
  #fds: number[] = [];
  #unfinished = "";
  #isOver = false;

  /** @param fd a nonblocking socket, which is the channel's from now on */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Whether the other end is gone, or says what nobody can understand. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether something that was said has not been taken yet. */
  get isOwing(): boolean {
    return this.#queue.pending > 0 && !this.#isOver;
  }

  /** What to wait for. */
  get interests(): readonly Interest[] {
    return this.#isOver ? [] : [{ fd: this.#fd, read: true, write: this.isOwing }];
  }

  /** Says something; `fds` go with the first thing that is said. */
  say(message: unknown, { fds = [] }: { readonly fds?: readonly number[] } = {}): void {
    if (this.#isOver) return;
    let bytes = this.#encoder.encode(`${JSON.stringify(message)}\n`);
    if (fds.length > 0) {
      const count = sendFds(this.#fd, { bytes: bytes.subarray(0, 1), fds });
      if (count === "end") return this.#end();
      if (count === "again") throw new Error("Cannot pass fds: the connection is not new");
      bytes = bytes.subarray(count);
    }
    this.#queue.push(bytes);
    this.#flush();
  }

  /** What was said in whole lines, as JSON that was parsed, since the last time. */
  hear(ready: readonly Ready[]): readonly unknown[] {
    const found = ready.find(({ fd }) => fd === this.#fd);
    if (found === undefined || this.#isOver) return [];
    if (found.writable) this.#flush();
    if (!(found.readable || found.hangup)) return [];
    const received = receiveFds(this.#fd, { most: READ_BYTES });
    if (received === "again") return [];
    if (received === "end") {
      this.#end();
      return [];
    }
    this.#fds.push(...received.fds);
    return this.#parsed(received.bytes);
  }

  /** The fds that have come so far, which are now the caller's to close. */
  takeFds(): readonly number[] {
    return this.#fds.splice(0);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const fd of this.takeFds()) closeFd(fd);
    closeFd(this.#fd);
  }

  #parsed(bytes: Uint8Array<ArrayBuffer>): readonly unknown[] {
    const text = this.#unfinished + this.#decoder.decode(bytes, { stream: true });
    // A long line comes in many pieces, which are not searched again.
    if (!bytes.includes(LINE_FEED)) {
      this.#unfinished = text;
      if (text.length > LONGEST_LINE) this.#end();
      return [];
    }
    const lines = text.split("\n");
    this.#unfinished = lines.pop() ?? "";
    try {
      return lines.map((line): unknown => JSON.parse(line));
    } catch {
      this.#end();
      return [];
    }
  }

  #flush(): void {
    if (this.#queue.flush(this.#fd, sendFd) === "end") this.#end();
  }

  #end(): void {
    this.#isOver = true;
  }
}

/** What a server says to the client of a run. */
export type ServerMessage =
  /** It does not carry the run out, and has done nothing for it. */
  | { readonly type: "refused"; readonly reason: string }
  /** It has read all that it needs to begin. */
  | { readonly type: "taken" }
  /** Whatever comes next is seen by somebody: it waits for a "go". */
  | { readonly type: "ready" }
  /** The run is over, and nothing is left of it. */
  | { readonly type: "exit"; readonly code: number };

/**
 * What tells this program from every other version of it: two that say the same of themselves understand each other, and
 * do the same. Of sources that are no release's the version alone would say too little.
 */
export function programIdentity(): string {
  const program = Deno.build.standalone ? Deno.execPath() : new URL(Deno.mainModule).pathname;
  return [deno.version, Deno.version.deno, ...stateOf(program)].join(" ");
}

/** What of a file is another one as soon as it is; nothing of what is no file. */
function stateOf(path: string): readonly unknown[] {
  try {
    const { size, mtime } = Deno.statSync(path);
    return [size, mtime?.getTime()];
  } catch {
    return [];
  }
}

/** Fields of `/proc/PID/status` that a program's children have as well. */
const STATUS = [
  "Umask",
  "Uid",
  "Gid",
  "Groups",
  "CapPrm",
  "CapEff",
  "CapBnd",
  "CapAmb",
  "NoNewPrivs",
  "Seccomp",
  "Cpus_allowed",
];

/** Namespaces, and the folder that is the root of all paths. */
const LINKS = ["ns/cgroup", "ns/ipc", "ns/mnt", "ns/net", "ns/pid", "ns/user", "ns/uts", "root"];

/**
 * Limits that somebody sets to hold a run back, by their names in `/proc/PID/limits`, each with the value from which on
 * more makes no difference. Others differ from one session to the next, and bind nothing that a run does.
 */
const LIMITS: Readonly<Record<string, number>> = {
  "Max cpu time": Infinity,
  "Max file size": Infinity,
  "Max data size": Infinity,
  "Max stack size": 8 * 1024 * 1024,
  "Max resident set": Infinity,
  "Max processes": 16_384,
  "Max open files": 65_536,
  "Max address space": Infinity,
};

/** How far the nice value is behind the name of the program in `/proc/PID/stat`, in fields. */
const NICE = 16;

/**
 * What a process hands down to its children whatever they are told, as a text to compare: its umask, limits, users,
 * capabilities, namespaces, and how nice it is. A child that another process has started is as good as one of its own
 * only where this is the same.
 *
 * @throws LibcError when the process is gone or somebody else's
 */
export function processTraits(pid: number | "self"): string {
  const text = (name: string) => new TextDecoder().decode(readProcFile(`/proc/${pid}/${name}`));
  const status = text("status").split("\n");
  const stat = text("stat");
  const nice = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[NICE];
  return [
    ...STATUS.map((name) => status.find((line) => line.startsWith(`${name}:`)) ?? name),
    ...limitsIn(text("limits")),
    ...LINKS.map((name) => `${name}: ${readProcLink(`/proc/${pid}/${name}`)}`),
    `nice: ${nice}`,
    `label: ${labelOf(pid)}`,
  ].map((line) => line.replaceAll(/\s+/gu, " ").trimEnd()).join("\n");
}

function limitsIn(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const name = line.slice(0, 26).trimEnd();
    const enough = LIMITS[name];
    const [soft = ""] = line.slice(26).trim().split(/\s+/u);
    if (enough === undefined) return [];
    return [`${name}: ${Math.min(soft === "unlimited" ? Infinity : Number(soft), enough)}`];
  });
}

/** What a security module has named the process; empty where there is none. */
function labelOf(pid: number | "self"): string {
  try {
    return new TextDecoder().decode(readProcFile(`/proc/${pid}/attr/current`)).replace(/\0/gu, "");
  } catch (error) {
    if (error instanceof LibcError) return "";
    throw error;
  }
}
