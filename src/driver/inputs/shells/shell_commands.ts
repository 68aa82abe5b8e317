import { LibcError } from "../../../../ffi/errno.ts";
import { OpenFolder } from "../../../../ffi/files/open_folder.ts";
import {
  readProcFile,
  readProcPids,
  readProcStrings,
  statProcFd,
} from "../../../../ffi/processes/proc.ts";
import { readProcessStat } from "../../../sandbox/run_processes.ts";

/** A number of threads that no Claude Code reaches. */
const MOST_THREADS = 1000;

/**
 * Reads the commands of a process's direct children, by the device and inode of their stdout. Processes that a shell
 * starts may write to the same file, but have another parent.
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
      // The process has ended, or belongs to another user.
      if (!(error instanceof LibcError)) throw error;
    }
  }
  return commands;
}

/** The texts before the command, sometimes after it, and before the file for the working directory. */
const BEFORE = "&& eval ";
const SILENT = " < /dev/null";
const AFTER = " && pwd -P >| ";

/**
 * Finds the command of a Bash call in the text of its shell.
 *
 * Claude Code sources a snapshot of the user's environment, passes the command to `eval` as one word, quoted if needed,
 * and then writes the working directory to a file (2.1.330).
 *
 * @returns the complete text if it has another form
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

/** The children of all threads of a process. */
function listChildren(parent: number): readonly number[] {
  const tasks = `/proc/${parent}/task`;
  // A kernel without CONFIG_PROC_CHILDREN does not list children. Then the parent of each process is read.
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
