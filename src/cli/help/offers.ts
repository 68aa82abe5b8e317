import { COMMAND_SHAPES, type CommandName } from "../arguments/command_shapes.ts";
import { type Flag, FLAGS, type FlagValue } from "../arguments/flags.ts";

/** What a shell may offer as a value. */
export type Values = readonly string[] | "files" | "folders" | "anything";

/** A flag as a completion sees it. */
export interface Offer {
  readonly short: readonly string[];
  readonly long: readonly string[];
  readonly value: FlagValue;
  /** The placeholder's words, without brackets. */
  readonly label: string;
  readonly values: Values;
  readonly repeatable: boolean;
  readonly help: string;
}

/** The flags of a run. */
export const RUN: readonly Offer[] = FLAGS
  .filter((flag) => !flag.hidden && flag.class !== "refused")
  .map(offer);

/** Those behind whose first value more follow that can be offered. */
export const VARIADIC = RUN.filter(({ value, values }) =>
  value === "variadic" && values !== "anything"
);

const HELP: Offer = offer({
  name: "--help",
  aliases: ["-h"],
  value: "none",
  placeholder: "",
  repeatable: false,
  help: "Print what the command does and exit",
});

function offer(
  flag: Pick<Flag, "name" | "aliases" | "value" | "placeholder" | "repeatable" | "help"> & {
    readonly choices?: Flag["choices"];
  },
): Offer {
  const { value, placeholder, choices, repeatable, help } = flag;
  const spellings = [flag.name, ...flag.aliases];
  const label = placeholder.replaceAll(/[<>[\].]/g, "");
  return {
    short: spellings.filter((one) => !one.startsWith("--")),
    long: spellings.filter((one) => one.startsWith("--")),
    value,
    label,
    values: choices ??
      valuesFor(label),
    repeatable,
    help,
  };
}

function valuesFor(label: string): Values {
  if (/folder|director/.test(label)) return "folders";
  return /file|path|config/.test(label) ? "files" : "anything";
}

/** The flags of a command. */
export function offersOf(command: CommandName): readonly Offer[] {
  return [
    ...COMMAND_SHAPES[command].flags.map((flag) =>
      offer({
        ...flag,
        aliases: [],
        value: flag.placeholder === "" ? "none" : "required",
        repeatable: false,
      })
    ),
    HELP,
  ];
}

/** What a command takes besides flags and its first word. */
export function othersOf(command: CommandName): { readonly name: string; readonly values: Values } {
  const [operands] = Object.values(COMMAND_SHAPES[command].operands ?? {});
  return operands === undefined
    ? { name: "", values: "anything" }
    : { name: operands.name, values: valuesFor(operands.placeholder) };
}

/** All names of a flag. */
export function spellings({ short, long }: Offer): readonly string[] {
  return [...short, ...long];
}
