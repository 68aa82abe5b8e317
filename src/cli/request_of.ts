import { CliError } from "../cli_error.ts";
import { resumptionOf } from "./resumption_of.ts";
import { rewindingOf } from "./rewinding_of.ts";
import type { OutputFormat } from "../wire/output_writer.ts";
import type { PermissionMode, RunRequest, TakenPrompt } from "./run_request.ts";
import type { Tokens, Use } from "./tokenize.ts";

const READING = "Cannot read the command line";
const DEFAULT_SECONDS = {
  "--timeout": 3600,
  "--start-timeout": 120,
  "--delivery-timeout": 300,
  "--drain-timeout": 10,
  // Claude Code gives itself 5 s to end (2.1.197), whatever hinders it: then its cost is known all the same.
  "--exit-timeout": 6,
};

/** The longest delay that timers take, in milliseconds. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Turns tokens without mistakes into a request.
 *
 * @param options.givesFrames whether all frames are given to the caller, whatever the format
 */
export function requestOf(
  { uses, operands }: Tokens,
  { givesFrames = false }: { readonly givesFrames?: boolean } = {},
): RunRequest {
  const all = (name: string): readonly string[] =>
    uses.filter((use) => use.flag.name === name).map((use) => use.value ?? "");
  const last = (name: string): string | undefined => all(name).at(-1);
  const given = (name: string): boolean => uses.some((use) => use.flag.name === name);

  const jsonl = given("--jsonl");
  const oneSession = given("--one-session");
  if (oneSession && !jsonl) {
    throw new CliError(`${READING}: --one-session needs --jsonl`, {
      suggestion: "Add --jsonl, and give each turn a line of its own, or leave it out",
    });
  }
  const outputFormat = choice<OutputFormat>(last("--output-format"), jsonl ? "json" : "text");
  if (jsonl) refuseBesideList({ outputFormat, record: given("--record") && !oneSession });
  const verbose = given("--verbose");
  if (outputFormat === "stream-json" && !verbose) {
    throw new CliError(`${READING}: --output-format=stream-json needs --verbose`, {
      suggestion: "Add --verbose, as for claude -p",
    });
  }

  const shellOutput = given("--shell-output")
    ? choice<NonNullable<RunRequest["shellOutput"]>>(last("--shell-output") || undefined, "joined")
    : undefined;
  if (shellOutput !== undefined && outputFormat !== "stream-json" && !givesFrames) {
    throw new CliError(`${READING}: --shell-output needs --output-format=stream-json`, {
      suggestion: "Add --output-format=stream-json --verbose, or leave it out",
    });
  }
  const inputFormat = choice<RunRequest["inputFormat"]>(last("--input-format"), "text");
  const replayMessages = given("--replay-user-messages");
  if (inputFormat === "stream-json") {
    refuseBesideMessages({ outputFormat, jsonl, inputFile: last("--input-file") });
  }
  if (replayMessages && inputFormat !== "stream-json") {
    throw new CliError(
      `${READING}: --replay-user-messages needs --input-format=stream-json and --output-format=stream-json`,
      { suggestion: "Add both and --verbose, or leave it out" },
    );
  }

  const partialMessages = given("--include-partial-messages");
  if (partialMessages && outputFormat !== "stream-json" && !givesFrames) {
    throw new CliError(
      `${READING}: --include-partial-messages needs --output-format=stream-json`,
      {
        suggestion: "Add --output-format=stream-json --verbose, or leave it out",
      },
    );
  }
  const subagentText = given("--forward-subagent-text");
  if (subagentText && outputFormat !== "stream-json" && !givesFrames) {
    throw new CliError(
      `${READING}: --forward-subagent-text needs --output-format=stream-json`,
      {
        suggestion: "Add --output-format=stream-json --verbose, or leave it out",
      },
    );
  }
  const waitsForLimit = given("--wait-for-limit");
  const hindrance = [
    inputFormat === "stream-json" ? "--input-format=stream-json" : undefined,
    oneSession ? "--one-session" : undefined,
    given("--record") ? "--record" : undefined,
    given("--no-session-persistence") ? "--no-session-persistence" : undefined,
  ].find((name) => name !== undefined);
  if (waitsForLimit && hindrance !== undefined) {
    throw new CliError(
      `${READING}: --wait-for-limit goes on with the session of a run, which ${hindrance} does not allow`,
      { suggestion: `Leave out one of them; "claude_limits" of a result says when to try again` },
    );
  }
  const streamText = given("--stream-text");
  if (streamText && outputFormat !== "text") {
    throw new CliError(`${READING}: --stream-text prints text, not ${outputFormat}`, {
      suggestion: outputFormat === "stream-json"
        ? "Use --include-partial-messages instead"
        : "Leave --output-format or --stream-text out",
    });
  }
  const exactStream = given("--exact-stream");
  if (exactStream && !partialMessages && !streamText) {
    throw new CliError(
      `${READING}: --exact-stream needs --include-partial-messages or --stream-text`,
      { suggestion: "Add one of them, or leave it out" },
    );
  }

  // To `claude -p` an empty name is none (2.1.197 and 2.1.330).
  const promptTool = last("--permission-prompt-tool") || undefined;
  const asks = last("--permission-prompts") !== "none";
  const resuming = resumptionOf({
    latest: given("--continue"),
    ...present("named", last("--resume")),
    ...present("upTo", last("--resume-session-at") || undefined),
    ...present("dropsTurn", last("--resume-drops-turn")),
  });
  const forkSession = given("--fork-session");
  const sessionId = last("--session-id") || undefined;
  const goesOn = ["--resume", "--continue"].find(given);
  if (sessionId !== undefined && goesOn !== undefined && !forkSession) {
    throw new CliError(
      "Error: --session-id with --continue or --resume also needs --fork-session.",
      {
        suggestion: "Add --fork-session, or leave --session-id out",
      },
    );
  }
  if (sessionId !== undefined && !UUID.test(sessionId)) {
    throw new CliError("Error: Invalid session ID. Must be a valid UUID.", {
      suggestion: "Use an id such as 123e4567-e89b-42d3-a456-426614174000",
    });
  }

  if (jsonl && !oneSession && sessionId !== undefined) {
    throw new CliError(`${READING}: --jsonl with --session-id gives every run the same id`, {
      suggestion: 'Leave --session-id out, or give each line its own in "args"',
    });
  }

  const limit = (flag: keyof typeof DEFAULT_SECONDS): number =>
    milliseconds(flag, last(flag) ?? DEFAULT_SECONDS[flag]);
  const idle = last("--idle-timeout");
  const settingSources = last("--setting-sources");
  if (settingSources !== undefined) checkSettingSources(settingSources);

  const mode = last("--permission-mode");
  const permissionMode = mode === undefined
    ? undefined
    : choice<PermissionMode>(mode === "manual" ? "default" : mode, "default");

  return {
    ...present("promptArgument", operands[0]),
    ignoredArguments: operands.slice(1),
    ...present("takenPrompt", operands.length > 0 ? undefined : takenPrompt(uses)),
    ...present("inputFile", last("--input-file")),
    jsonl,
    oneSession,
    ...present("record", last("--record")),
    inputFormat,
    replayMessages,
    partialMessages,
    subagentText,
    hookEvents: given("--include-hook-events"),
    // As by claude -p, in other formats it is without effect.
    sessionMirror: given("--session-mirror") && (outputFormat === "stream-json" || givesFrames),
    inheritHooks: given("--inherit-hooks"),
    authStatus: given("--enable-auth-status"),
    ...present("waitForLimitMs", waitsForLimit ? longestWait(last("--wait-for-limit")) : undefined),
    streamText,
    ...present("shellOutput", shellOutput),
    exactStream,
    ...present("apiCassette", apiCassetteOf({ last, given })),
    deterministic: given("--deterministic"),
    asksCaller: promptTool === "stdio" && asks,
    ...(asks ? {} : { unattended: true as const }),
    ...present("promptTool", promptTool === "stdio" || !asks ? undefined : promptTool),
    outputFormat,
    verbose,
    // What a cassette of the API answers is asked for alike, whatever is printed.
    ...(givesFrames || outputFormat === "stream-json" || (outputFormat === "json" && verbose) ||
        given("--api-cassette")
      ? {}
      : { omitsThinking: true as const }),
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
    cold: given("--cold"),
    show: given("--show"),
    ...maxTurns(last("--max-turns")),
    ...present("jsonSchema", last("--json-schema") || undefined),
    ...present("maxBudgetUsd", maxBudgetUsd(last("--max-budget-usd"))),
    inject: choice<RunRequest["inject"]>(last("--inject"), "stdin"),
    ...present("claudeBinary", last("--claude-binary") ?? last("--shim-for")),
    // Claude Code takes an empty value for none at all, here and for an id.
    ...present("settings", last("--settings") || undefined),
    ...present("permissionMode", permissionMode),
    disallowedTools: all("--disallowedTools"),
    ...present("settingSources", settingSources),
    ...present("projectConfigRoot", last("--project-config-root")),
    dangerouslySkipPermissions: given("--dangerously-skip-permissions"),
    addDirs: all("--add-dir"),
    mcpConfigs: all("--mcp-config"),
    strictMcpConfig: given("--strict-mcp-config"),
    ...present("sessionId", sessionId),
    ...resuming,
    ...rewindingOf(last("--rewind-files"), {
      named: last("--resume"),
      promptArgument: operands[0],
      readsMessages: inputFormat === "stream-json",
      jsonl,
    }),
    forkSession,
    ...present("model", last("--model")),
    debug: given("--debug") || given("--debug-file"),
    ...present("debugFile", last("--debug-file")),
    debugToStderr: given("--debug-to-stderr"),
    betas: all("--betas"),
    ...present("taskBudget", taskBudget(last("--task-budget"))),
    forwarded: forwardedOf(uses),
  };
}

/** From what the API's answers come, if not from the API. */
function apiCassetteOf(
  { last, given }: {
    readonly last: (flag: string) => string | undefined;
    readonly given: (flag: string) => boolean;
  },
): RunRequest["apiCassette"] {
  const folder = last("--api-cassette");
  const alone = ["--on-miss", "--allow-upstream"].find(given);
  if (folder === undefined && alone !== undefined) {
    throw new CliError(`${READING}: ${alone} needs --api-cassette`, {
      suggestion: `Add --api-cassette and a folder, or leave ${alone} out`,
    });
  }
  return folder === undefined ? undefined : {
    folder,
    onMiss: choice<"fail" | "record">(last("--on-miss"), "fail"),
    allowUpstream: given("--allow-upstream"),
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

/** A conversation is held on stdin and stdout, frame by frame. */
function refuseBesideMessages(
  { outputFormat, jsonl, inputFile }: {
    readonly outputFormat: OutputFormat;
    readonly jsonl: boolean;
    readonly inputFile: string | undefined;
  },
): void {
  if (jsonl || inputFile !== undefined) {
    const other = jsonl ? "--jsonl" : "--input-file";
    throw new CliError(`${READING}: --input-format=stream-json reads stdin, and ${other} too`, {
      suggestion: `Leave ${other} out`,
    });
  }
  if (outputFormat !== "stream-json") {
    throw new CliError(`${READING}: --input-format=stream-json needs --output-format=stream-json`, {
      suggestion: "Add --output-format=stream-json --verbose, as for claude -p",
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

/** The last value with white space in it of a flag that takes all that follows it, as a prompt behind it would be. */
function takenPrompt(uses: readonly Use[]): TakenPrompt | undefined {
  const taken = uses.findLast(({ flag, value }) =>
    flag.value === "variadic" && /\S\s+\S/u.test(value ?? "")
  );
  return taken?.value === undefined ? undefined : { flag: taken.flag.name, text: taken.value };
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

function checkSettingSources(value: string): void {
  const known = ["user", "project", "local"];
  const wrong = value.split(",").map((one) => one.trim())
    .find((one) => one !== "" && !known.includes(one));
  if (wrong === undefined) return;
  throw new CliError(`${READING}: --setting-sources does not take "${wrong}"`, {
    suggestion: `Use any of ${known.join(",")}`,
  });
}

/** Any number, as `claude -p` takes it, and nothing for 0, which is no limit; what is no number depends on the version. */
function maxTurns(value: string | undefined): Pick<RunRequest, "maxTurns" | "noTurns"> {
  if (value === undefined) return {};
  const turns = Number(value);
  if (Number.isNaN(turns)) return { noTurns: value };
  return turns === 0 || turns === Infinity ? {} : { maxTurns: turns };
}

/** Claude Code 2.1.197 and 2.1.330 refuse everything else. */
function maxBudgetUsd(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const usd = Number(value);
  if (usd > 0) return usd === Infinity ? undefined : usd;
  throw new CliError(`${READING}: --max-budget-usd does not take "${value}"`, {
    suggestion: "Use a number of US dollars above 0, for example 0.50",
  });
}

/** The longest wait for a limit, in milliseconds; without a value as long as it takes. */
function longestWait(seconds: string | undefined): number {
  if (seconds === undefined || seconds === "") return Infinity;
  const value = /^(?:\d+\.?\d*|\.\d+)$/.test(seconds) ? Number(seconds) * 1000 : NaN;
  if (value > 0) return value;
  throw new CliError(`${READING}: --wait-for-limit does not take "${seconds}"`, {
    suggestion: "Use --wait-for-limit=SECONDS, or --wait-for-limit alone for as long as it takes",
  });
}

/** Claude Code 2.1.197 and 2.1.330 refuse everything else. */
function taskBudget(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const tokens = Number(value);
  if (Number.isSafeInteger(tokens) && tokens > 0) return tokens;
  throw new CliError(`${READING}: --task-budget does not take "${value}"`, {
    suggestion: "Use a whole number of tokens, 1 or more",
  });
}

function milliseconds(flag: string, seconds: string | number): number {
  const text = String(seconds);
  const value = /^(?:\d+\.?\d*|\.\d+)$/.test(text) ? Math.round(Number(text) * 1000) : NaN;
  if (value >= 1 && value <= LONGEST_TIMEOUT_MS) return value;
  throw new CliError(`${READING}: ${flag} does not take "${text}"`, {
    suggestion: `Use seconds, from 0.001 to ${Math.floor(LONGEST_TIMEOUT_MS / 1000)}`,
  });
}
