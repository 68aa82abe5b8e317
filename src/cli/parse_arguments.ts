import { CliError } from "./cli_error.ts";
import { type CommandName, isCommandName } from "./command_names.ts";
import { findFlag, type Flag, FLAGS, type Refusal } from "./flags.ts";
import type {
  CassetteOptions,
  DoctorOptions,
  Shell,
  ShimOptions,
  SweepOptions,
} from "./parse_command.ts";
import { UnsupportedFlagError } from "./unsupported_flag_error.ts";
import type { OutputFormat, PermissionMode, RunRequest } from "./run_request.ts";

/** What a command line asks for. `short` is true for `-v`, which prints what the Agent SDKs read. */
export type ParsedArguments =
  | { readonly kind: "help"; readonly command?: CommandName }
  | { readonly kind: "version"; readonly short: boolean; readonly claudeBinary?: string }
  | { readonly kind: "run"; readonly request: RunRequest }
  | { readonly kind: "doctor"; readonly options: DoctorOptions }
  | { readonly kind: "sweep"; readonly options: SweepOptions }
  | { readonly kind: "shim"; readonly options: ShimOptions }
  | { readonly kind: "cassette"; readonly options: CassetteOptions }
  | { readonly kind: "completion"; readonly shell: Shell }
  | { readonly kind: "man" };

/** One use of a flag. `value` is undefined for a switch and for an optional value left out. */
type Use = { readonly flag: Flag; readonly value: string | undefined };

/** What is wrong with a command line. An unknown flag still lacks its suggestion. */
type Problem = CliError | { readonly unknownFlag: string };

type Tokens = {
  readonly uses: readonly Use[];
  readonly operands: readonly string[];
  readonly information: "help" | "version" | "short version" | undefined;
  readonly problem: Problem | undefined;
};

const READING = "Cannot read the command line";
const ALL_FLAGS = '"claude-print --help" lists all flags';
const DEFAULT_SECONDS = {
  "--timeout": 3600,
  "--start-timeout": 120,
  "--delivery-timeout": 300,
  "--drain-timeout": 10,
  "--exit-timeout": 5,
};

/** The longest delay that timers take, in milliseconds. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Reads a command line (without the program's own name) by the rules of `claude -p`, measured on
 * Claude Code 2.1.197 and 2.1.330.
 *
 * `--flag value` and `--flag=value` are the same; a required value may look like a flag, an optional
 * one may not; a variadic flag takes every argument up to one that looks like a flag; `-pc` is
 * `-p -c`; `--` ends the flags; of several uses of a flag that counts once, the last wins; of
 * several prompts, the first. Help and version win over any mistake in the rest of the line.
 *
 * A command of `claude-print`'s own is one only as the very first argument: `-p doctor` is a prompt.
 *
 * @param options.more flags that a line of a list adds: they count as if typed last
 * @param options.meaningless names of flags that mean nothing to the caller, each with the reason
 * @throws {CliError} for an unknown or a refused flag, and for a missing, wrong or contradictory value
 */
export async function parseArguments(
  argv: readonly string[],
  options: {
    readonly more?: readonly string[];
    readonly meaningless?: ReadonlyMap<string, string>;
  } = {},
): Promise<ParsedArguments> {
  const [first, ...rest] = argv;
  if (isCommandName(first)) {
    const { parseCommand } = await import("./parse_command.ts");
    return parseCommand(first, rest);
  }
  const tokens = withMore(tokenize(argv), options.more);
  switch (tokens.information) {
    case "help":
      return { kind: "help" };
    case "version":
    case "short version": {
      const claudeBinary = tokens.uses.findLast(({ flag }) => flag.name === "--claude-binary")
        ?.value;
      return {
        kind: "version",
        short: tokens.information === "short version",
        ...(claudeBinary === undefined ? {} : { claudeBinary }),
      };
    }
    case undefined:
      break;
  }
  for (const { flag: { name } } of tokens.uses) {
    const reason = options.meaningless?.get(name);
    if (reason !== undefined) throw refusalError(name, { sort: "cannot", reason });
  }
  if (tokens.problem instanceof CliError) throw tokens.problem;
  if (tokens.problem !== undefined) throw await unknownFlagError(tokens.problem.unknownFlag);
  return { kind: "run", request: requestOf(tokens) };
}

/** Whether Commander takes an argument for a flag: it begins with a dash and is not a lone dash. */
function looksLikeFlag(argument: string): boolean {
  return argument.length > 1 && argument.startsWith("-");
}

/** Splits a command line into uses of flags and operands; remembers the first mistake. */
function tokenize(argv: readonly string[]): Tokens {
  const rest = [...argv];
  const uses: Use[] = [];
  const operands: string[] = [];
  let information: Tokens["information"];
  let problem: Problem | undefined;
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

  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (argument === "--") {
      operands.push(...rest);
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
      const takesNext = exact.value === "required" || exact.value === "variadic" ||
        (exact.value === "optional" && rest[0] !== undefined && !looksLikeFlag(rest[0]));
      use(exact, { value: takesNext ? rest.shift() : undefined, spelling: argument });
      if (exact.value === "variadic") variadic = exact;
      continue;
    }

    const clustered = argument.startsWith("--") ? undefined : findFlag(argument.slice(0, 2));
    if (clustered !== undefined) {
      const tail = argument.slice(2);
      if (clustered.value === "none") {
        use(clustered, { value: undefined, spelling: argument.slice(0, 2) });
        rest.unshift(`-${tail}`);
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

/** The flags that a line of a list does not decide: the list does. */
const OF_THE_LIST: readonly string[] = ["--jsonl", "--input-file", "--output-format"];

/** Adds the flags of a line to those of its list, of which it takes all but what makes it one. */
function withMore(list: Tokens, more: readonly string[] | undefined): Tokens {
  if (more === undefined) return list;
  const line = tokenize(more);
  const [operand] = line.operands;
  const wrong = line.uses.find(({ flag }) => OF_THE_LIST.includes(flag.name))?.flag.name ??
    (operand === undefined ? undefined : JSON.stringify(operand));
  const problem = wrong === undefined ? undefined : new CliError(
    `Cannot read the line: its "args" cannot take ${wrong}`,
    { suggestion: 'Give it flags of a run only; the prompt goes into "prompt"' },
  );
  const kept = list.uses.filter(({ flag }) => flag.name !== "--jsonl");
  return {
    uses: [...kept, ...line.uses],
    operands: list.operands,
    information: list.information ?? line.information,
    problem: list.problem ?? line.problem ?? problem,
  };
}

/** What is wrong with one use of a flag, looked at alone. */
function problemWith(flag: Flag, value: string | undefined): CliError | undefined {
  if (flag.class === "refused") return refusalError(flag.name, flag.refusal);
  if (value === undefined) {
    if (flag.value === "none" || flag.value === "optional") return undefined;
    return new CliError(`${READING}: ${flag.name} needs a value`, {
      suggestion: `Type ${flag.name} ${flag.placeholder}`,
    });
  }
  if (flag.choices !== undefined && !flag.choices.includes(value)) {
    return new CliError(`${READING}: ${flag.name} does not take "${value}"`, {
      suggestion: `Use one of ${flag.choices.join(", ")}`,
    });
  }
  const refusal = flag.refusedValues?.[value];
  return refusal === undefined ? undefined : refusalError(`${flag.name}=${value}`, refusal);
}

function refusalError(what: string, refusal: Refusal): CliError {
  return new UnsupportedFlagError(`Cannot honour ${what}: ${refusal.reason}`, {
    suggestion: refusal.sort === "not yet"
      ? "Leave it out, or run claude -p for this one"
      : "Leave it out",
  });
}

/** Names an unknown flag and the known one nearest to it. */
async function unknownFlagError(argument: string): Promise<CliError> {
  const flag = argument.replace(/=.*$/s, "");
  if (/\s/.test(flag)) {
    return new CliError(`${READING}: a prompt that begins with a dash looks like a flag`, {
      suggestion: 'Put "--" before the prompt, after all flags',
    });
  }
  const names = FLAGS.filter((row) => !row.hidden || row.class !== "refused")
    .flatMap((row) => [row.name, ...row.aliases])
    .filter((name) => name.startsWith("--"));
  const nearest = flag.length < 3
    ? undefined
    : (await import("@std/text/closest-string")).closestString(flag, names);
  return new UnsupportedFlagError(`${READING}: unknown flag ${flag}`, {
    suggestion: nearest === undefined ? ALL_FLAGS : `Did you mean ${nearest}? ${ALL_FLAGS}`,
  });
}

/** Turns tokens without mistakes into a request. */
function requestOf({ uses, operands }: Tokens): RunRequest {
  const all = (name: string): readonly string[] =>
    uses.filter((use) => use.flag.name === name).map((use) => use.value ?? "");
  const last = (name: string): string | undefined => all(name).at(-1);
  const given = (name: string): boolean => uses.some((use) => use.flag.name === name);

  const jsonl = given("--jsonl");
  const outputFormat = choice<OutputFormat>(last("--output-format"), jsonl ? "json" : "text");
  if (jsonl) refuseBesideList({ outputFormat, record: given("--record") });
  const verbose = given("--verbose");
  if (outputFormat === "stream-json" && !verbose) {
    throw new CliError(`${READING}: --output-format=stream-json needs --verbose`, {
      suggestion: "Add --verbose, as for claude -p",
    });
  }

  const resume = given("--resume") ? resumeId(last("--resume") ?? "") : undefined;
  const forkSession = given("--fork-session");
  const sessionId = last("--session-id") || undefined;
  if (sessionId !== undefined && resume !== undefined && !forkSession) {
    throw new CliError(`${READING}: --session-id with --resume needs --fork-session`, {
      suggestion: "Add --fork-session, or leave --session-id out",
    });
  }
  if (sessionId !== undefined && !UUID.test(sessionId)) {
    throw new CliError(`${READING}: --session-id "${sessionId}" is not a UUID`, {
      suggestion: "Use an id such as 123e4567-e89b-42d3-a456-426614174000",
    });
  }

  if (jsonl && sessionId !== undefined) {
    throw new CliError(`${READING}: --jsonl with --session-id gives every run the same id`, {
      suggestion: 'Leave --session-id out, or give each line its own in "args"',
    });
  }

  const limit = (flag: keyof typeof DEFAULT_SECONDS): number =>
    milliseconds(flag, last(flag) ?? DEFAULT_SECONDS[flag]);
  const idle = last("--idle-timeout");
  const settingSources = last("--setting-sources");
  if (settingSources !== undefined) checkSettingSources(settingSources);
  const agents = last("--agents");
  if (agents !== undefined) checkAgents(agents);

  const mode = last("--permission-mode");
  const permissionMode = mode === undefined
    ? undefined
    : choice<PermissionMode>(mode === "manual" ? "default" : mode, "default");

  return {
    ...present("promptArgument", operands[0]),
    ignoredArguments: operands.slice(1),
    ...present("inputFile", last("--input-file")),
    jsonl,
    ...present("record", last("--record")),
    outputFormat,
    verbose,
    persistSession: !given("--no-session-persistence"),
    trace: given("--trace"),
    timeoutMs: limit("--timeout"),
    startTimeoutMs: limit("--start-timeout"),
    deliveryTimeoutMs: limit("--delivery-timeout"),
    ...present(
      "idleTimeoutMs",
      idle === undefined ? undefined : milliseconds("--idle-timeout", idle),
    ),
    drainTimeoutMs: limit("--drain-timeout"),
    exitTimeoutMs: limit("--exit-timeout"),
    quiet: given("--quiet"),
    show: given("--show"),
    ...present("maxTurns", maxTurns(last("--max-turns"))),
    inject: choice<RunRequest["inject"]>(last("--inject"), "stdin"),
    ...present("claudeBinary", last("--claude-binary") ?? last("--shim-for")),
    // Claude Code takes an empty value for none at all, here and for an id.
    ...present("settings", last("--settings") || undefined),
    ...present("permissionMode", permissionMode),
    disallowedTools: all("--disallowedTools"),
    ...present("settingSources", settingSources),
    dangerouslySkipPermissions: given("--dangerously-skip-permissions"),
    allowDangerouslySkipPermissions: given("--allow-dangerously-skip-permissions"),
    allowedTools: all("--allowedTools"),
    addDirs: all("--add-dir"),
    mcpConfigs: all("--mcp-config"),
    strictMcpConfig: given("--strict-mcp-config"),
    ...present("sessionId", sessionId),
    ...present("resume", resume),
    forkSession,
    ...present("model", last("--model")),
    debug: given("--debug") || given("--debug-file"),
    ...present("debugFile", last("--debug-file")),
    forwarded: forwardedOf(uses),
  };
}

/** A list prints a line of JSON a run, and a cassette holds one run. */
function refuseBesideList(
  { outputFormat, record }: { readonly outputFormat: OutputFormat; readonly record: boolean },
): void {
  if (outputFormat !== "json") {
    throw new CliError(`${READING}: --jsonl prints json, not ${outputFormat}`, {
      suggestion: "Leave --output-format out",
    });
  }
  if (record) {
    throw new CliError(`${READING}: --record takes one run, and --jsonl makes many`, {
      suggestion: "Leave --jsonl or --record out",
    });
  }
}

/** `{ [name]: value }`, or nothing where there is no value. */
function present<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [key in Name]?: Value } {
  return value === undefined ? {} : { [name]: value } as { readonly [key in Name]: Value };
}

/** A value that was already checked against the choices of its flag. */
function choice<Value extends string>(value: string | undefined, fallback: Value): Value {
  return value === undefined ? fallback : value as Value;
}

/** Claude Code's own flags, one token for each value, without those that are merged. */
function forwardedOf(uses: readonly Use[]): readonly string[] {
  return uses
    .filter(({ flag }, index) =>
      flag.repeatable || uses.findLastIndex((other) => other.flag === flag) === index
    )
    .filter(({ flag, value }) =>
      flag.class === "forwarded" && !(flag.name === "--session-id" && value === "")
    )
    .map(({ flag, value }) => value === undefined ? flag.name : `${flag.name}=${value}`);
}

function resumeId(id: string): string {
  if (UUID.test(id)) return id;
  throw new CliError(
    id === ""
      ? "Cannot resume a session: --resume needs a session id when printing"
      : `Cannot resume a session: "${id}" is not a session id`,
    { suggestion: "Use --resume <id>, with the session_id of an earlier json result" },
  );
}

function checkSettingSources(value: string): void {
  const known = ["user", "project", "local"];
  const wrong = value.split(",").map((one) => one.trim())
    .find((one) => one !== "" && !known.includes(one));
  if (wrong === undefined) return;
  throw new CliError(`${READING}: --setting-sources does not take "${wrong}"`, {
    suggestion: `Use any of ${known.join(",")}`,
  });
}

/** The interactive Claude Code reads no agents from a file; `claude -p` 2.1.330 does. */
function checkAgents(value: string): void {
  if (value.trim() === "" || value.trimStart().startsWith("{")) return;
  throw new CliError(`Cannot honour --agents: "${value}" is not a JSON object`, {
    suggestion: 'To use a file, type --agents "$(cat FILE)"',
  });
}

/** Claude Code 2.1.330 refuses what is no number; 0 is no limit there too. */
function maxTurns(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d+$/.test(value)) {
    throw new CliError(`${READING}: --max-turns does not take "${value}"`, {
      suggestion: "Use a whole number of requests to the model, 0 for no limit",
    });
  }
  return Number(value) || undefined;
}

function milliseconds(flag: string, seconds: string | number): number {
  const text = String(seconds);
  const value = /^(?:\d+\.?\d*|\.\d+)$/.test(text) ? Math.round(Number(text) * 1000) : NaN;
  if (value >= 1 && value <= LONGEST_TIMEOUT_MS) return value;
  throw new CliError(`${READING}: ${flag} does not take "${text}"`, {
    suggestion: `Use seconds, from 0.001 to ${Math.floor(LONGEST_TIMEOUT_MS / 1000)}`,
  });
}
