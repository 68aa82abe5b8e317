import { findFlag, type Flag, refusalError } from "./flags.ts";
import { CliError } from "../../cli_error.ts";

/** One use of a flag. `value` is undefined for a switch and for an optional value left out. */
export type Use = { readonly flag: Flag; readonly value: string | undefined };

/** What is wrong with a command line. An unknown flag still lacks its suggestion. */
export type Mistake = CliError | { readonly unknownFlag: string };

/** A command line, taken apart; the first mistake in it is kept. */
export type Tokens = {
  readonly uses: readonly Use[];
  readonly operands: readonly string[];
  readonly information: "help" | "version" | "short version" | undefined;
  readonly problem: Mistake | undefined;
};

/** How an error of the command line begins. */
export const READING = "Cannot read the command line";

/** Whether Commander takes an argument for a flag: it begins with a dash and is not a lone dash. */
function looksLikeFlag(argument: string): boolean {
  return argument.length > 1 && argument.startsWith("-");
}

/** Splits a command line into uses of flags and operands; remembers the first mistake. */
export function tokenize(argv: readonly string[]): Tokens {
  // The next one stands last: taking the first of many moves all others.
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
        problem ??= new CliError(`${READING}: ${assigned.name} takes no value`, {
          suggestion: `Type ${assigned.name} alone`,
        });
      }
      use(assigned, { value: argument.slice(equals + 1), spelling: assigned.name });
      continue;
    }

    problem ??= { unknownFlag: argument };
  }
  return { uses, operands, information, problem };
}

/** What is wrong with one use of a flag, looked at alone. */
function problemWith(flag: Flag, value: string | undefined): CliError | undefined {
  if (flag.class === "refused") return refusalError(flag.name, flag.reason);
  if (value === undefined) {
    if (flag.value === "none" || flag.value === "optional" || flag.value === "attached") {
      return undefined;
    }
    return new CliError(`${READING}: ${flag.name} needs a value`, {
      suggestion: `Type ${flag.name} ${flag.placeholder}`,
    });
  }
  if (flag.choices !== undefined && !flag.choices.includes(value)) {
    return new CliError(`${READING}: ${flag.name} does not take "${value}"`, {
      suggestion: `Use one of ${flag.choices.join(", ")}`,
    });
  }
  return undefined;
}
