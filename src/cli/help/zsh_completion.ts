import { COMMAND_NAMES, COMMAND_SHAPES } from "../arguments/command_shapes.ts";
import { type Offer, offersOf, othersOf, RUN, spellings, type Values, VARIADIC } from "./offers.ts";
import { shellQuote } from "../../shell_quote.ts";

/** The completions of the command line as a script for zsh. */
export function zshCompletion(): string {
  const commands = COMMAND_NAMES.map((name) => {
    const { first } = COMMAND_SHAPES[name];
    const others = othersOf(name);
    const specs = [
      ...offersOf(name).map(zshFlag),
      ...(first === undefined ? [] : [shellQuote(`1:${first.name}:(${first.choices.join(" ")})`)]),
      ...(others.values === "anything"
        ? []
        : [shellQuote(`*:${others.name}:${zshValues(others.values)}`)]),
    ];
    return `    ${name})\n      ${zshArguments(specs, { indent: 6 })}\n      ;;`;
  });
  const variadic = VARIADIC.map((one) =>
    `    ${spellings(one).join(" | ")}) ${zshValues(one.values)} ;;`
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
      ${zshArguments([...RUN.map(zshFlag), "'*: :_claude_print_rest'"], { indent: 6 })}
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

/** A flag as \`_arguments\` reads it, one word of the script. */
function zshFlag(one: Offer): string {
  const names = spellings(one);
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

function zshValues(values: Values): string {
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
