import type { CommandName } from "./command_names.ts";
import { COMMAND_SHAPES } from "./command_shapes.ts";

/** The command lines of a command, such as `claude-print shim status [folder]`. */
export function commandUsage(command: CommandName): readonly string[] {
  const { flags, first, second } = COMMAND_SHAPES[command];
  const start = `claude-print ${command}${flags.length > 0 ? " [flags]" : ""}`;
  if (first === undefined) return [start];
  return first.choices.map((word) => {
    if (second === undefined) return `${start} ${word}`;
    const { placeholder, optionalFor } = second;
    return `${start} ${word} ${optionalFor === word ? `[${placeholder}]` : `<${placeholder}>`}`;
  });
}
