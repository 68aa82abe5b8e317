import type { Shell } from "../arguments/parsed_arguments.ts";
import { COMMAND_NAMES, COMMAND_SHAPES, type CommandName } from "../arguments/command_shapes.ts";
import { shellQuote } from "../../shell_quote.ts";
import { type Flag, FLAGS, type FlagValue } from "../arguments/flags.ts";

/**
 * Returns the completions of the command line as a script for a shell. Hidden and refused flags are left out.
 */
export function completion(shell: Shell): string {
  switch (shell) {
    case "bash":
      return bashCompletion();
    case "zsh":
      return zshCompletion();
    case "fish":
      return fishCompletion();
  }
}

function bashCompletion(): string {
  const commands = COMMAND_NAMES.map((name) => {
    const { action: first } = COMMAND_SHAPES[name];
    return [
      `    ${name})`,
      `      flags=${shellQuote(flagCompletions(name).flatMap(flagNames).join(" "))}`,
      `      first=${shellQuote(first?.choices.join(" ") ?? "")}`,
      `      others=${shellQuote(bashValues(operandCompletions(name).values))}`,
      "      ;;",
    ].join("\n");
  });
  // If a run also has a command's flag, both are the same flag.
  const flags = [...COMMAND_NAMES.flatMap(flagCompletions), ...RUN_FLAGS];
  const taken = new Map(
    flags.filter(({ value }) => value !== "none").flatMap((one) =>
      flagNames(one).map((spelling) =>
        [spelling, `${one.value} ${bashValues(one.values)}`] as const
      )
    ),
  );
  const rules = [...new Set(taken.values())].toSorted().map((rule) => {
    const names = [...taken].filter(([, one]) => one === rule).map(([name]) => name);
    return `    ${names.join(" | ")}) echo ${shellQuote(rule)} ;;`;
  });
  return `# Completions of claude-print for bash 4.4 or newer.

# Prints how a flag takes its value, and what the value is.
_claude_print_value() {
  case $1 in
${rules.join("\n")}
  esac
}

# Offers values: the words of a list, "files", "folders" or "anything".
_claude_print_offer() {
  case $1 in
    anything) ;;
    files) compopt -o default ;;
    folders) compopt -o dirnames ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2") ;;
  esac
}

_claude_print() {
  local cur=\${COMP_WORDS[COMP_CWORD]} command='' operands=0 takes='' values='' word i
  local flags=${shellQuote(RUN_FLAGS.flatMap(flagNames).join(" "))} first='' others=anything
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((i == 1)) && [[ ${shellQuote(` ${COMMAND_NAMES.join(" ")} `)} == *" $word "* ]]; then
      command=$word
    elif [[ $word == "=" && -n $takes ]]; then
      # Bash takes --flag=value for three words.
      takes=required
    elif [[ $takes == required ]]; then
      takes=''
    elif [[ $word == -- ]]; then
      return
    elif [[ $word == -* ]]; then
      read -r takes values <<< "$(_claude_print_value "$word")"
    else
      [[ $takes == variadic ]] || takes=''
      ((operands += 1))
    fi
  done
  case $command in
${commands.join("\n")}
  esac
  if [[ -n $takes && $cur == "=" ]]; then
    takes=required cur=''
  fi
  if [[ $takes == required || -n $takes && $cur != -* ]]; then
    _claude_print_offer "$values" "$cur"
  elif [[ $cur == -* ]]; then
    _claude_print_offer "$flags" "$cur"
  elif ((COMP_CWORD == 1)); then
    _claude_print_offer ${shellQuote(COMMAND_NAMES.join(" "))} "$cur"
  elif [[ -n $first ]] && ((operands == 0)); then
    _claude_print_offer "$first" "$cur"
  elif [[ -n $command ]]; then
    _claude_print_offer "$others" "$cur"
  fi
}

complete -F _claude_print claude-print
`;
}

function bashValues(values: ValueCompletion): string {
  return typeof values === "string" ? values : values.join(" ");
}

function fishCompletion(): string {
  const line = (condition: string, ...words: readonly string[]) =>
    ["complete -c claude-print", `-n ${fishQuoted(condition)}`, ...words].join(" ");
  const flags = (condition: string, offers: readonly FlagCompletion[]) =>
    offers.map((one) => line(condition, fishFlag(one)));
  const commands = COMMAND_NAMES.flatMap((name) => {
    const { action: first } = COMMAND_SHAPES[name];
    const others = operandCompletions(name);
    const command = `__claude_print_command ${name}`;
    return [
      "",
      line(
        "__claude_print_words 1",
        `-a ${name}`,
        `-d ${fishQuoted(COMMAND_SHAPES[name].summary)}`,
      ),
      ...flags(command, flagCompletions(name)),
      ...(first === undefined ? [] : [
        line(`${command} && __claude_print_words 2`, `-a ${fishQuoted(first.choices.join(" "))}`),
      ]),
      ...(others.values === "anything" ? [] : [line(
        first === undefined ? command : `${command} && not __claude_print_words 2`,
        ...fishValues(others.values),
      )]),
    ];
  });
  const variadic = VARIADIC_FLAGS.map((one) =>
    line(
      `__claude_print_run && __claude_print_behind ${flagNames(one).join(" ")}`,
      ...fishValues(one.values),
    )
  );
  return `# Completions of claude-print for fish.

# Whether so many words, the program included, come before the one to complete.
function __claude_print_words
    test (count (commandline -opc)) -eq $argv[1]
end

# Whether the first argument is one of these commands.
function __claude_print_command
    set -l words (commandline -opc)
    set -q words[2] && contains -- $words[2] $argv
end

function __claude_print_run
    not __claude_print_command ${COMMAND_NAMES.join(" ")}
end

# Whether the last flag is one of these.
function __claude_print_behind
    set -l flags (string match -- '-*' (commandline -opc))
    contains -- "$flags[-1]" $argv
end

complete -c claude-print -f
${variadic.join("\n")}
${flags("__claude_print_run", RUN_FLAGS).join("\n")}
${commands.join("\n")}
`;
}

function fishFlag({ short, long, value, values, help }: FlagCompletion): string {
  return [
    ...short.map((name) => `-s ${name.slice(1)}`),
    ...long.map((name) => `-l ${name.slice(2)}`),
    ...(value === "none" || value === "attached"
      ? []
      : value === "optional"
      ? fishValues(values)
      : [
        "-r",
        ...fishValues(values),
      ]),
    `-d ${fishQuoted(help)}`,
  ].join(" ");
}

function fishValues(values: ValueCompletion): readonly string[] {
  switch (values) {
    case "anything":
      return ["-f"];
    case "files":
      return ["-F"];
    case "folders":
      return ["-f", "-a '(__fish_complete_directories)'"];
    default:
      return ["-f", `-a ${fishQuoted(values.join(" "))}`];
  }
}

/** Quotes a word for fish, where a backslash escapes within single quotes. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
}

function zshCompletion(): string {
  const commands = COMMAND_NAMES.map((name) => {
    const { action: first } = COMMAND_SHAPES[name];
    const others = operandCompletions(name);
    const specs = [
      ...flagCompletions(name).map(zshFlag),
      ...(first === undefined ? [] : [shellQuote(`1:${first.name}:(${first.choices.join(" ")})`)]),
      ...(others.values === "anything"
        ? []
        : [shellQuote(`*:${others.name}:${zshValues(others.values)}`)]),
    ];
    return `    ${name})\n      ${zshArguments(specs, { indent: 6 })}\n      ;;`;
  });
  const variadic = VARIADIC_FLAGS.map((one) =>
    `    ${flagNames(one).join(" | ")}) ${zshValues(one.values)} ;;`
  );
  const descriptions = COMMAND_NAMES.map((name) =>
    `    ${shellQuote(`${name}:${COMMAND_SHAPES[name].summary.replaceAll(":", "\\:")}`)}`
  );
  return `#compdef claude-print
# Completions of claude-print for zsh.

_claude_print_first() {
  local -a commands=(
${descriptions.join("\n")}
  )
  _describe -t commands command commands
}

# Behind a flag with several values comes another one, or the prompt.
_claude_print_rest() {
  local -i i=CURRENT-1
  while (( i > 1 )) && [[ $words[i] != -* ]]; do
    (( i -= 1 ))
  done
  case $words[i] in
${variadic.join("\n")}
    *) _message prompt ;;
  esac
}

_claude_print() {
  local command=
  if (( CURRENT > 2 )) && [[ ${
    COMMAND_NAMES.map((name) => `$words[2] == ${name}`).join(" || ")
  } ]]; then
    command=$words[2]
    shift words
    (( CURRENT -= 1 ))
  fi
  case $command in
${commands.join("\n")}
    *)
      if (( CURRENT == 2 )) && [[ $words[CURRENT] != -* ]]; then
        _claude_print_first
        return
      fi
      ${zshArguments([...RUN_FLAGS.map(zshFlag), "'*: :_claude_print_rest'"], { indent: 6 })}
      ;;
  esac
}

if [[ $funcstack[1] == _claude-print ]]; then
  _claude_print "$@"
else
  compdef _claude_print claude-print
fi
`;
}

function zshArguments(specs: readonly string[], { indent }: { readonly indent: number }): string {
  return ["_arguments -S :", ...specs].join(` \\\n${" ".repeat(indent + 2)}`);
}

/** Formats a flag for `_arguments`. */
function zshFlag(one: FlagCompletion): string {
  const names = flagNames(one);
  const exclusion = one.repeatable ? "*" : names.length > 1 ? `(${names.join(" ")})` : "";
  const help = one.help.replaceAll(/[\\[\]]/g, "\\$&");
  const label = one.label.replaceAll(":", "\\:");
  const action = zshValues(one.values);
  const value = one.value === "none"
    ? ""
    : one.value === "optional" || one.value === "attached"
    ? `::${label}:${action}`
    : `:${label}:${action}`;
  return names
    .map((name) => {
      const joined = one.value === "none"
        ? ""
        : one.value === "attached"
        ? "=-"
        : name.startsWith("--")
        ? "="
        : "+";
      return shellQuote(`${exclusion}${name}${joined}[${help}]${value}`);
    })
    .join(" ");
}

function zshValues(values: ValueCompletion): string {
  switch (values) {
    case "anything":
      return " ";
    case "files":
      return "_files";
    case "folders":
      return "_files -/";
    default:
      return `(${values.join(" ")})`;
  }
}

/** Values that a shell offers: words, or names of files or folders. */
type ValueCompletion = readonly string[] | "files" | "folders" | "anything";

/** A flag for the completions. */
interface FlagCompletion {
  readonly short: readonly string[];
  readonly long: readonly string[];
  readonly value: FlagValue;
  /** The placeholder's words, without brackets. */
  readonly label: string;
  readonly values: ValueCompletion;
  readonly repeatable: boolean;
  readonly help: string;
}

/** The flags of a run. */
const RUN_FLAGS: readonly FlagCompletion[] = FLAGS
  .filter((flag) => !flag.hidden && flag.class !== "refused")
  .map(createFlagCompletion);

/** Flags with several values that can be completed. */
const VARIADIC_FLAGS = RUN_FLAGS.filter(({ value, values }) =>
  value === "variadic" && values !== "anything"
);

const HELP_FLAG: FlagCompletion = createFlagCompletion({
  name: "--help",
  aliases: ["-h"],
  value: "none",
  placeholder: "",
  repeatable: false,
  help: "Print what the command does and exit",
});

function createFlagCompletion(
  flag: Pick<Flag, "name" | "aliases" | "value" | "placeholder" | "repeatable" | "help"> & {
    readonly choices?: Flag["choices"];
  },
): FlagCompletion {
  const { value, placeholder, choices, repeatable, help } = flag;
  const spellings = [flag.name, ...flag.aliases];
  const label = placeholder.replaceAll(/[<>[\].]/g, "");
  return {
    short: spellings.filter((one) => !one.startsWith("--")),
    long: spellings.filter((one) => one.startsWith("--")),
    value,
    label,
    values: choices ??
      valuesByLabel(label),
    repeatable,
    help,
  };
}

function valuesByLabel(label: string): ValueCompletion {
  if (/folder|director/.test(label)) return "folders";
  return /file|path|config/.test(label) ? "files" : "anything";
}

function flagCompletions(command: CommandName): readonly FlagCompletion[] {
  return [
    ...COMMAND_SHAPES[command].flags.map((flag) =>
      createFlagCompletion({
        ...flag,
        aliases: [],
        value: flag.placeholder === "" ? "none" : "required",
        repeatable: false,
      })
    ),
    HELP_FLAG,
  ];
}

/** The operands of a command after its first word. */
function operandCompletions(
  command: CommandName,
): { readonly name: string; readonly values: ValueCompletion } {
  const [operands] = Object.values(COMMAND_SHAPES[command].operands ?? {});
  if (command === "help") return { name: "command", values: COMMAND_NAMES };
  return operands === undefined
    ? { name: "", values: "anything" }
    : { name: operands.name, values: valuesByLabel(operands.placeholder) };
}

function flagNames({ short, long }: FlagCompletion): readonly string[] {
  return [...short, ...long];
}
