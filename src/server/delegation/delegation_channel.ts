import deno from "../../../deno.json" with { type: "json" };
import { closeFd, sendFd } from "../../../ffi/descriptors/fd.ts";
import { receiveFds, sendFds } from "../../../ffi/descriptors/passed_fds.ts";
import type { Interest, Ready } from "../../../ffi/descriptors/poll.ts";
import { WriteQueue } from "../../../ffi/descriptors/write_queue.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { readProcFile, readProcLink } from "../../../ffi/processes/proc.ts";

/** The number of bytes of a read. */
const READ_BYTES = 256 * 1024;
/** The maximum length of a line, in UTF-16 units: room for the longest prompt, environment and command line. */
const MAX_LINE = 64 * 1024 * 1024;

const LINE_FEED = 0x0a;

/**
 * One end of the connection between a client, which delegates a run, and the server. Each message is one line of JSON.
 * The client also passes descriptors.
 */
export class LineChannel implements Disposable {
  readonly #fd: number;
  readonly #queue = new WriteQueue();
  readonly #decoder = new TextDecoder();
  readonly #encoder = new TextEncoder();
  #fds: number[] = [];
  #incompleteLine = "";
  #isClosed = false;

  /** @param fd a nonblocking socket, which the channel closes */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Whether the other end has disconnected, or sent data that is not JSON lines. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether a message has not been written to the socket yet. */
  get hasUnsent(): boolean {
    return this.#queue.pending > 0 && !this.#isClosed;
  }

  /** The descriptors to poll. */
  get interests(): readonly Interest[] {
    return this.#isClosed ? [] : [{ fd: this.#fd, read: true, write: this.hasUnsent }];
  }

  /** Sends a message. Descriptors `fds` can only be sent while no message is queued. */
  send(message: unknown, { fds = [] }: { readonly fds?: readonly number[] } = {}): void {
    if (this.#isClosed) return;
    let bytes = this.#encoder.encode(`${JSON.stringify(message)}\n`);
    if (fds.length > 0) {
      const count = sendFds(this.#fd, { bytes: bytes.subarray(0, 1), fds });
      if (count === "end") return this.#close();
      if (count === "again") throw new Error("Cannot pass fds: the connection is not new");
      bytes = bytes.subarray(count);
    }
    this.#queue.push(bytes);
    this.#flush();
  }

  /** Returns the messages of all lines that have become complete since the last call. */
  receive(ready: readonly Ready[]): readonly unknown[] {
    const found = ready.find(({ fd }) => fd === this.#fd);
    if (found === undefined || this.#isClosed) return [];
    if (found.writable) this.#flush();
    if (!(found.readable || found.hangup)) return [];
    const received = receiveFds(this.#fd, { most: READ_BYTES });
    if (received === "again") return [];
    if (received === "end") {
      this.#close();
      return [];
    }
    this.#fds.push(...received.fds);
    return this.#parseLines(received.bytes);
  }

  /** Returns the descriptors that have arrived so far. The caller closes them. */
  takeFds(): readonly number[] {
    return this.#fds.splice(0);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const fd of this.takeFds()) closeFd(fd);
    closeFd(this.#fd);
  }

  #parseLines(bytes: Uint8Array<ArrayBuffer>): readonly unknown[] {
    const text = this.#incompleteLine + this.#decoder.decode(bytes, { stream: true });
    // A long line arrives in many pieces. Only new pieces are searched.
    if (!bytes.includes(LINE_FEED)) {
      this.#incompleteLine = text;
      if (text.length > MAX_LINE) this.#close();
      return [];
    }
    const lines = text.split("\n");
    this.#incompleteLine = lines.pop() ?? "";
    try {
      return lines.map((line): unknown => JSON.parse(line));
    } catch {
      this.#close();
      return [];
    }
  }

  #flush(): void {
    if (this.#queue.flush(this.#fd, sendFd) === "end") this.#close();
  }

  #close(): void {
    this.#isClosed = true;
  }
}

/** A message of the server to its client. */
export type ServerMessage =
  /** The server does not carry out the run, and has done nothing for it. */
  | { readonly type: "refused"; readonly reason: string }
  /** The server accepts the run, and waits for the client's descriptors. */
  | { readonly type: "taken" }
  /** The next step of the run has visible effects, so the server waits for `go`. */
  | { readonly type: "ready" }
  /** The run has ended, and all its processes and files are removed. */
  | { readonly type: "exit"; readonly code: number };

/**
 * Identifies this program and its version. Two processes with the same identity use the same messages and behave the same.
 *
 * Includes size and time of the main file, because the version of a development checkout does not change with its sources.
 */
export function programIdentity(): string {
  const program = Deno.build.standalone ? Deno.execPath() : new URL(Deno.mainModule).pathname;
  return [deno.version, Deno.version.deno, ...fileState(program)].join(" ");
}

function fileState(path: string): readonly unknown[] {
  try {
    const { size, mtime } = Deno.statSync(path);
    return [size, mtime?.getTime()];
  } catch {
    return [];
  }
}

/** Fields of `/proc/PID/status` that child processes inherit. */
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

/** Namespaces, and the root folder, as links below `/proc/PID`. */
const LINKS = ["ns/cgroup", "ns/ipc", "ns/mnt", "ns/net", "ns/pid", "ns/user", "ns/uts", "root"];

/**
 * Limits that can stop a run, by their names in `/proc/PID/limits`. Above the given value, a higher limit makes no
 * difference. Other limits differ between login sessions and do not affect a run.
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

/** Index of the nice value in the fields of `/proc/PID/stat` that follow the name of the program. */
const NICE_FIELD = 16;

/**
 * Describes the properties of a process that its children inherit: umask, limits, user, capabilities, namespaces, nice
 * value, security label. A child of the server may only serve a client whose traits are equal.
 *
 * @throws {LibcError} when the process has ended or belongs to another user
 */
export function processTraits(pid: number | "self"): string {
  const text = (name: string) => new TextDecoder().decode(readProcFile(`/proc/${pid}/${name}`));
  const status = text("status").split("\n");
  const stat = text("stat");
  const nice = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[NICE_FIELD];
  return [
    ...STATUS.map((name) => status.find((line) => line.startsWith(`${name}:`)) ?? name),
    ...formatLimits(text("limits")),
    ...LINKS.map((name) => `${name}: ${readProcLink(`/proc/${pid}/${name}`)}`),
    `nice: ${nice}`,
    `label: ${securityLabel(pid)}`,
  ].map((line) => line.replaceAll(/\s+/gu, " ").trimEnd()).join("\n");
}

function formatLimits(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const name = line.slice(0, 26).trimEnd();
    const enough = LIMITS[name];
    const [soft = ""] = line.slice(26).trim().split(/\s+/u);
    if (enough === undefined) return [];
    return [`${name}: ${Math.min(soft === "unlimited" ? Infinity : Number(soft), enough)}`];
  });
}

/** The label of a security module such as AppArmor; empty without one. */
function securityLabel(pid: number | "self"): string {
  try {
    return new TextDecoder().decode(readProcFile(`/proc/${pid}/attr/current`)).replace(/\0/gu, "");
  } catch (error) {
    if (error instanceof LibcError) return "";
    throw error;
  }
}
