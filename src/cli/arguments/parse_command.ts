import { usageError } from "./flags.ts";
import {
  type CommandArguments,
  type CommandName,
  type LastValue,
  readChoice,
  readCommandArguments,
  readNumber,
} from "./command_shapes.ts";
import type {
  BisectOptions,
  CassetteOptions,
  ForkOptions,
  ParsedArguments,
  ProgramReplayOptions,
  RelayCommandOptions,
  ServeOptions,
  Shell,
  ShimOptions,
} from "./parsed_arguments.ts";

/** What stands between tools, for Claude Code as well; in the parentheses of a rule it is the rule's own. */
const TOOL_SEPARATOR = /[\s,]+(?![^(]*\))/u;

/**
 * Reads the rest of a command line whose first argument names a command.
 *
 * @throws {CliError} for anything the command does not take, and for what it misses
 */
export function parseCommand(command: CommandName, argv: readonly string[]): ParsedArguments {
  const given = readCommandArguments(command, argv);
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
    case "learn": {
      const claudeBinary = last("--claude-binary");
      return {
        kind: "learn",
        options: {
          check: switches.has("--check"),
          ...(claudeBinary === undefined ? {} : { claudeBinary }),
        },
      };
    }
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
      const allowedTools = readAllowedTools(values);
      if (against === undefined && allowedTools.length > 0) {
        throw usageError(
          "--allowedTools needs --against",
          "Nothing runs without it: leave --allowedTools out",
        );
      }
      if (switches.has("--no-sdk") && values.has("--sdk")) {
        throw usageError("--sdk and --no-sdk were both given", "Leave one of them out");
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
    case "bisect":
      return { kind: "bisect", options: bisectOptions({ ...given, last }) };
    case "serve": {
      const [unit, other] = UNIT_FLAGS.filter((name) => switches.has(name));
      if (other !== undefined) {
        throw usageError(`${unit} and ${other} were both given`, "Leave one of them out");
      }
      const { rest } = given;
      if (rest !== undefined && !switches.has("--agentapi")) {
        throw usageError(
          `what stands behind "--" goes with --agentapi`,
          "Give conversations over HTTP their flags in their profile",
        );
      }
      const agent = switches.has("--agentapi") ? { agentArgs: rest ?? [] } : {};
      const options = { ...serveOptions(last), ...agent };
      if (unit === undefined) return { kind: "serve", options };
      const flags = argv.filter((argument) => argument !== unit);
      if (unit === "--uninstall" && flags.length > 0) {
        throw usageError("--uninstall goes with nothing else", "Leave the other flags out");
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

function readAllowedTools(values: CommandArguments["values"]): readonly string[] {
  return (values.get("--allowedTools") ?? [])
    .flatMap((tools) => tools.split(TOOL_SEPARATOR)).filter((tool) => tool !== "");
}

function bisectOptions(
  { switches, values, operands, last }: CommandArguments & { readonly last: LastValue },
): BisectOptions {
  const version = (flag: string) => {
    const value = last(flag);
    if (value === undefined || /^\d+\.\d+\.\d+$/u.test(value)) return value;
    throw usageError(`${flag} "${value}" is no version`, `Write it as ${flag} 2.1.330`);
  };
  const [good, bad, run] = [version("--good"), version("--bad"), last("--run")];
  const allowedTools = readAllowedTools(values);
  if (good === undefined) {
    throw usageError(
      "bisect needs --good and a version",
      "Name the newest version of which you know that all was well",
    );
  }
  if (run?.trim() === "" || (run === undefined) === (operands.length === 0)) {
    throw usageError(
      "bisect needs either a cassette or --run and a command",
      '"claude-print bisect --help" says how',
    );
  }
  if (run !== undefined && allowedTools.length > 0) {
    throw usageError(
      "--allowedTools goes with cassettes alone",
      "Leave it out, and have the command of --run allow tools",
    );
  }
  return {
    paths: operands,
    json: switches.has("--json"),
    good,
    ...(bad === undefined ? {} : { bad }),
    ...(run === undefined ? {} : { run }),
    keep: switches.has("--keep"),
    allowedTools,
  };
}

function serveOptions(last: LastValue): ServeOptions {
  const whole = (name: string, { none, max }: { readonly none: string; readonly max: number }) =>
    Math.floor(readNumber(name, last(name) ?? none, { max }));
  const hostname = last("--bind");
  if (hostname !== undefined && last("--port") === undefined) {
    throw usageError(
      "--bind needs --port",
      "Write it as --port 8080 --bind 192.0.2.1, or leave it out",
    );
  }
  const profiles = last("--profiles");
  return {
    ...(profiles === undefined ? {} : { profiles }),
    warm: whole("--warm", { none: "1", max: 100 }),
    max: whole("--max", { none: "4", max: 1000 }),
    idleMs: 1000 * readNumber("--idle", last("--idle") ?? "900", { max: 1_000_000 }),
    conversations: whole("--conversations", { none: "64", max: 10_000 }),
    ...(last("--port") === undefined ? {} : {
      tcp: {
        hostname: hostname ?? "127.0.0.1",
        port: whole("--port", { none: "0", max: 65_535 }),
      },
    }),
  };
}

const UNIT_FLAGS = ["--install", "--uninstall"];

function relayOptions(
  { switches, values, last }: Pick<CommandArguments, "switches" | "values"> & {
    readonly last: LastValue;
  },
): RelayCommandOptions {
  const cache = last("--cache");
  if (cache === undefined || cache === "") {
    throw usageError(
      "relay needs --cache and a folder",
      "Name a cassette, or a new folder: claude-print relay --cache recorded",
    );
  }
  const ignored = values.get("--ignore") ?? [];
  const pointer = ignored.find((each) => !/^(?:\/(?:[^~]|~[01])*)+$/u.test(each));
  if (pointer !== undefined) {
    throw usageError(
      `--ignore "${pointer}" is no JSON pointer`,
      "Write it as /metadata/user_id or /messages/0",
    );
  }
  const match = readChoice("--match", last("--match") ?? "normalized", MATCHES);
  if (match !== "normalized" && ignored.length > 0) {
    throw usageError("--ignore goes with --match normalized alone", "Leave one of them out");
  }
  const upstream = last("--upstream");
  if (upstream !== undefined && !/^https?:$/u.test(URL.parse(upstream)?.protocol ?? "")) {
    throw usageError(
      `--upstream "${upstream}" is no URL of the web`,
      "Write it as https://api.anthropic.com",
    );
  }
  const faults = last("--inject");
  return {
    cache,
    match,
    ignored,
    onMiss: readChoice("--on-miss", last("--on-miss") ?? "fail", ["fail", "record"]),
    offline: switches.has("--offline"),
    allowUpstream: switches.has("--allow-upstream"),
    ...(upstream === undefined ? {} : { upstream }),
    speed: readNumber("--speed", last("--speed") ?? "0", { max: 1_000_000 }),
    ...(faults === undefined ? {} : { faults }),
    hostname: last("--bind") ?? "127.0.0.1",
    port: Math.floor(readNumber("--port", last("--port") ?? "0", { max: 65_535 })),
    hasSecret: !switches.has("--no-secret"),
    stats: switches.has("--stats"),
  };
}

const MATCHES = ["normalized", "exact", "sequence"] as const;

/** Where cassettes are looked for, and by what names. */
function readPaths(
  { operands, last }: Pick<CommandArguments, "operands"> & { readonly last: LastValue },
): { readonly paths: readonly string[]; readonly inputName?: string } {
  const inputName = last("--input-name");
  if (inputName !== undefined && !/^[^/]+$/u.test(inputName)) {
    throw usageError(
      `--input-name "${inputName}" is no name of a file`,
      "Write it as --input-name input.jsonl",
    );
  }
  return { paths: operands.slice(1), ...(inputName === undefined ? {} : { inputName }) };
}

/** What is asked of a cassette. */
function cassetteOptions(
  given: CommandArguments & { readonly last: LastValue },
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
        throw usageError(
          `${alien} goes with a replay as the program`,
          'Type "--" behind the folder, and behind that what a caller gives claude',
        );
      }
      if (rest !== undefined && split !== undefined) {
        throw usageError(
          "--split does not go with a replay as the program",
          'Leave it out, or "--" and what is behind it',
        );
      }
      return {
        action: as,
        dir,
        ...(split === undefined ? {} : { split: readPieceSize(split) }),
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
        ...readPaths(given),
        prompts: switches.has("--prompts"),
        answers: switches.has("--answers"),
        names: values.get("--name") ?? [],
        ...readOut(last("--out")),
      };
    case "lint":
      return { action: as, ...readPaths(given) };
    default:
      return as satisfies never;
  }
}

function readOut(out: string | undefined): { readonly out?: string } {
  if (out !== "") return out === undefined ? {} : { out };
  throw usageError("--out needs the name of a folder", "Write it as --out shared");
}

function forkOptions(
  dir: string,
  { values, last, rest }: CommandArguments & { readonly last: LastValue },
): ForkOptions {
  const at = last("--at") ?? "";
  if (!/^\d{1,9}$/u.test(at)) {
    throw usageError(
      at === ""
        ? `cassette fork needs --at and the last turn that stays`
        : `--at "${at}" is no number of a turn`,
      "Write it as --at 2 to go on behind the second turn, --at 0 to begin anew",
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

function readPieceSize(split: string): number {
  const size = /^\d+$/u.test(split) ? Number(split) : NaN;
  if (size >= 1 && size <= LARGEST_PIECE) return size;
  throw usageError(
    `--split "${split}" is no number of bytes from 1 to ${LARGEST_PIECE}`,
    "Write it as --split 1, or leave it out",
  );
}

function programReplayOptions(last: LastValue): ProgramReplayOptions {
  const report = last("--report");
  return {
    mode: readChoice("--mode", last("--mode") ?? "verify", ["inert", "stub", "verify"]),
    speed: readNumber("--speed", last("--speed") ?? "0", { max: 1_000_000 }),
    patienceMs: 1000 * readNumber("--patience", last("--patience") ?? "30", { max: 1_000_000 }),
    ...(report === undefined ? {} : { report }),
  };
}
