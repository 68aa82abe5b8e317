import { fileAt, namesIn } from "../../../ffi/files/at_path.ts";
import { readJsonObject } from "../../sandbox/read_json_object.ts";
import type { ChildStatus } from "../../conversation/control/memory/child_memory.ts";

/** What the child reports of itself in `sessions/<pid>.json`. */
export type ToldStatus = ChildStatus & { readonly version?: string };

/** How old a state is that is the file's last for its time, in milliseconds: the clock of a disk is a coarse one. */
const SETTLED_MS = 1000;

/**
 * Reads the child's status file, which Claude Code rewrites whenever it becomes idle, busy or waits for a choice.
 *
 * The file is named after the pid that Claude Code has for itself. Where `claude` is a wrapper that starts it as another
 * process or in a pid namespace of its own, that is not the pid of the child: then the file that names the session counts.
 */
export class StatusSource {
  readonly #folder: string;
  readonly #sessionId: string;
  #path: string;
  #seen = "";
  /** The file as it was when it was read last, if it was old enough by then. */
  #settled = "";

  constructor(
    options: { readonly configDir: string; readonly pid: number; readonly sessionId: string },
  ) {
    this.#folder = `${options.configDir}/sessions`;
    this.#sessionId = options.sessionId;
    this.#path = `${this.#folder}/${options.pid}.json`;
  }

  /** The status, if the file was written since the last read. */
  read(): ToldStatus | undefined {
    const file = fileAt(this.#path) ?? this.#fileOfSession();
    // Not there yet, or already removed.
    if (file === undefined) return undefined;
    const mtime = file.mtime?.getTime() ?? Infinity;
    const written = `${file.ino} ${file.size} ${mtime}`;
    if (written === this.#settled) return undefined;
    if (Date.now() - mtime > SETTLED_MS) this.#settled = written;
    // Caught while it is being written it is no JSON: the next read tells.
    const { status, waitingFor, updatedAt, version } = readJsonObject(this.#path) ?? {};
    const seen = JSON.stringify([mtime, status, waitingFor, updatedAt]);
    if (seen === this.#seen || typeof status !== "string") return undefined;
    this.#seen = seen;
    return {
      status,
      ...(typeof waitingFor === "string" ? { waitingFor } : {}),
      ...(typeof updatedAt === "number" ? { updatedAt } : {}),
      ...(typeof version === "string" ? { version } : {}),
    };
  }

  #fileOfSession(): ReturnType<typeof fileAt> {
    for (const name of namesIn(this.#folder)) {
      const path = `${this.#folder}/${name}`;
      if (!name.endsWith(".json") || readJsonObject(path)?.["sessionId"] !== this.#sessionId) {
        continue;
      }
      this.#path = path;
      return fileAt(path);
    }
    return undefined;
  }
}
