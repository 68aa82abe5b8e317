import { findFlag, type Flag, refusalError, usageError } from "./flags.ts";
import type { CliError } from "../../cli_error.ts";

/** One use of a flag. `value` is undefined for a switch and for an optional value left out. */
export type Use = { readonly flag: Flag; readonly value: string | undefined };

/** A mistake in a command line. For an unknown flag the error is created later, with a suggestion. */
export type Mistake = CliError | { readonly unknownFlag: string };

/** A command line split into flags and operands, and the first mistake in it. */
export type Tokens = {
  readonly uses: readonly Use[];
  readonly operands: readonly string[];
  readonly information: "help" | "version" | "short version" | undefined;
  readonly problem: Mistake | undefined;
};

/** Commander takes an argument for a flag if it begins with a dash and is not a lone dash. */
function looksLikeFlag(argument: string): boolean {
  return argument.length > 1 && argument.startsWith("-");
}

/** Splits a command line into uses of flags and operands. */
export function tokenize(argv: readonly string[]): Tokens {
  // Reversed: pop() takes the next argument; shift() would move all others.
  const rest = argv.toReversed();
  const uses: Use[] = [];
  const operands: string[] = [];
  let information: Tokens["information"];
  let problem: Mistake | undefined;
  let variadic: Flag | undefined;

  const use = (
    flag: Flag,
    { value, spelling }: { value: string | undefined; spelling: string },
  ) => {
    if (flag.name === "--help") information ??= "help";
    if (flag.name === "--version") information ??= spelling === "-v" ? "short version" : "version";
    problem ??= problemWith(flag, value);
    uses.push({ flag, value });
  };

  for (let argument = rest.pop(); argument !== undefined; argument = rest.pop()) {
    if (argument === "--") {
      for (const operand of rest.toReversed()) operands.push(operand);
      break;
    }
    if (!looksLikeFlag(argument)) {
      if (variadic === undefined) operands.push(argument);
      else use(variadic, { value: argument, spelling: variadic.name });
      continue;
    }
    variadic = undefined;

    const exact = findFlag(argument);
    if (exact !== undefined) {
      const next = rest.at(-1);
      const takesNext = exact.value === "required" || exact.value === "variadic" ||
        (exact.value === "optional" && next !== undefined && !looksLikeFlag(next));
      use(exact, { value: takesNext ? rest.pop() : undefined, spelling: argument });
      if (exact.value === "variadic") variadic = exact;
      continue;
    }

    const clustered = argument.startsWith("--") ? undefined : findFlag(argument.slice(0, 2));
    if (clustered !== undefined) {
      const tail = argument.slice(2);
      if (clustered.value === "none") {
        use(clustered, { value: undefined, spelling: argument.slice(0, 2) });
        rest.push(`-${tail}`);
      } else {
        use(clustered, { value: tail, spelling: argument.slice(0, 2) });
      }
      continue;
    }

    const equals = argument.indexOf("=");
    const assigned = argument.startsWith("--") && equals > 2
      ? findFlag(argument.slice(0, equals))
      : undefined;
    if (assigned !== undefined) {
      if (assigned.value === "none" && assigned.class !== "refused") {
        problem ??= usageError(`${assigned.name} takes no value`, `Type ${assigned.name} alone`);
      }
      use(assigned, { value: argument.slice(equals + 1), spelling: assigned.name });
      continue;
    }

    problem ??= { unknownFlag: argument };
  }
  return { uses, operands, information, problem };
}

/** Returns the mistake in one use of a flag, regardless of other flags. */
function problemWith(flag: Flag, value: string | undefined): CliError | undefined {
  if (flag.class === "refused") return refusalError(flag.name, flag.reason);
  if (value === undefined) {
    if (flag.value === "none" || flag.value === "optional" || flag.value === "attached") {
      return undefined;
    }
    return usageError(`${flag.name} needs a value`, `Type ${flag.name} ${flag.placeholder}`);
  }
  if (flag.choices !== undefined && !flag.choices.includes(value)) {
    return usageError(
      `${flag.name} does not take "${value}"`,
      `Use one of ${flag.choices.join(", ")}`,
    );
  }
  return undefined;
}

/** The flags of a command line, by name. */
export interface FlagValues {
  /** Returns all values of a flag; "" for a use without a value. */
  readonly all: (name: string) => readonly string[];
  readonly last: (name: string) => string | undefined;
  readonly given: (name: string) => boolean;
}

export function flagValues(uses: readonly Use[]): FlagValues {
  const all = (name: string) =>
    uses.filter(({ flag }) => flag.name === name).map(({ value }) => value ?? "");
  return {
    all,
    last: (name) => all(name).at(-1),
    given: (name) => uses.some(({ flag }) => flag.name === name),
  };
}
