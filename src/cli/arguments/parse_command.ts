import type { CommandName } from "./command_shapes.ts";
import {
  checkAction,
  type CommandArguments,
  readCommandArguments,
} from "./read_command_arguments.ts";
import { usageError } from "./usage_errors.ts";
import type {
  BisectOptions,
  CassetteOptions,
  DriftOptions,
  ForkOptions,
  ParsedArguments,
  ProgramReplayOptions,
  RelayCommandOptions,
  ServeOptions,
  Shell,
  ShimOptions,
} from "./parsed_arguments.ts";
import { readChoice, readDuration, readNumber } from "./read_values.ts";
import { definedFields } from "../../defined_fields.ts";

/**
 * Parses the arguments of a command.
 *
 * @throws {CliError} for an argument that the command does not accept, and for a missing one
 */
export function parseCommand(command: CommandName, argv: readonly string[]): ParsedArguments {
  const given = readCommandArguments(command, argv);
  if ("helpFor" in given) {
    return { kind: "help", command, ...definedFields({ action: given.helpFor }) };
  }
  const { switches, last, operands: [first, second] } = given;
  const json = switches.has("--json");
  switch (command) {
    case "doctor": {
      const [offline, run] = [switches.has("--offline"), switches.has("--run")];
      const claudeBinary = last("--claude-binary");
      return { kind: command, options: definedFields({ offline, run, json, claudeBinary }) };
    }
    case "sweep":
      return { kind: command, options: { dryRun: switches.has("--dry-run"), json } };
    case "learn": {
      const [check, claudeBinary] = [switches.has("--check"), last("--claude-binary")];
      return { kind: command, options: definedFields({ check, claudeBinary }) };
    }
    case "shim": {
      const options = definedFields({ action: first, dir: second }) as ShimOptions;
      return { kind: command, options };
    }
    case "cassette":
      return { kind: command, options: cassetteOptions(given) };
    case "relay":
      return { kind: command, options: relayOptions(given) };
    case "drift":
      return { kind: command, options: driftOptions(given) };
    case "bisect":
      return { kind: command, options: bisectOptions(given) };
    case "serve":
      return serveArguments(given, argv);
    case "ps":
      return { kind: command, json };
    case "new":
      return { kind: command, args: given.rest ?? [] };
    case "send": {
      const [interrupts, waits] = [switches.has("--interrupt"), !switches.has("--no-wait")];
      return {
        kind: command,
        ...definedFields({ id: `${first}`, text: second, interrupts, waits }),
      };
    }
    case "answer": {
      const [, ...answers] = given.operands;
      return { kind: command, id: `${first}`, answers, waits: !switches.has("--no-wait") };
    }
    case "interrupt":
      return { kind: command, id: `${first}`, ends: switches.has("--end") };
    case "attach":
      return { kind: command, id: `${first}`, takesOver: switches.has("--take-over") };
    case "logs":
      return { kind: command, id: `${first}`, follows: switches.has("--follow") };
    case "help": {
      const topic = first as CommandName | undefined;
      if (topic !== undefined && second !== undefined) checkAction(topic, second);
      return { kind: "help", ...definedFields({ command: topic, action: second }) };
    }
    case "completion":
      return { kind: command, shell: first as Shell };
    case "man":
      return { kind: command };
  }
}

/**
 * The separators of tools in `--allowedTools`, as in Claude Code. Separators within the parentheses of a rule belong to
 * the rule.
 */
const TOOL_SEPARATOR = /[\s,]+(?![^(]*\))/u;

function readAllowedTools({ values }: CommandArguments): readonly string[] {
  return (values.get("--allowedTools") ?? [])
    .flatMap((tools) => tools.split(TOOL_SEPARATOR)).filter((tool) => tool !== "");
}

function driftOptions(given: CommandArguments): DriftOptions {
  const { switches, values, operands, last } = given;
  const against = last("--against");
  const allowedTools = readAllowedTools(given);
  if (against === undefined && allowedTools.length > 0) {
    throw usageError(
      "--allowedTools needs --against",
      "Nothing runs without it: leave --allowedTools out",
    );
  }
  if (switches.has("--no-sdk") && values.has("--sdk")) {
    throw usageError("--sdk and --no-sdk were both given", "Leave one of them out");
  }
  return definedFields({
    paths: operands,
    json: switches.has("--json"),
    allowEmpty: switches.has("--allow-empty"),
    inputName: last("--input-name"),
    sdks: switches.has("--no-sdk") ? [] : values.get("--sdk"),
    against,
    allowedTools,
  });
}

function bisectOptions(given: CommandArguments): BisectOptions {
  const { switches, operands, last } = given;
  const version = (flag: string) => {
    const value = last(flag);
    if (value === undefined || /^\d+\.\d+\.\d+$/u.test(value)) return value;
    throw usageError(`${flag} does not take "${value}"`, `Use a version: ${flag} 2.1.330`);
  };
  const [good, bad, run] = [version("--good"), version("--bad"), last("--run")];
  const allowedTools = readAllowedTools(given);
  if (good === undefined) {
    throw usageError(
      "bisect needs --good and a version",
      "Give a version that behaves as it should: --good 2.1.330",
    );
  }
  if (run?.trim() === "" || (run === undefined) === (operands.length === 0)) {
    throw usageError(
      "bisect needs either a cassette or --run and a command",
      'Give one of them: claude-print bisect --good 2.1.330 --run "./check.sh"',
    );
  }
  if (run !== undefined && allowedTools.length > 0) {
    throw usageError(
      "--allowedTools has no effect with --run",
      "Leave it out, and let the command of --run allow tools",
    );
  }
  return definedFields({
    paths: operands,
    json: switches.has("--json"),
    good,
    bad,
    run,
    keep: switches.has("--keep"),
    allowedTools,
  });
}

const UNIT_FLAGS = ["--install", "--uninstall"];

function serveArguments(given: CommandArguments, argv: readonly string[]): ParsedArguments {
  const { switches, rest, operands: [word] } = given;
  if (word === "status") {
    return { kind: "serve", running: { action: word, json: switches.has("--json") } };
  }
  if (word === "stop") {
    return { kind: "serve", running: { action: word, now: switches.has("--now") } };
  }
  const [unit, other] = UNIT_FLAGS.filter((name) => switches.has(name));
  if (other !== undefined) {
    throw usageError(`${unit} and ${other} were both given`, "Leave one of them out");
  }
  if (rest !== undefined && !switches.has("--agentapi")) {
    throw usageError(
      'arguments after "--" need --agentapi',
      "Add --agentapi; conversations over HTTP get their flags from their profile",
    );
  }
  const agentArgs = switches.has("--agentapi") ? rest ?? [] : undefined;
  const options = definedFields({ ...serveOptions(given), agentArgs });
  if (unit === undefined) return { kind: "serve", options };
  const flags = argv.filter((argument) => argument !== unit);
  if (unit === "--uninstall" && flags.length > 0) {
    throw usageError("--uninstall takes no other flags", "Leave the other flags out");
  }
  const action = unit === "--install" ? "install" : "uninstall";
  return { kind: "serve", options, unit: { action, flags } };
}

function serveOptions({ last }: CommandArguments): ServeOptions {
  const whole = (name: string, { none, max }: { readonly none: string; readonly max: number }) =>
    Math.floor(readNumber(name, last(name) ?? none, { max }));
  const hostname = last("--bind");
  const background = last("--background");
  const hasPort = last("--port") !== undefined;
  if (hostname !== undefined && !hasPort) {
    throw usageError(
      "--bind needs --port",
      "Type --port 8080 --bind 192.0.2.1, or leave it out",
    );
  }
  const tcp = hasPort
    ? { hostname: hostname ?? "127.0.0.1", port: whole("--port", { none: "0", max: 65_535 }) }
    : undefined;
  return definedFields({
    profiles: last("--profiles"),
    warm: whole("--warm", { none: "1", max: 100 }),
    max: whole("--max", { none: "4", max: 1000 }),
    idleMs: readDuration("--idle", last("--idle") ?? "900", { min: 0 }),
    conversations: whole("--conversations", { none: "64", max: 10_000 }),
    backgroundMs: background === undefined
      ? undefined
      : readDuration("--background", background, { min: 0 }),
    tcp,
  });
}

const MATCHES = ["normalized", "exact", "sequence"] as const;

function relayOptions({ switches, values, last }: CommandArguments): RelayCommandOptions {
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
      `--ignore does not take "${pointer}"`,
      "Use a JSON pointer such as /metadata/user_id or /messages/0",
    );
  }
  const match = readChoice("--match", last("--match") ?? "normalized", MATCHES);
  if (match !== "normalized" && ignored.length > 0) {
    throw usageError("--ignore needs --match normalized", "Leave --ignore or --match out");
  }
  const upstream = last("--upstream");
  if (upstream !== undefined && !/^https?:$/u.test(URL.parse(upstream)?.protocol ?? "")) {
    throw usageError(
      `--upstream does not take "${upstream}"`,
      "Use a URL such as https://api.anthropic.com",
    );
  }
  return definedFields({
    cache,
    match,
    ignored,
    onMiss: readChoice("--on-miss", last("--on-miss") ?? "fail", ["fail", "record"]),
    offline: switches.has("--offline"),
    allowUpstream: switches.has("--allow-upstream"),
    upstream,
    speed: readNumber("--speed", last("--speed") ?? "0", { max: 1_000_000 }),
    faults: last("--inject"),
    hostname: last("--bind") ?? "127.0.0.1",
    port: Math.floor(readNumber("--port", last("--port") ?? "0", { max: 65_535 })),
    hasSecret: !switches.has("--no-secret"),
    stats: switches.has("--stats"),
  });
}

function cassetteOptions(given: CommandArguments): CassetteOptions {
  const { operands, switches, values } = given;
  const [word, dir = "", other = ""] = operands;
  const action = word as CassetteOptions["action"];
  switch (action) {
    case "svg":
      return { action, dir };
    case "program":
      return { action, dir, asProgram: programReplayOptions(given) };
    case "replay":
      return replayOptions(dir, given);
    case "info":
      return { action, dir, json: switches.has("--json") };
    case "diff":
      return { action, dir, other, json: switches.has("--json") };
    case "fork":
      return { action, ...forkOptions(dir, given) };
    case "scrub":
      return {
        action,
        ...readPaths(given),
        prompts: switches.has("--prompts"),
        answers: switches.has("--answers"),
        names: values.get("--name") ?? [],
        ...definedFields({ out: readOut(given) }),
      };
    case "lint":
      return { action, ...readPaths(given) };
    default:
      return action satisfies never;
  }
}

function readPaths(
  { operands, last }: CommandArguments,
): { readonly paths: readonly string[]; readonly inputName?: string } {
  const inputName = last("--input-name");
  if (inputName !== undefined && !/^[^/]+$/u.test(inputName)) {
    throw usageError(
      `--input-name does not take "${inputName}"`,
      "Use the name of a file without its folder: --input-name input.jsonl",
    );
  }
  return definedFields({ paths: operands.slice(1), inputName });
}

function readOut({ last }: CommandArguments): string | undefined {
  const out = last("--out");
  if (out !== "") return out;
  throw usageError("--out needs the name of a folder", "Type --out shared");
}

function replayOptions(dir: string, given: CommandArguments): CassetteOptions {
  const { values, rest, last } = given;
  const split = last("--split");
  const [other] = [...values.keys()].filter((name) => name !== "--split");
  if (rest === undefined && other !== undefined) {
    throw usageError(
      `${other} needs "--" and the arguments of claude`,
      `Type claude-print cassette replay FOLDER ${other} ... -- -p hello`,
    );
  }
  if (rest !== undefined && split !== undefined) {
    throw usageError(
      '--split does not go with "--"',
      'Leave --split out, or "--" and the arguments after it',
    );
  }
  return definedFields({
    action: "replay",
    dir,
    split: split === undefined ? undefined : readPieceSize(split),
    asProgram: rest === undefined ? undefined : { ...programReplayOptions(given), args: rest },
  });
}

/** The maximum value of `--split`, in bytes. A piece of this size is held in memory. */
const LARGEST_PIECE = 1_000_000;

function readPieceSize(split: string): number {
  const size = /^\d+$/u.test(split) ? Number(split) : NaN;
  if (size >= 1 && size <= LARGEST_PIECE) return size;
  throw usageError(
    `--split does not take "${split}"`,
    `Use a number of bytes from 1 to ${LARGEST_PIECE}`,
  );
}

function programReplayOptions({ last }: CommandArguments): ProgramReplayOptions {
  return definedFields({
    mode: readChoice("--mode", last("--mode") ?? "verify", ["inert", "stub", "verify"]),
    speed: readNumber("--speed", last("--speed") ?? "0", { max: 1_000_000 }),
    patienceMs: readDuration("--patience", last("--patience") ?? "30", { min: 0 }),
    report: last("--report"),
  });
}

function forkOptions(dir: string, { values, last, rest }: CommandArguments): ForkOptions {
  const at = last("--at") ?? "";
  if (!/^\d{1,9}$/u.test(at)) {
    throw usageError(
      at === "" ? "cassette fork needs --at and a turn" : `--at does not take "${at}"`,
      "Use the number of the last turn to keep, as in --at 2; 0 keeps none",
    );
  }
  return definedFields({
    dir,
    at: Number(at),
    prompts: values.get("--prompt") ?? [],
    model: last("--model"),
    apiCassette: last("--api-cassette"),
    record: last("--record"),
    flags: rest ?? [],
  });
}
