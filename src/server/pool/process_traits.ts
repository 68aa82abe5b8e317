import { LibcError } from "../../../ffi/errno.ts";
import { readProcFile, readProcLink } from "../../../ffi/processes/proc.ts";

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
