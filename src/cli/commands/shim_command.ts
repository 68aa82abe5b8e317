import { entryAt, tryRemove } from "../../../ffi/files/at_path.ts";
import type { ShimOptions } from "../arguments/parsed_arguments.ts";
import { CliError } from "../../cli_error.ts";
import { print } from "../report/print.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { currentFolder, thisProgram } from "../../run/facts/this_process.ts";
import { findClaude, isShim, SHIM_MARK } from "../../claude/program/find_claude.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { absolutePath, parentOf } from "../../paths.ts";
import { type Flag, FLAGS } from "../arguments/flags.ts";
import { subcommandsOf } from "../../claude/versions/profiles.ts";
import { shellQuote } from "../../shell_quote.ts";

/**
 * Installs, removes or inspects the shim: a program `claude` that sends print-mode calls through claude-print.
 *
 * @returns the exit code; of `status` 0 only if "claude -p" typed here would go through claude-print
 * @throws {CliError} when another file is at the path of the shim, or the folder cannot be written
 */
export function shim(options: ShimOptions): number {
  switch (options.action) {
    case "install":
      return install(shimPath(options.dir));
    case "remove":
      return removeShim(shimPath(options.dir));
    case "status":
      return status(options.dir);
  }
}

function printLine(line: string): void {
  print(Deno.stdout, `${escapeInvisible(line)}\n`);
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
  tryOnDisk("install the shim", () => {
    Deno.mkdirSync(folderOf(path), { recursive: true });
    try {
      Deno.writeTextFileSync(unfinished, shimScript({ claudePrint: thisProgram() }));
      // Independent of the umask: every user who may enter the folder may use the shim.
      Deno.chmodSync(unfinished, 0o755);
      Deno.renameSync(unfinished, path);
    } catch (error) {
      tryRemove(unfinished);
      throw error;
    }
  });
  printLine(`Installed ${path}`);
  const { problem } = findProblem(path);
  if (problem !== undefined) printLine(problem);
  return 0;
}

function removeShim(path: string): number {
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
  tryOnDisk("remove the shim", () => Deno.removeSync(path));
  printLine(`Removed ${path}`);
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
    printLine(`There is no shim ${where}; install one: claude-print shim install <folder>`);
    return 2;
  }
  const { problem, claude } = findProblem(path);
  printLine(`shim    ${path}`);
  printLine(`claude  ${claude ?? "not found"}`);
  printLine(`state   ${problem ?? "on: claude -p goes through claude-print"}`);
  return problem === undefined ? 0 : 2;
}

/** Returns the claude behind a shim, and the reason if the shim has no effect. */
function findProblem(path: string): { readonly claude?: string; readonly problem?: string } {
  const env = callerEnvironment();
  let claude: string;
  try {
    claude = findClaude({ named: undefined, env, cwd: currentFolder() });
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { problem: `not active: ${error.message}` };
  }
  const folder = folderOf(path);
  const order = searchPath();
  const at = order.findIndex((each) => isSameFolder(each, folder));
  const claudeAt = order.findIndex((each) => isSameFolder(each, folderOf(claude)));
  if (at === -1 || at > claudeAt) {
    const put = at === -1 ? "first on PATH" : `before ${folderOf(claude)} on PATH`;
    return {
      claude,
      problem: `not active yet: put ${folder} ${put}: export PATH="${folder}:$PATH"`,
    };
  }
  if (env["CLAUDE_PRINT_SHIM"] === "off") {
    return { claude, problem: "not active: CLAUDE_PRINT_SHIM=off is in the environment" };
  }
  if (Deno.readTextFileSync(path) !== shimScript({ claudePrint: thisProgram() })) {
    return {
      claude,
      problem: `outdated: another claude-print made it; run claude-print shim install ${folder}`,
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

function tryOnDisk(action: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw new CliError(
      `Cannot ${action}: ${error instanceof Error ? error.message : String(error)}`,
      { suggestion: "Name a folder that you may write to, such as ~/.local/bin", cause: error },
    );
  }
}

/** The subcommands of all versions, because the shim does not know the version of the real claude. */
const CLAUDE_COMMANDS = subcommandsOf(undefined);

/**
 * Returns the shim: a shell script that starts no other process, but replaces itself by claude-print or the real
 * claude. It is generated from the table of flags, so it knows which arguments are values.
 *
 * @param options.claudePrint the words of the command that starts claude-print
 */
export function shimScript(options: { readonly claudePrint: readonly string[] }): string {
  const isShort = (spelling: string) => !spelling.startsWith("--");
  const spellings = (flags: readonly Flag[]) =>
    flags.flatMap(({ name, aliases }) => [name, ...aliases]);
  const valued = spellings(
    FLAGS.filter(({ value }) => value === "required" || value === "variadic"),
  )
    .filter((spelling) => !/^--(?:input|output)-format$/u.test(spelling));
  const switches = spellings(FLAGS.filter(({ value }) => value === "none")).filter(isShort)
    .map((spelling) => spelling.slice(1)).filter((letter) => letter.length === 1).join("");
  return `#!/bin/sh
${SHIM_MARK}, made by "claude-print shim install": print-mode calls go through claude-print,
# everything else to the real claude. CLAUDE_PRINT_SHIM=off sends everything to the real claude.

# Whether a program is a shim such as this one.
is_shim() {
  { IFS= read -r first && IFS= read -r second; } 2>/dev/null <"$1" || return 1
  [ "$first" = '#!/bin/sh' ] || return 1
  case $second in
    '${SHIM_MARK}'*) return 0 ;;
  esac
  return 1
}

# Prints the path of the first claude on PATH that is no shim.
find_claude() {
  rest=$PATH:
  while [ -n "$rest" ]; do
    folder=\${rest%%:*}
    rest=\${rest#*:}
    claude=\${folder:-.}/claude
    if [ -f "$claude" ] && [ -x "$claude" ] && ! is_shim "$claude"; then
      printf '%s\\n' "$claude"
      return
    fi
  done
}

# Whether claude would print with these arguments: -p, or what the Agent SDKs ask for, stream-json
# in and out.
is_print_mode() {
  case \${1-} in
    ${CLAUDE_COMMANDS.join(" | \\\n      ")}) return 1 ;;
  esac
  print=
  input=
  output=
  while [ $# -gt 0 ]; do
    case $1 in
      --) break ;;
      -h | --help | -v | --version) return 1 ;;
      -p | --print) print=yes ;;
      --input-format=*) input=\${1#*=} ;;
      --output-format=*) output=\${1#*=} ;;
      --input-format)
        input=\${2-}
        [ $# -eq 1 ] || shift
        ;;
      --output-format)
        output=\${2-}
        [ $# -eq 1 ] || shift
        ;;
      ${valued.join(" | \\\n        ")})
        [ $# -eq 1 ] || shift
        ;;
      --*) ;;
      -[${switches}]*)
        letters=\${1#-}
        while :; do
          case $letters in
            p*) print=yes ;;
          esac
          case $letters in
            [${switches}]?*) letters=\${letters#?} ;;
            *) break ;;
          esac
        done
        ;;
    esac
    shift
  done
  [ -n "$print" ] || [ "$input $output" = 'stream-json stream-json' ]
}

# In subshells, so that no variable of the caller's becomes another one.
set -- "$(find_claude)" "$@"
if [ -z "$1" ]; then
  echo 'claude: Cannot start claude: only the shim of claude-print is on PATH' >&2
  echo '  Put the folder of the real claude on PATH, behind that of the shim' >&2
  exit 127
fi
if [ "\${CLAUDE_PRINT_SHIM-}" != off ] && (shift && is_print_mode "$@"); then
  exec ${options.claudePrint.map(quoteIfNeeded).join(" ")} --shim-for "$@"
fi
exec "$@"
`;
}

/** Quotes a word for sh if necessary. */
function quoteIfNeeded(word: string): string {
  return /^[\w./:@%+=-]+$/u.test(word) ? word : shellQuote(word);
}
