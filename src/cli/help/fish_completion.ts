import { COMMAND_NAMES, COMMAND_SHAPES } from "../arguments/command_shapes.ts";
import { type Offer, offersOf, othersOf, RUN, spellings, type Values, VARIADIC } from "./offers.ts";

/** The completions of the command line as a script for fish. */
export function fishCompletion(): string {
  const line = (condition: string, ...words: readonly string[]) =>
    ["complete -c claude-print", `-n ${fishQuoted(condition)}`, ...words].join(" ");
  const flags = (condition: string, offers: readonly Offer[]) =>
    offers.map((one) => line(condition, fishFlag(one)));
  const commands = COMMAND_NAMES.flatMap((name) => {
    const { first } = COMMAND_SHAPES[name];
    const others = othersOf(name);
    const command = `__claude_print_command ${name}`;
    return [
      "",
      line(
        "__claude_print_words 1",
        `-a ${name}`,
        `-d ${fishQuoted(COMMAND_SHAPES[name].summary)}`,
      ),
      ...flags(command, offersOf(name)),
      ...(first === undefined ? [] : [
        line(`${command} && __claude_print_words 2`, `-a ${fishQuoted(first.choices.join(" "))}`),
      ]),
      ...(others.values === "anything" ? [] : [line(
        first === undefined ? command : `${command} && not __claude_print_words 2`,
        ...fishValues(others.values),
      )]),
    ];
  });
  const variadic = VARIADIC.map((one) =>
    line(
      `__claude_print_run && __claude_print_behind ${spellings(one).join(" ")}`,
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
${flags("__claude_print_run", RUN).join("\n")}
${commands.join("\n")}
`;
}

function fishFlag({ short, long, value, values, help }: Offer): string {
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

function fishValues(values: Values): readonly string[] {
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

/** A word for fish, where a backslash can escape in single quotes. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
}
