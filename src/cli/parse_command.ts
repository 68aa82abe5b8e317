import { COMMAND_SHAPES, type CommandFlag, type CommandName, goesWith } from "./command_shapes.ts";
import type {
  CassetteOptions,
  ForkOptions,
  ParsedArguments,
  ProgramReplayOptions,
  RelayCommandOptions,
  ServeOptions,
  Shell,
  ShimOptions,
} from "./parsed_arguments.ts";
import { CliError } from "../cli_error.ts";

const READING = "Cannot read the command line";

/** A command's arguments, told apart. */
interface Given {
  readonly switches: ReadonlySet<string>;
  /** The values of each flag that has some, in their order. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly operands: readonly string[];
  /** What stands behind "--", if that stands there. */
  readonly rest: readonly string[] | undefined;
}

/** The value of a flag; that which was given last, if there are several. */
type LastValue = (name: string) => string | undefined;

/**
 * Reads the rest of a command line whose first argument names a command.
 *
 * @throws {CliError} for anything the command does not take, and for what it misses
 */
export function parseCommand(command: CommandName, argv: readonly string[]): ParsedArguments {
  const given = read(command, argv);
  if (given === "help") return { kind: "help", command };
  const { switches, values, operands: [first, second] } = given;
  const json = switches.has("--json");
  const last: LastValue = (name) => values.get(name)?.at(-1);
  switch (command) {
    case "doctor": {
      const claudeBinary = last("--claude-binary");
      return {
        kind: "doctor",
        options: {
          offline: switches.has("--offline"),
          run: switches.has("--run"),
          json,
          ...(claudeBinary === undefined ? {} : { claudeBinary }),
        },
      };
    }
    case "sweep":
      return { kind: "sweep", options: { dryRun: switches.has("--dry-run"), json } };
    case "shim":
      return {
        kind: "shim",
        options: {
          action: first,
          ...(second === undefined ? {} : { dir: second }),
        } as ShimOptions,
      };
    case "cassette":
      return { kind: "cassette", options: cassetteOptions({ ...given, last }) };
    case "relay":
      return { kind: "relay", options: relayOptions({ switches, values, last }) };
    case "drift": {
      const inputName = last("--input-name");
      const sdks = switches.has("--no-sdk") ? [] : values.get("--sdk");
      const against = last("--against");
      const allowedTools = (values.get("--allowedTools") ?? []).flatMap((tools) => tools.split(","))
        .map((tool) => tool.trim()).filter((tool) => tool !== "");
      if (against === undefined && allowedTools.length > 0) {
        throw new CliError(`${READING}: --allowedTools needs --against`, {
          suggestion: "Nothing runs without it: leave --allowedTools out",
        });
      }
      if (switches.has("--no-sdk") && values.has("--sdk")) {
        throw new CliError(`${READING}: --sdk and --no-sdk were both given`, {
          suggestion: "Leave one of them out",
        });
      }
      return {
        kind: "drift",
        options: {
          paths: given.operands,
          json,
          allowEmpty: switches.has("--allow-empty"),
          ...(inputName === undefined ? {} : { inputName }),
          ...(sdks === undefined ? {} : { sdks }),
          ...(against === undefined ? {} : { against }),
          allowedTools,
        },
      };
    }
    case "serve": {
      const [unit, other] = UNIT_FLAGS.filter((name) => switches.has(name));
      if (other !== undefined) {
        throw new CliError(`${READING}: ${unit} and ${other} were both given`, {
          suggestion: "Leave one of them out",
        });
      }
      const { rest } = given;
      if (rest !== undefined && !switches.has("--agentapi")) {
        throw new CliError(`${READING}: what stands behind "--" goes with --agentapi`, {
          suggestion: "Give conversations over HTTP their flags in their profile",
        });
      }
      const agent = switches.has("--agentapi") ? { agentArgs: rest ?? [] } : {};
      const options = { ...serveOptions(last), ...agent };
      if (unit === undefined) return { kind: "serve", options };
      const flags = argv.filter((argument) => argument !== unit);
      if (unit === "--uninstall" && flags.length > 0) {
        throw new CliError(`${READING}: --uninstall goes with nothing else`, {
          suggestion: "Leave the other flags out",
        });
      }
      const action = unit === "--install" ? "install" : "uninstall";
      return { kind: "serve", options, unit: { action, flags } };
    }
    case "ps":
      return { kind: "ps", json };
    case "attach":
      return { kind: "attach", id: `${first}`, takesOver: switches.has("--take-over") };
    case "logs":
      return { kind: "logs", id: `${first}`, follows: switches.has("--follow") };
    case "completion":
      return { kind: "completion", shell: first as Shell };
    case "man":
      return { kind: "man" };
  }
}

function serveOptions(last: LastValue): ServeOptions {
  const whole = (name: string, { none, most }: { readonly none: string; readonly most: number }) =>
    Math.floor(numberIn(name, last(name) ?? none, { most }));
  const hostname = last("--bind");
  if (hostname !== undefined && last("--port") === undefined) {
    throw new CliError(`${READING}: --bind needs --port`, {
      suggestion: "Write it as --port 8080 --bind 192.0.2.1, or leave it out",
    });
  }
  const profiles = last("--profiles");
  return {
    ...(profiles === undefined ? {} : { profiles }),
    warm: whole("--warm", { none: "1", most: 100 }),
    max: whole("--max", { none: "4", most: 1000 }),
    idleMs: 1000 * numberIn("--idle", last("--idle") ?? "900", { most: 1_000_000 }),
    conversations: whole("--conversations", { none: "64", most: 10_000 }),
    ...(last("--port") === undefined ? {} : {
      tcp: {
        hostname: hostname ?? "127.0.0.1",
        port: whole("--port", { none: "0", most: 65_535 }),
      },
    }),
  };
}

const UNIT_FLAGS = ["--install", "--uninstall"];

/** Where cassettes are looked for, and by what names. */
function foundBy(
  { operands, last }: Pick<Given, "operands"> & { readonly last: LastValue },
): { readonly paths: readonly string[]; readonly inputName?: string } {
  const inputName = last("--input-name");
  if (inputName !== undefined && !/^[^/]+$/u.test(inputName)) {
    throw new CliError(`${READING}: --input-name "${inputName}" is no name of a file`, {
      suggestion: "Write it as --input-name input.jsonl",
    });
  }
  return { paths: operands.slice(1), ...(inputName === undefined ? {} : { inputName }) };
}

function cassetteOptions(
  given: Given & { readonly last: LastValue },
): CassetteOptions {
  const { operands, switches, values, rest, last } = given;
  const [action, dir = "", other = ""] = operands;
  const as = action as CassetteOptions["action"];
  switch (as) {
    case "svg":
      return { action: as, dir };
    case "program":
      return { action: as, dir, asProgram: programReplayOptions(last) };
    case "replay": {
      const split = last("--split");
      const [alien] = [...values.keys()].filter((name) => name !== "--split");
      if (rest === undefined && alien !== undefined) {
        throw new CliError(`${READING}: ${alien} goes with a replay as the program`, {
          suggestion: 'Type "--" behind the folder, and behind that what a caller gives claude',
        });
      }
      if (rest !== undefined && split !== undefined) {
        throw new CliError(`${READING}: --split does not go with a replay as the program`, {
          suggestion: 'Leave it out, or "--" and what is behind it',
        });
      }
      return {
        action: as,
        dir,
        ...(split === undefined ? {} : { split: pieceSize(split) }),
        ...(rest === undefined ? {} : { asProgram: { ...programReplayOptions(last), args: rest } }),
      };
    }
    case "info":
      return { action: as, dir, json: switches.has("--json") };
    case "diff":
      return { action: as, dir, other, json: switches.has("--json") };
    case "fork":
      return { action: as, ...forkOptions(dir, given) };
    case "scrub":
      return {
        action: as,
        ...foundBy(given),
        prompts: switches.has("--prompts"),
        answers: switches.has("--answers"),
        names: values.get("--name") ?? [],
        ...outGiven(last("--out")),
      };
    case "lint":
      return { action: as, ...foundBy(given) };
    default:
      return as satisfies never;
  }
}

function outGiven(out: string | undefined): { readonly out?: string } {
  if (out !== "") return out === undefined ? {} : { out };
  throw new CliError(`${READING}: --out needs the name of a folder`, {
    suggestion: "Write it as --out shared",
  });
}

function forkOptions(
  dir: string,
  { values, last, rest }: Given & { readonly last: LastValue },
): ForkOptions {
  const at = last("--at") ?? "";
  if (!/^\d{1,9}$/u.test(at)) {
    throw new CliError(
      at === ""
        ? `${READING}: cassette fork needs --at and the last turn that stays`
        : `${READING}: --at "${at}" is no number of a turn`,
      { suggestion: "Write it as --at 2 to go on behind the second turn, --at 0 to begin anew" },
    );
  }
  const [model, apiCassette, record] = ["--model", "--api-cassette", "--record"].map(last);
  return {
    dir,
    at: Number(at),
    prompts: values.get("--prompt") ?? [],
    ...(model === undefined ? {} : { model }),
    ...(apiCassette === undefined ? {} : { apiCassette }),
    ...(record === undefined ? {} : { record }),
    flags: rest ?? [],
  };
}

/** The largest pieces of output, in bytes: so much is held in memory. */
const LARGEST_PIECE = 1_000_000;

function pieceSize(split: string): number {
  const size = /^\d+$/u.test(split) ? Number(split) : NaN;
  if (size >= 1 && size <= LARGEST_PIECE) return size;
  throw new CliError(
    `${READING}: --split "${split}" is no number of bytes from 1 to ${LARGEST_PIECE}`,
    { suggestion: "Write it as --split 1, or leave it out" },
  );
}

function programReplayOptions(last: LastValue): ProgramReplayOptions {
  const report = last("--report");
  return {
    mode: oneOf("--mode", last("--mode") ?? "verify", ["inert", "stub", "verify"]),
    speed: numberIn("--speed", last("--speed") ?? "0", { most: 1_000_000 }),
    patienceMs: 1000 * numberIn("--patience", last("--patience") ?? "30", { most: 1_000_000 }),
    ...(report === undefined ? {} : { report }),
  };
}

function relayOptions(
  { switches, values, last }: Pick<Given, "switches" | "values"> & { readonly last: LastValue },
): RelayCommandOptions {
  const cache = last("--cache");
  if (cache === undefined || cache === "") {
    throw new CliError(`${READING}: relay needs --cache and a folder`, {
      suggestion: "Name a cassette, or a new folder: claude-print relay --cache recorded",
    });
  }
  const ignored = values.get("--ignore") ?? [];
  const pointer = ignored.find((each) => !/^(?:\/(?:[^~]|~[01])*)+$/u.test(each));
  if (pointer !== undefined) {
    throw new CliError(`${READING}: --ignore "${pointer}" is no JSON pointer`, {
      suggestion: "Write it as /metadata/user_id or /messages/0",
    });
  }
  const match = oneOf("--match", last("--match") ?? "normalized", MATCHES);
  if (match !== "normalized" && ignored.length > 0) {
    throw new CliError(`${READING}: --ignore goes with --match normalized alone`, {
      suggestion: "Leave one of them out",
    });
  }
  const upstream = last("--upstream");
  if (upstream !== undefined && !/^https?:$/u.test(URL.parse(upstream)?.protocol ?? "")) {
    throw new CliError(`${READING}: --upstream "${upstream}" is no URL of the web`, {
      suggestion: "Write it as https://api.anthropic.com",
    });
  }
  const faults = last("--inject");
  return {
    cache,
    match,
    ignored,
    onMiss: oneOf("--on-miss", last("--on-miss") ?? "fail", ["fail", "record"]),
    offline: switches.has("--offline"),
    allowUpstream: switches.has("--allow-upstream"),
    ...(upstream === undefined ? {} : { upstream }),
    speed: numberIn("--speed", last("--speed") ?? "0", { most: 1_000_000 }),
    ...(faults === undefined ? {} : { faults }),
    hostname: last("--bind") ?? "127.0.0.1",
    port: Math.floor(numberIn("--port", last("--port") ?? "0", { most: 65_535 })),
    stats: switches.has("--stats"),
  };
}

const MATCHES = ["normalized", "exact", "sequence"] as const;

function oneOf<Word extends string>(
  name: string,
  value: string,
  words: readonly Word[],
): Word {
  const word = words.find((each) => each === value);
  if (word !== undefined) return word;
  throw new CliError(`${READING}: ${name} does not take "${value}"`, {
    suggestion: `Use one of ${words.join(", ")}`,
  });
}

function numberIn(name: string, value: string, { most }: { readonly most: number }): number {
  const number = /^\d+(?:\.\d+)?$/u.test(value) ? Number(value) : NaN;
  if (number <= most) return number;
  throw new CliError(`${READING}: ${name} "${value}" is no number from 0 to ${most}`, {
    suggestion: `Write it as ${name} 1, or leave it out`,
  });
}

/** Tells the arguments apart, and checks them against the command's shape. */
function read(command: CommandName, argv: readonly string[]): Given | "help" {
  const { flags, first, operands: shapes = {} } = COMMAND_SHAPES[command];
  const switches = new Set<string>();
  const values = new Map<string, string[]>();
  const operands: string[] = [];
  const args = [...argv];
  const wordOf = () => first === undefined ? "" : operands[0] ?? "";
  const mayTake = () => {
    if (first !== undefined && operands.length === 0) return true;
    const taken = operands.length - (first === undefined ? 0 : 1);
    return taken < (shapes[wordOf()]?.most ?? 0);
  };
  const given: CommandFlag[] = [];
  let rest: readonly string[] | undefined;
  for (let argument = args.shift(); argument !== undefined; argument = args.shift()) {
    if (argument === "--help" || argument === "-h") return "help";
    if (argument === "--" && shapes[wordOf()]?.rest !== undefined) {
      rest = args;
      break;
    }
    const name = argument.replace(/=.*$/su, "");
    const flag = flags.find((one) => one.name === name);
    if (flag !== undefined) given.push(flag);
    if (flag?.placeholder === "" && name === argument) {
      switches.add(argument);
    } else if (flag !== undefined && flag.placeholder !== "") {
      const value = argument.includes("=") ? argument.slice(name.length + 1) : args.shift();
      if (value === undefined) {
        throw new CliError(`${READING}: ${name} needs a value`, {
          suggestion: `Type ${name} ${flag.placeholder}`,
        });
      }
      values.set(name, [...values.get(name) ?? [], value]);
    } else if (!argument.startsWith("-") && mayTake()) {
      operands.push(argument);
    } else {
      throw new CliError(`${READING}: ${command} does not take "${argument}"`, {
        suggestion:
          `"claude-print ${command} --help" lists what it takes; a prompt goes after "--"`,
      });
    }
  }
  const suggestion = `"claude-print ${command} --help" says how`;
  const [word] = operands;
  if (first !== undefined && (word === undefined || !first.choices.includes(word))) {
    throw new CliError(
      `${READING}: ${command} ${
        word === undefined ? `needs ${first.name}` : `does not take "${word}"`
      }`,
      { suggestion: `Use one of ${first.choices.join(", ")}; ${suggestion}` },
    );
  }
  const alien = given.find((flag) => !goesWith(flag, wordOf()));
  if (alien !== undefined) {
    throw new CliError(`${READING}: ${command} ${wordOf()} does not take "${alien.name}"`, {
      suggestion: `Leave it out: only ${command} ${alien.goesWith?.join(", ")} has it`,
    });
  }
  const shape = shapes[wordOf()];
  if (shape !== undefined && operands.length - (first === undefined ? 0 : 1) < shape.least) {
    throw new CliError(
      `${READING}: ${[command, ...operands.slice(0, 1)].join(" ")} needs ${shape.name}`,
      { suggestion },
    );
  }
  return { switches, values, operands, rest };
}
