import { LibcError } from "../../../../ffi/errno.ts";
import { OpenFolder } from "../../../../ffi/files/open_folder.ts";
import {
  readProcFile,
  readProcPids,
  readProcStrings,
  statProcFd,
} from "../../../../ffi/processes/proc.ts";
import { readProcessStat } from "../../../sandbox/run_processes.ts";

/** More threads than a Claude Code has. */
const MOST_THREADS = 1000;

/**
 * What the shells were given to carry out that a process has started itself, by the file that their stdout is: device
 * and inode. What a shell starts may write to the same file, but has another parent.
 */
export function readShellCommands(parent: number): ReadonlyMap<string, string> {
  const commands = new Map<string, string>();
  for (const pid of listChildren(parent)) {
    try {
      const stdout = statProcFd(pid, 1);
      const given = readProcStrings(`/proc/${pid}/cmdline`).at(-1);
      if (stdout.kind !== "file" || given === undefined) continue;
      commands.set(stdout.id, parseShellCommand(new TextDecoder().decode(given)));
    } catch (error) {
      // It has ended meanwhile, or is somebody else's.
      if (!(error instanceof LibcError)) throw error;
    }
  }
  return commands;
}

/** What stands before that word, perhaps behind it, and then before the file for the working directory. */
const BEFORE = "&& eval ";
const SILENT = " < /dev/null";
const AFTER = " && pwd -P >| ";

/**
 * What the tool Bash was called with, in the text that its shell was given.
 *
 * Claude Code sources the user's surroundings, gives the command to `eval` as one word, in quotes where it needs them,
 * and then has the working directory written down (2.1.330).
 *
 * @returns the whole text where it is made otherwise
 */
export function parseShellCommand(text: string): string {
  const begin = text.indexOf(BEFORE) + BEFORE.length;
  const end = text.lastIndexOf(AFTER);
  const isKnown = begin >= BEFORE.length && begin <= end &&
    /^\S+$/u.test(text.slice(end + AFTER.length));
  if (!isKnown) return text;
  const given = text.slice(begin, end);
  const word = given.endsWith(SILENT) ? given.slice(0, -SILENT.length) : given;
  const [, quoted] = /^'(.*)'$/su.exec(word) ?? [];
  return quoted === undefined ? word : quoted.replaceAll(`'"'"'`, "'");
}

/** A process's children, whichever of its threads has started them. */
function listChildren(parent: number): readonly number[] {
  const tasks = `/proc/${parent}/task`;
  // Where the kernel does not list them (CONFIG_PROC_CHILDREN), each process is asked for its parent.
  if (textOf(`${tasks}/${parent}/children`) === undefined) {
    return readProcPids().filter((pid) => readProcessStat(pid)?.parent === parent);
  }
  using folder = OpenFolder.find(tasks, []);
  const threads = folder?.names({ most: MOST_THREADS }) ?? [];
  return threads.flatMap((thread) => (textOf(`${tasks}/${thread}/children`) ?? "").split(" "))
    .filter((pid) => pid !== "").map(Number);
}

function textOf(path: string): string | undefined {
  try {
    return new TextDecoder().decode(readProcFile(path));
  } catch (error) {
    if (error instanceof LibcError) return undefined;
    throw error;
  }
}
