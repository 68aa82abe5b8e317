import { shellQuote } from "../../shell_quote.ts";

/** What a shell of the tool Bash finds in the folder of its streams. */
export const SHELL_FOLDER = {
  /** The FIFO on which a shell announces its pid. */
  calls: "calls",
  /** A FIFO on which nothing ever comes: a shell waits for a moment by it. */
  idle: "idle",
  /** What follows the pid in the name of the file to which its stderr goes. */
  stderr: ".err",
  /** What follows it in the name of a file that lets the shell begin. */
  go: ".go",
} as const;

/** How often a shell looks whether it may begin, and how long it waits in between, in seconds. */
const LOOKS = 2500;
const PAUSE_S = 0.002;

/** What stands in the place of the user's shell. */
export interface SplitShell {
  /** The script's path, which names the shell that it is for. */
  readonly path: string;
  /** The shell that Claude Code would have taken. */
  readonly shell: string;
  /** The caller's `CLAUDE_CODE_SHELL`. */
  readonly named: string | undefined;
  /** The folder of the streams. */
  readonly folder: string;
}

/**
 * The script that stands in the place of the user's shell, so that what a command writes to stderr can be told from what
 * it writes to stdout. Claude Code gives both the same open file. The script opens that file a second time for stderr, by
 * another name that is gone at once (2.1.330 reads no file that has two), announces itself, and then is the user's shell.
 *
 * So everything that is decided about a command, by whomever, is decided about the command itself; what it writes goes
 * where it always goes, and nothing stands between it and Claude Code. Whoever does not answer in five seconds is not
 * waited for any longer.
 */
export function shellScript({ shell, named, folder }: SplitShell): string {
  const { calls, idle, stderr, go } = SHELL_FOLDER;
  return `#!/bin/bash -p
d=${shellQuote(folder)}
if [[ $1 == -c && -f /proc/self/fd/1 ]] && /bin/ln -L /proc/self/fd/1 "$d/$$${stderr}" 2> /dev/null; then
  [[ -w $d/$$${stderr} ]] && exec 2>> "$d/$$${stderr}"
  /bin/rm -f "$d/$$${stderr}"
  printf '\\n%s\\n' "$$" 1<> "$d/${calls}"
  for ((i = 0; i < ${LOOKS}; i++)); do
    [[ -e $d/$$${go} ]] && break
    read -rt ${PAUSE_S} <> "$d/${idle}"
  done
fi
export SHELL=${shellQuote(shell)}
${named === undefined ? "unset CLAUDE_CODE_SHELL" : `export CLAUDE_CODE_SHELL=${shellQuote(named)}`}
exec ${shellQuote(shell)} "$@"
`;
}

/** The shell that Claude Code takes for the tool Bash: one that the caller names, if it is a bash or a zsh. */
export function shellOf(env: Readonly<Record<string, string>>): string {
  const named = [env["CLAUDE_CODE_SHELL"], env["SHELL"]];
  return named.find((path) => path !== undefined && /^\/.*(?:bash|zsh)/u.test(path)) ?? "/bin/bash";
}
