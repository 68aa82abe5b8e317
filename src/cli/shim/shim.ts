import { entryAt } from "../../../ffi/files/at_path.ts";
import type { ShimOptions } from "../arguments/parsed_arguments.ts";
import { CliError } from "../../cli_error.ts";
import { print } from "../report/print.ts";
import { shimScript } from "./shim_script.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { currentFolder } from "../../run/facts/current_folder.ts";
import { findClaude, isShim } from "../../claude/program/find_claude.ts";
import { thisProgram } from "../../run/facts/this_program.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { absolutePath, parentOf } from "../../sandbox/paths.ts";

/**
 * Installs, removes or looks at the shim: a program `claude` that sends print-mode calls through claude-print.
 *
 * @returns the exit code; of `status` it is 0 only if "claude -p" typed here would go through claude-print
 * @throws {CliError} when there is something else in the shim's place, or the folder cannot be written
 */
export function shim(options: ShimOptions): number {
  switch (options.action) {
    case "install":
      return install(shimPath(options.dir));
    case "remove":
      return remove(shimPath(options.dir));
    case "status":
      return status(options.dir);
  }
}

/** Tells a person one line, in which names of folders are nothing but that. */
function say(line: string): void {
  print(Deno.stdout, `${nameUnseen(line)}\n`);
}

function shimPath(dir: string): string {
  const absolute = absolutePath(dir, currentFolder());
  return `${absolute.replace(/(?<!\/)\/+$/u, "")}/claude`;
}

function install(path: string): number {
  if (entryAt(path) !== undefined && !isShim(path)) {
    throw new CliError(`Cannot install the shim: "${path}" exists and is not a shim`, {
      suggestion: "Name a folder of its own, which comes before that one on PATH",
    });
  }
  const unfinished = `${path}.${crypto.randomUUID()}`;
  attempt("install the shim", () => {
    Deno.mkdirSync(folderOf(path), { recursive: true });
    try {
      Deno.writeTextFileSync(unfinished, shimScript({ claudePrint: thisProgram() }));
      // Not what the umask leaves of it: whoever may enter the folder may use it.
      Deno.chmodSync(unfinished, 0o755);
      Deno.renameSync(unfinished, path);
    } catch (error) {
      removeIfThere(unfinished);
      throw error;
    }
  });
  say(`Installed ${path}`);
  const { problem } = inspect(path);
  if (problem !== undefined) say(problem);
  return 0;
}

function remove(path: string): number {
  if (entryAt(path) === undefined) {
    throw new CliError(`Cannot remove the shim: there is no "${path}"`, {
      suggestion: '"claude-print shim status" says where on PATH there is one',
    });
  }
  if (!isShim(path)) {
    throw new CliError(`Cannot remove the shim: "${path}" is not a shim`, {
      suggestion: '"claude-print shim status" says where on PATH there is one',
    });
  }
  attempt("remove the shim", () => Deno.removeSync(path));
  say(`Removed ${path}`);
  return 0;
}

function status(dir: string | undefined): number {
  const path = dir === undefined
    ? searchPath().map((folder) => `${folder}/claude`).find((each) =>
      entryAt(each) !== undefined && isShim(each)
    )
    : shimPath(dir);
  if (path === undefined || entryAt(path) === undefined || !isShim(path)) {
    const where = path === undefined ? "on PATH" : `at ${path}`;
    say(`There is no shim ${where}; install one: claude-print shim install <folder>`);
    return 2;
  }
  const { problem, claude } = inspect(path);
  say(`shim    ${path}`);
  say(`claude  ${claude ?? "not found"}`);
  say(`state   ${problem ?? "on: claude -p goes through claude-print"}`);
  return problem === undefined ? 0 : 2;
}

/** Which claude a shim hands on to, and what keeps it from its work, in one sentence. */
function inspect(path: string): { readonly claude?: string; readonly problem?: string } {
  const env = callerEnvironment();
  let claude: string;
  try {
    claude = findClaude({ named: undefined, env, cwd: currentFolder() });
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { problem: `off: ${error.message}` };
  }
  const folder = folderOf(path);
  const order = searchPath();
  const at = order.findIndex((each) => isSameFolder(each, folder));
  const behind = order.findIndex((each) => isSameFolder(each, folderOf(claude)));
  if (at === -1 || at > behind) {
    const why = at === -1 ? "not on PATH" : `behind ${folderOf(claude)} on PATH`;
    return {
      claude,
      problem: `off: ${folder} is ${why}; put it first: export PATH="${folder}:$PATH"`,
    };
  }
  if (env["CLAUDE_PRINT_SHIM"] === "off") {
    return { claude, problem: "off: CLAUDE_PRINT_SHIM=off is in the environment" };
  }
  if (Deno.readTextFileSync(path) !== shimScript({ claudePrint: thisProgram() })) {
    return {
      claude,
      problem: `outdated: another claude-print made it; claude-print shim install ${folder}`,
    };
  }
  return { claude };
}

function searchPath(): readonly string[] {
  const cwd = currentFolder();
  return (callerEnvironment()["PATH"] ?? "").split(":")
    .map((folder) => absolutePath(folder, cwd))
    .map((folder) => folder.replace(/(?<=[^/]|^\/)\/+$/u, ""));
}

function folderOf(path: string): string {
  return parentOf(path) || "/";
}

function isSameFolder(one: string, other: string): boolean {
  try {
    return Deno.realPathSync(one) === Deno.realPathSync(other);
  } catch {
    return one === other;
  }
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // It was never written.
  }
}

function attempt(action: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw new CliError(
      `Cannot ${action}: ${error instanceof Error ? error.message : String(error)}`,
      { suggestion: "Name a folder that you may write to, such as ~/.local/bin", cause: error },
    );
  }
}
