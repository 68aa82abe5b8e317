import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { COMMAND_NAMES } from "../../../src/cli/command_shapes.ts";
import { FLAGS } from "../../../src/cli/flags.ts";
import { completion } from "../../../src/cli/help/completion.ts";
import type { Shell } from "../../../src/cli/parsed_arguments.ts";
import { lackOf } from "../../find_tool.ts";
import { unlessLacking } from "../../unless_lacking.ts";

const SHELLS: readonly Shell[] = ["bash", "zsh", "fish"];
const OFFERED = FLAGS.filter((flag) => !flag.hidden && flag.class !== "refused");
const NOT_OFFERED = FLAGS.filter((flag) => flag.hidden || flag.class === "refused");

/** How a shell's script spells a flag. */
function spelled(shell: Shell, spelling: string): RegExp {
  const word = shell !== "fish"
    ? spelling
    : spelling.startsWith("--")
    ? `-l ${spelling.slice(2)}`
    : `-s ${spelling.slice(1)}`;
  return new RegExp(String.raw`(?<=[\s'")*])${word}(?=[\s'"=+[])`);
}

for (const shell of SHELLS) {
  Deno.test(`${shell}'s completion has every flag that works, and no other`, () => {
    const script = completion(shell);
    for (const { name, aliases } of OFFERED) {
      for (const spelling of [name, ...aliases]) {
        assert(spelled(shell, spelling).test(script), spelling);
      }
    }
    for (const { name } of NOT_OFFERED) assert(!spelled(shell, name).test(script), name);
  });

  Deno.test(`${shell}'s completion has the commands, and ends in a new line`, () => {
    const script = completion(shell);
    for (const name of COMMAND_NAMES) assertStringIncludes(script, name);
    assert(script.endsWith("\n") && !script.endsWith("\n\n"));
  });
}

for (const shell of ["zsh", "fish"] as const) {
  Deno.test(`${shell}'s completion describes the flags`, () => {
    const plain = (text: string) => text.replaceAll(/[\\']/g, "");
    const script = plain(completion(shell));
    for (const { help } of OFFERED) assertStringIncludes(script, plain(help));
  });
}

/** What the real shells offer at the end of a command line. */
const CASES: readonly (readonly [line: string, offers: readonly string[]])[] = [
  ["claude-print ", COMMAND_NAMES],
  ["claude-print doc", ["doctor"]],
  ["claude-print --input-f", ["--input-file", "--input-format"]],
  ["claude-print hello --verb", ["--verbose"]],
  ["claude-print --output-format ", ["text", "json", "stream-json"]],
  ["claude-print --output-format s", ["stream-json"]],
  ["claude-print --output-format json --inject p", ["paste"]],
  ["claude-print --input-format ", ["text", "stream-json"]],
  ["claude-print hello doc", []],
  ["claude-print --model ", []],
  ["claude-print -- --verb", []],
  ["claude-print --resume --verb", ["--verbose"]],
  ["claude-print --add-dir here --verb", ["--verbose"]],
  ["claude-print doctor --o", ["--offline"]],
  ["claude-print doctor --verb", []],
  ["claude-print shim ", ["install", "remove", "status"]],
  ["claude-print completion f", ["fish"]],
  ["claude-print completion fish b", []],
  ["claude-print cassette replay --h", ["--help"]],
];

/** The same for lines that end in a name, in a folder that holds `file.txt` and `folder`. */
const PATH_CASES: readonly (readonly [line: string, offers: "files" | "folders" | "nothing"])[] = [
  ["claude-print --input-file f", "files"],
  ["claude-print --mcp-config a.json f", "files"],
  ["claude-print --add-dir f", "folders"],
  ["claude-print --add-dir elsewhere f", "folders"],
  ["claude-print --record f", "folders"],
  ["claude-print shim install f", "folders"],
  ["claude-print cassette svg f", "folders"],
  ["claude-print doctor --claude-binary f", "files"],
  ["claude-print --model f", "nothing"],
  ["claude-print hello f", "nothing"],
];

const FOUND = { files: ["file.txt", "folder"], folders: ["folder"], nothing: [] } as const;

/** What a shell offers at the end of each of some lines. */
type Offers = (
  lines: readonly string[],
  dir: string,
) => Promise<readonly (readonly string[])[]>;

function testIn(shell: Shell, offers: Offers): void {
  Deno.test(unlessLacking(lackOf(shell), {
    name: `${shell} offers what fits`,
    fn: async () => {
      const dir = await Deno.realPath(await Deno.makeTempDir());
      try {
        await Deno.mkdir(`${dir}/folder`);
        await Deno.writeTextFile(`${dir}/file.txt`, "");
        await Deno.writeTextFile(`${dir}/_claude-print`, completion(shell));
        const cases = [
          ...CASES,
          ...PATH_CASES.map(([line, expected]) => [line, FOUND[expected]] as const),
        ];
        const all = await offers(cases.map(([line]) => line), dir);
        for (const [index, [line, expected]] of cases.entries()) {
          const names = (all[index] ?? []).map((name) => name.replace(/\/$/, ""));
          assertEquals(names.toSorted(), expected.toSorted(), line);
        }
      } finally {
        await Deno.remove(dir, { recursive: true });
      }
    },
  }));
}

/** Runs a shell that knows nothing of this machine's user, and returns the lines it prints. */
async function linesOf(
  [program = "", ...args]: readonly string[],
  dir: string,
): Promise<readonly string[]> {
  const { stdout, stderr } = await new Deno.Command(program, {
    args,
    cwd: dir,
    clearEnv: true,
    env: { HOME: dir, PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TERM: "dumb" },
    stdin: "null",
    // A prompt that does not answer is a failure too.
    signal: AbortSignal.timeout(60_000),
  }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
  return new TextDecoder().decode(stdout).split(/\r?\n/).filter((line) => line !== "");
}

// Bash's own completion of names is asked for with compopt, which works only at a prompt.
const BASH = `
source ./_claude-print
compopt() { fallback=$2; }
complete -p claude-print | grep -q -e '-F _claude_print claude-print' || echo not registered
IFS=$'\\n' read -r -d '' -a COMP_WORDS <<< "$1"
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
last=\${COMP_WORDS[COMP_CWORD]%$'\\036'}
COMP_WORDS[COMP_CWORD]=$last
_claude_print claude-print "$last" "\${COMP_WORDS[COMP_CWORD - 1]}"
case $fallback in
  default) mapfile -t COMPREPLY < <(compgen -f -X _claude-print -- "$last") ;;
  dirnames) mapfile -t COMPREPLY < <(compgen -d -- "$last") ;;
esac
printf '%s\\n' "\${COMPREPLY[@]}"
`;

/** The words of a line as bash sees them: "=" is one of its own, and the last may be empty. */
function bashWords(line: string): string {
  return `${line.replaceAll("=", " = ").replaceAll(/ +/g, "\n")}\x1e`;
}

const askBash = (line: string, dir: string) =>
  linesOf(["bash", "--norc", "-c", BASH, "bash", bashWords(line)], dir);

testIn("bash", (lines, dir) => Promise.all(lines.map((line) => askBash(line, dir))));

Deno.test(unlessLacking(lackOf("bash"), {
  name: "bash offers values behind a sign of equality",
  fn: async () => {
    const dir = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${dir}/_claude-print`, completion("bash"));
      const offers = (line: string) => askBash(line, dir);
      assertEquals(await offers("claude-print --output-format=j"), ["json"]);
      assertEquals(await offers("claude-print --output-format=json --inject=st"), ["stdin"]);
      assertEquals(await offers("claude-print --output-format=json doc"), []);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
}));

testIn("fish", (lines, dir) =>
  Promise.all(lines.map(async (line) => {
    const script = `source ./_claude-print; complete -C "${line}"`;
    const offers = await linesOf(["fish", "--no-config", "-c", script], dir);
    return offers.map((offer) => offer.replace(/\t.*$/, "")).filter((one) => !one.startsWith("_"));
  })));

// Zsh completes only at a prompt: here one in a terminal, in which compadd tells what it adds.
const ZSH = `
zmodload zsh/zpty
setup='
PS1= PS2= RPS1=
unsetopt prompt_cr prompt_sp beep
fpath=($PWD $fpath)
autoload -U compinit
compinit -D -u
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)(\\ *|) ]]; then builtin compadd "$@"; return; fi
  typeset -a hits
  builtin compadd -A hits "$@"
  (( $#hits )) && print -rC1 -- "hit:"$^hits
  builtin compadd "$@"
}
capture() { _main_complete; print -r -- "the end"; }
zle -C capture complete-word capture
bindkey "^I" capture
print -r -- re""ady
'
zpty z zsh -f -i
zpty -w z "$setup"
until [[ $line == *ready* ]]; do zpty -r z line || exit 1; done
for words in "$@"; do
  zpty -w -n z "$words"$'\\t'
  while zpty -r z line; do
    [[ $line == *hit:* ]] && print -r -- \${\${line##*hit:}%%[$'\\r\\n']##}
    [[ $line == *"the end"* ]] && break
  done
  print -r -- "the end"
  # The line is dropped.
  zpty -w -n z $'\\x15'
done
zpty -d z
`;

testIn("zsh", async (lines, dir) => {
  const command = ["zsh", "-f", "-o", "extendedglob", "-c", ZSH, "zsh", ...lines];
  const printed = (await linesOf(command, dir)).join("\n");
  return printed.split(/^the end$/m).map((part) =>
    [...new Set(part.split("\n"))].filter((one) => one !== "" && one !== "_claude-print")
  );
});
