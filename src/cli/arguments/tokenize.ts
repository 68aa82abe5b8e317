import { findFlag, type Flag } from "./flags.ts";
import { refusalError, switchValueError, usageError } from "./usage_errors.ts";
import type { CliError } from "../../cli_error.ts";

/** One use of a flag. `value` is undefined for a switch and for an omitted optional value. */
export type Use = {
  readonly flag: Flag;
  readonly value: string | undefined;
  /** Set for the second and each further value of one variadic flag. */
  readonly isFurther?: true;
};

/** A mistake in a command line. The error for an unknown flag is created later, with a suggestion. */
export type Mistake = CliError | { readonly unknownFlag: string };

/** A command line split into flags and operands, and the first mistake in it. */
export type Tokens = {
  readonly uses: readonly Use[];
  readonly operands: readonly string[];
  readonly information: "help" | "short help" | "version" | "short version" | undefined;
  readonly problem: Mistake | undefined;
};

/** Commander treats an argument as a flag if it begins with a dash and is not a single dash. */
function looksLikeFlag(argument: string): boolean {
  return argument.length > 1 && argument.startsWith("-");
}

/** Splits a command line into uses of flags and operands. */
export function tokenize(argv: readonly string[]): Tokens {
  return new Tokenizer(argv).split();
}

class Tokenizer {
  /** The remaining arguments in reverse order, because pop() takes the next one, and shift() would move all others. */
  readonly #rest: string[];
  readonly #uses: Use[] = [];
  readonly #operands: string[] = [];
  #information: Tokens["information"];
  #problem: Mistake | undefined;
  /** The flag that takes the following arguments. */
  #variadic: Flag | undefined;

  constructor(argv: readonly string[]) {
    this.#rest = argv.toReversed();
  }

  split(): Tokens {
    for (let argument = this.#rest.pop(); argument !== undefined; argument = this.#rest.pop()) {
      if (argument === "--") {
        for (const operand of this.#rest.toReversed()) this.#operands.push(operand);
        break;
      }
      if (looksLikeFlag(argument)) {
        this.#variadic = undefined;
        this.#takeFlag(argument);
      } else if (this.#variadic === undefined) this.#operands.push(argument);
      else this.#uses.push({ flag: this.#variadic, value: argument, isFurther: true });
    }
    return {
      uses: this.#uses,
      operands: this.#operands,
      information: this.#information,
      problem: this.#problem,
    };
  }

  #takeFlag(argument: string): void {
    const flag = findFlag(argument);
    if (flag !== undefined) return this.#takeWithNext(flag, argument);
    if (argument.startsWith("--")) return this.#takeAssigned(argument);
    const spelling = argument.slice(0, 2);
    const first = findFlag(spelling);
    if (first === undefined) {
      this.#problem ??= { unknownFlag: argument };
    } else if (first.value === "none") {
      // -pc is -p -c.
      this.#use(first, undefined, spelling);
      this.#rest.push(`-${argument.slice(2)}`);
    } else {
      this.#use(first, argument.slice(2), spelling);
    }
  }

  /** Takes `--flag`, and the next argument if it is the value of the flag. */
  #takeWithNext(flag: Flag, spelling: string): void {
    const next = this.#rest.at(-1);
    const takesNext = flag.value === "required" || flag.value === "variadic" ||
      (flag.value === "optional" && next !== undefined && !looksLikeFlag(next));
    this.#use(flag, takesNext ? this.#rest.pop() : undefined, spelling);
    if (flag.value === "variadic") this.#variadic = flag;
  }

  /** Takes `--flag=value`. */
  #takeAssigned(argument: string): void {
    const equals = argument.indexOf("=");
    const flag = equals > 2 ? findFlag(argument.slice(0, equals)) : undefined;
    if (flag === undefined) {
      this.#problem ??= { unknownFlag: argument };
      return;
    }
    if (flag.value === "none" && flag.class !== "refused") {
      this.#problem ??= switchValueError(flag.name);
    }
    this.#use(flag, argument.slice(equals + 1));
  }

  #use(flag: Flag, value: string | undefined, spelling = flag.name): void {
    if (flag.name === "--help") this.#information ??= spelling === "-h" ? "short help" : "help";
    if (flag.name === "--version") {
      this.#information ??= spelling === "-v" ? "short version" : "version";
    }
    this.#problem ??= problemWith(flag, value);
    this.#uses.push({ flag, value });
  }
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
