import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { readProcFile, readProcLink } from "../../../ffi/processes/proc.ts";
import { folderParts } from "./folder_layout.ts";
import type { ForwardOptions } from "../transcripts/forward_transcripts.ts";
import { isJsonObject } from "../../json_object.ts";
import { readProcessStat } from "../run_processes.ts";

/** The process that owns a private folder, and the transcripts that would be lost with the folder. */
export interface Owner {
  /** The pid of `NO_PROCESS` if the run has ended and only transcripts that could not be forwarded are left. */
  readonly pid: number;
  /** Clock ticks from boot to the process's start: a later process with the same pid has another one. */
  readonly startTime: string;
  readonly host: string;
  /** The boot of the machine and the pid namespace in which the pid is valid. */
  readonly bootId: string;
  readonly pidNamespace: string;
  /** The folder's path when it was made. The run's processes have it in their environment. */
  readonly path: string;
  /** Folders outside of the private folder that Claude Code makes and leaves empty, without those that existed before. */
  readonly litter?: readonly string[];
  /** The session of the run; absent if it is not kept. */
  readonly session?: OwnedSession;
  /** The options for `forwardTranscripts`; absent before the child's start, and if the session is not kept. */
  readonly transcripts?: Omit<ForwardOptions, "from" | "given" | "goesOn">;
}

/** A session whose transcript has not been forwarded yet. */
export interface OwnedSession {
  readonly id: string;
  /** The config dir that it belongs to. */
  readonly configDir: string;
  /** When its run began, in milliseconds since the epoch, as exactly as the clock tells. */
  readonly since: number;
}

/** Whether the owner's process lives; "unknown" if it cannot be seen from here. */
export type OwnerState = "live" | "dead" | "unknown";

/** The owner's file, in the closed part of the folder. */
export const OWNER_FILE = "owner.json";

/** The owner of a folder whose run has ended: no process has this pid. */
export const NO_PROCESS = { pid: 0, startTime: "0" } as const;

/** The maximum size of the file, in bytes: more than the file of a session resumed with 100,000 files. */
const LIMIT = 16_000_000;

/** Returns this process as an owner. */
export function thisOwner(): Pick<Owner, "pid" | "startTime" | "host" | "bootId" | "pidNamespace"> {
  return { pid: Deno.pid, startTime: readProcessStat("self")?.startTime ?? "0", ...thisMachine() };
}

/** The names of the folders that Claude Code makes elsewhere: in `TMPDIR`, and for its sockets. */
const LITTER = [`claude-${Deno.uid()}`, "cc-socks", `cc-socks-${Deno.uid()}`] as const;

/**
 * Lists the folders that Claude Code may make outside of the private folder. Its sockets are in the runtime directory if
 * there is one, and in `/tmp` if the path of the private folder is too long for a socket.
 */
export function litterOf(
  { tmp, runtimeDir }: { readonly tmp: string; readonly runtimeDir?: string | undefined },
): readonly string[] {
  const [temporary, sockets, ownSockets] = LITTER;
  return [
    `${tmp}/${temporary}`,
    ...(runtimeDir === undefined ? [] : [`${runtimeDir}/${sockets}`]),
    `/tmp/${ownSockets}`,
  ];
}

/** Writes the owner's file atomically. */
export function writeOwner(folder: string, owner: Owner): void {
  const file = `${folderParts(folder).own}/${OWNER_FILE}`;
  Deno.writeTextFileSync(`${file}.part`, JSON.stringify(owner), { mode: 0o600 });
  Deno.renameSync(`${file}.part`, file);
}

/** Reads the owner's file; "broken" if its content is invalid. */
export function readOwner(folder: string): Owner | "missing" | "broken" {
  try {
    const bytes = readRegularFile(`${folderParts(folder).own}/${OWNER_FILE}`, { limit: LIMIT });
    const owner: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isOwner(owner) ? owner : "broken";
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "missing" : "broken";
  }
}

/**
 * Decides by pid, start time, boot and pid namespace whether an owner lives; `NO_PROCESS` is always dead.
 *
 * An owner of an earlier boot of this machine is dead. An owner on another machine or in another container is unknown.
 */
export function judgeOwner(owner: Owner): OwnerState {
  if (owner.pid === NO_PROCESS.pid) return "dead";
  const { host, bootId, pidNamespace } = thisMachine();
  if (owner.bootId !== bootId) return owner.host === host ? "dead" : "unknown";
  if (owner.pidNamespace !== pidNamespace) return "unknown";
  return isLiving(owner) ? "live" : "dead";
}

/** Whether a process of this pid namespace lives. */
export function isLiving({ pid, startTime }: Pick<Owner, "pid" | "startTime">): boolean {
  const stat = readProcessStat(pid);
  return stat !== undefined && !stat.ended && stat.startTime === startTime;
}

function thisMachine(): Pick<Owner, "host" | "bootId" | "pidNamespace"> {
  return {
    host: Deno.hostname(),
    bootId: new TextDecoder().decode(readProcFile("/proc/sys/kernel/random/boot_id")).trim(),
    pidNamespace: readProcLink("/proc/self/ns/pid"),
  };
}

function isOwner(value: unknown): value is Owner {
  if (!isJsonObject(value)) return false;
  const { pid, session, transcripts, litter = [] } = value;
  const names = ["startTime", "host", "bootId", "pidNamespace", "path"];
  return typeof pid === "number" && names.every((name) => typeof value[name] === "string") &&
    Array.isArray(litter) && litter.every(isLitter) &&
    (session === undefined || isSession(session)) &&
    (transcripts === undefined || isTranscripts(transcripts));
}

function isLitter(value: unknown): boolean {
  return typeof value === "string" && LITTER.some((name) => value.endsWith(`/${name}`));
}

function isSession(value: unknown): value is OwnedSession {
  return isJsonObject(value) && typeof value["id"] === "string" &&
    typeof value["configDir"] === "string" && typeof value["since"] === "number";
}

function isTranscripts(value: unknown): value is Owner["transcripts"] {
  if (!isJsonObject(value)) return false;
  const { to, resumed, brought = {} } = value;
  return typeof to === "string" && isJsonObject(resumed) &&
    Object.values(resumed).every((size) => typeof size === "number") && isJsonObject(brought) &&
    Object.values(brought).every((place) =>
      isJsonObject(place) && typeof place["here"] === "number" && typeof place["there"] === "number"
    );
}
