import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { COMMAND_NAMES } from "../../../../src/cli/arguments/command_shapes.ts";
import { FLAGS } from "../../../../src/cli/arguments/flags.ts";
import { completion } from "../../../../src/cli/help/completion.ts";
import type { Shell } from "../../../../src/cli/arguments/parsed_arguments.ts";
import { missingTool } from "../../../missing_tool.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";
import { tempFolder } from "../../../temp_folder.ts";

const SHELLS: readonly Shell[] = ["bash", "zsh", "fish"];

/** How a shell's script spells a flag. */
function spelled(shell: Shell, spelling: string): RegExp {
  const word = shell !== "fish"
    ? spelling
    : spelling.startsWith("--")
    ? `-l ${spelling.slice(2)}`
    : `-s ${spelling.slice(1)}`;
  return new RegExp(String.raw`(?<=[\s'")*])${word}(?=[\s'"=+[])`);
}

Deno.test("a completion has the commands and the flags that work", () => {
  for (const shell of SHELLS) {
    const script = completion(shell);
    const plain = script.replaceAll(/[\\']/g, "");
    assert(script.endsWith("\n") && !script.endsWith("\n\n"));
    for (const name of COMMAND_NAMES) assertStringIncludes(script, name);
    for (const { name, aliases, hidden, help, class: kind } of FLAGS) {
      const isOffered = !hidden && kind !== "refused";
      for (const spelling of isOffered ? [name, ...aliases] : [name]) {
        assertEquals(spelled(shell, spelling).test(script), isOffered, `${shell} ${spelling}`);
      }
      if (isOffered && shell !== "bash") assertStringIncludes(plain, help.replaceAll("'", ""));
    }
  }
});

/** The commands that take paths, and whether a word comes before these. */
const OPERANDS = [
  ...[["shim", true, "folders"], ["cassette", true, "folders"]],
  ...[["drift", false, "files"], ["bisect", false, "files"]],
];

Deno.test("a completion offers paths after the commands that take them", () => {
  const condition = /-n '__claude_print_command (\w+)( && not __claude_print_words 2)?' /u.source;
  const offer = /(?:-f -a '\(__fish_complete_(director)ies\)'|-F)$/u.source;
  const fish = [...completion("fish").matchAll(new RegExp(condition + offer, "gmu"))];
  const ofFish = fish.map(([, name, word, folder]) => [
    ...[name, word !== undefined, folder === undefined ? "files" : "folders"],
  ]);
  const zsh = completion("zsh").split(/^ {4}(?=[a-z]+\)$)/mu).slice(1).map((part) =>
    /^(\w+)\)\n([^]*?)'\*:[^:]*:_files( -\/)?'\n {6};;/u.exec(part.split(/(?<=;;)/u)[0] ?? "")
  ).filter((match) => match !== null);
  const ofZsh = zsh.map(([, name, before, folder]) => [
    ...[name, /'1:/u.test(`${before}`), folder === undefined ? "files" : "folders"],
  ]);
  assertEquals([ofFish, ofZsh], [OPERANDS, OPERANDS]);
  // Zsh takes the value of a short flag without a sign.
  assertStringIncludes(completion("zsh"), "'(-n --name)-n+[");
  assertStringIncludes(completion("zsh"), "'(-n --name)--name=[");
  const [, cases] = /case \$words\[i\] in\n([^]*?)esac/u.exec(completion("zsh")) ?? [];
  assertEquals(cases?.trim().split(/\s*\n\s*/u), [
    ...["--add-dir) _files -/ ;;", "--mcp-config) _files ;;", "*) _message prompt ;;"],
  ]);
});

const FOUND = { files: ["file.txt", "folder"], folders: ["folder"], nothing: [] } as const;

/** What the real shells offer at the end of a line, in a folder that holds `file.txt` and `folder`. */
const CASES: readonly (readonly [line: string, offers: readonly string[] | keyof typeof FOUND])[] =
  [
    ["", COMMAND_NAMES],
    ["doc", ["doctor"]],
    ["--input-f", ["--input-file", "--input-format"]],
    ["hello --verb", ["--verbose"]],
    ["--output-format ", ["text", "json", "stream-json"]],
    ["--output-format s", ["stream-json"]],
    ["--output-format json --inject p", ["paste"]],
    ["--input-format ", ["text", "stream-json"]],
    ["hello doc", []],
    ["--model ", []],
    ["-- --verb", []],
    ["--resume --verb", ["--verbose"]],
    ["--add-dir here --verb", ["--verbose"]],
    ["doctor --o", ["--offline"]],
    ["doctor --verb", []],
    ["shim ", ["install", "remove", "status"]],
    ["completion f", ["fish"]],
    ["help dr", ["drift"]],
    ["completion fish b", []],
    ["cassette replay --h", ["--help"]],
    ["--input-file f", "files"],
    ["--mcp-config a.json f", "files"],
    ["--add-dir f", "folders"],
    ["--add-dir elsewhere f", "folders"],
    ["--record f", "folders"],
    ["shim install f", "folders"],
    ["cassette svg f", "folders"],
    ["doctor --claude-binary f", "files"],
    ["--model f", "nothing"],
    ["hello f", "nothing"],
  ];

/** What only bash offers: it takes "=" for a word of its own. */
const BASH_CASES: typeof CASES = [
  ["--output-format=j", ["json"]],
  ["--output-format=json --inject=st", ["stdin"]],
  ["--output-format=json doc", []],
];

/** Runs a shell that knows nothing of this machine's user, and returns what it prints for each line. */
function testIn(
  shell: Shell,
  { command, cases = CASES, offers }: {
    readonly command: (lines: readonly string[]) => readonly string[];
    readonly cases?: typeof CASES;
    /** Takes the offers from the text that is printed for a line. */
    readonly offers: (printed: string) => readonly string[];
  },
): void {
  Deno.test(skipIfLacking(missingTool(shell), {
    name: `${shell} offers fitting words and paths`,
    fn: async () => {
      using temp = tempFolder();
      const dir = temp.path;
      Deno.mkdirSync(`${dir}/folder`);
      Deno.writeTextFileSync(`${dir}/file.txt`, "");
      Deno.writeTextFileSync(`${dir}/_claude-print`, completion(shell));
      const { stdout, stderr } = await new Deno.Command(shell, {
        args: [...command(cases.map(([line]) => `claude-print ${line}`))],
        cwd: dir,
        clearEnv: true,
        env: { HOME: dir, PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TERM: "dumb" },
        stdin: "null",
        // A prompt that does not answer is a failure too.
        signal: AbortSignal.timeout(60_000),
      }).output();
      assertEquals(new TextDecoder().decode(stderr), "");
      const printed = new TextDecoder().decode(stdout).split(/^the end\r?$/m);
      for (const [index, [line, expected]] of cases.entries()) {
        const names = offers(`${printed[index]}`).map((name) => name.replace(/\/$/, ""));
        const fitting = typeof expected === "string" ? FOUND[expected] : expected;
        assertEquals(names.filter((name) => name !== "").toSorted(), fitting.toSorted(), line);
      }
    },
  }));
}

// Bash's own completion of names is asked for with compopt, which works only at a prompt.
const BASH = `
source ./_claude-print
compopt() { fallback=$2; }
complete -p claude-print | grep -q -e '-F _claude_print claude-print' || echo not registered
for words; do
  fallback='' COMP_WORDS=()
  IFS=$'\\n' read -r -d '' -a COMP_WORDS <<< "$words"
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  last=\${COMP_WORDS[COMP_CWORD]%$'\\036'}
  COMP_WORDS[COMP_CWORD]=$last
  _claude_print claude-print "$last" "\${COMP_WORDS[COMP_CWORD - 1]}"
  case $fallback in
    default) mapfile -t COMPREPLY < <(compgen -f -X _claude-print -- "$last") ;;
    dirnames) mapfile -t COMPREPLY < <(compgen -d -- "$last") ;;
  esac
  printf '%s\\n' "\${COMPREPLY[@]}" 'the end'
done
`;

testIn("bash", {
  cases: [...CASES, ...BASH_CASES],
  // The last word may be empty.
  command: (lines) => [
    ...["--norc", "-c", BASH, "bash"],
    ...lines.map((line) => `${line.replaceAll("=", " = ").replaceAll(/ +/g, "\n")}\x1e`),
  ],
  offers: (printed) => printed.split("\n"),
});

const FISH = `source ./_claude-print; for line in $argv; complete -C $line; echo "the end"; end`;

testIn("fish", {
  command: (lines) => ["--no-config", "-c", FISH, ...lines],
  offers: (printed) =>
    printed.split("\n").map((offer) => offer.replace(/\t.*$/, ""))
      .filter((offer) => !offer.startsWith("_")),
});

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

testIn("zsh", {
  command: (lines) => ["-f", "-o", "extendedglob", "-c", ZSH, "zsh", ...lines],
  offers: (printed) =>
    [...new Set(printed.split("\n"))].filter((offer) => offer !== "_claude-print"),
});
