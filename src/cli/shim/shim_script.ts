import { type Flag, FLAGS } from "../arguments/flags.ts";
import { SHIM_MARK } from "../../claude/program/find_claude.ts";
import { subcommandsOf } from "../../claude/versions/profiles.ts";
import { shellQuote } from "../../shell_quote.ts";

/** The subcommands of all versions: the shim does not know which version it hands on to. */
const CLAUDE_COMMANDS = subcommandsOf(undefined);

/**
 * The program `claude` that the shim is: a shell script that starts nothing but what it hands a call on to, in its own
 * place, and that knows from the table of flags which arguments are values.
 *
 * @param options.claudePrint claude-print as a command, a word each
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
  exec ${options.claudePrint.map(quoted).join(" ")} --shim-for "$@"
fi
exec "$@"
`;
}

/** A word as sh takes it literally. */
function quoted(word: string): string {
  return /^[\w./:@%+=-]+$/u.test(word) ? word : shellQuote(word);
}
