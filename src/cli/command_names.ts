/** The commands beside a run; each is one only as the very first argument. */
export const COMMAND_NAMES = ["doctor", "sweep", "shim", "cassette", "completion", "man"] as const;

/** A command of the program's own. */
export type CommandName = (typeof COMMAND_NAMES)[number];

/** Whether an argument, as the very first, names a command. */
export function isCommandName(argument: string | undefined): argument is CommandName {
  return COMMAND_NAMES.some((name) => name === argument);
}
