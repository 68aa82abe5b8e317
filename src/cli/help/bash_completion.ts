import { COMMAND_NAMES, COMMAND_SHAPES } from "../arguments/command_shapes.ts";
import { offersOf, othersOf, RUN, spellings, type Values } from "./offers.ts";
import { shellQuote } from "../../shell_quote.ts";

/** The completions of the command line as a script for bash. */
export function bashCompletion(): string {
  const commands = COMMAND_NAMES.map((name) => {
    const { first } = COMMAND_SHAPES[name];
    return [
      `    ${name})`,
      `      flags=${shellQuote(offersOf(name).flatMap(spellings).join(" "))}`,
      `      first=${shellQuote(first?.choices.join(" ") ?? "")}`,
      `      others=${bashValues(othersOf(name).values)}`,
      "      ;;",
    ].join("\n");
  });
  // A flag of a command that a run has as well is the same flag.
  const flags = [...COMMAND_NAMES.flatMap(offersOf), ...RUN];
  const taken = new Map(
    flags.filter(({ value }) => value !== "none").flatMap((one) =>
      spellings(one).map((spelling) =>
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
  local flags=${shellQuote(RUN.flatMap(spellings).join(" "))} first='' others=anything
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

function bashValues(values: Values): string {
  return typeof values === "string" ? values : values.join(" ");
}
