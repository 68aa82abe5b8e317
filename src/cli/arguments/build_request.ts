import { readRewind, readSession } from "./session_flags.ts";
import { type FlagValues, flagValues, type Tokens, type Use } from "./tokenize.ts";
import { usageError } from "./usage_errors.ts";
import type { OutputFormat } from "../../claude/wire/output_writer.ts";
import { type Formats, refuseContradictions } from "./contradictions.ts";
import type { MisplacedPrompt, PermissionMode, RunRequest } from "./run_request.ts";
import { readDuration } from "./read_values.ts";
import { definedFields } from "../../defined_fields.ts";

const DEFAULT_TIMEOUTS = {
  "--timeout": "1h",
  "--start-timeout": "2m",
  "--delivery-timeout": "5m",
  "--drain-timeout": "10s",
  // Claude Code always ends within 5 s. Its cost is known only then.
  "--exit-timeout": "6s",
};

/**
 * Builds the request of a run from tokens without mistakes.
 *
 * @param options.deliversFrames whether the caller gets all frames, whatever the format
 * @throws {CliError} for an invalid value, and for flags that contradict each other
 */
export function buildRequest(
  { uses, operands }: Tokens,
  { deliversFrames = false }: { readonly deliversFrames?: boolean } = {},
): RunRequest {
  const flags = flagValues(uses);
  const { last, given } = flags;
  const formats = readFormats(flags, deliversFrames);
  refuseContradictions(formats);
  const { jsonl, oneSession, outputFormat, verbose, inputFormat } = formats;
  const isRead = deliversFrames || outputFormat === "stream-json";
  const session = readSession(flags);
  if (jsonl && !oneSession && session.sessionId !== undefined) {
    throw usageError(
      "--jsonl with --session-id gives every run the same id",
      'Leave --session-id out, or give each line its own in "args"',
    );
  }
  checkSettingSources(last("--setting-sources"));
  return definedFields({
    promptArgument: operands[0],
    ignoredArguments: operands.slice(1),
    misplacedPrompt: operands.length > 0 ? undefined : findMisplacedPrompt(uses),
    inputFile: formats.inputFile,
    jsonl,
    oneSession,
    record: last("--record"),
    inputFormat,
    replayMessages: formats.replayMessages,
    partialMessages: formats.partialMessages,
    subagentText: formats.subagentText,
    hookEvents: given("--include-hook-events"),
    // In other formats, the flag has no effect, as in claude -p.
    sessionMirror: given("--session-mirror") && isRead,
    inheritHooks: given("--inherit-hooks"),
    authStatus: given("--enable-auth-status"),
    waitForLimitMs: formats.waitsForLimit ? readLongestWait(last("--wait-for-limit")) : undefined,
    streamText: formats.streamText,
    shellOutput: formats.shellOutput,
    exactStream: formats.exactStream,
    apiCassette: readApiCassette(flags),
    deterministic: given("--deterministic"),
    ...readPermissions(flags),
    outputFormat,
    verbose,
    // A cassette of the API can be replayed in any format: it must contain the thinking.
    ...(isRead || (outputFormat === "json" && verbose) || given("--api-cassette") ||
        given("--record")
      ? {}
      : { omitsThinking: true as const }),
    persistSession: formats.persistSession,
    trace: given("--trace"),
    ...readTimeouts(flags),
    quiet: given("--quiet"),
    cold: formats.cold,
    warm: formats.warm,
    show: given("--show"),
    progress: given("--progress"),
    maxTurns: readMaxTurns(last("--max-turns")),
    jsonSchema: last("--json-schema") || undefined,
    maxBudgetUsd: readMaxBudgetUsd(last("--max-budget-usd")),
    inject: choice<RunRequest["inject"]>(last("--inject"), "stdin"),
    claudeBinary: last("--claude-binary") ?? last("--shim-for"),
    isShimmed: given("--shim-for") ? true : undefined,
    ...session,
    ...readRewind(last("--rewind-files"), {
      named: last("--resume"),
      promptArgument: operands[0],
      readsMessages: inputFormat === "stream-json",
      jsonl,
    }),
    ...readClaudeOptions(flags),
    forwarded: forwardedArguments(uses),
    ineffective: ineffectiveWarnings(uses),
  });
}

function readFormats({ last, given }: FlagValues, deliversFrames: boolean): Formats {
  const jsonl = given("--jsonl");
  return {
    deliversFrames,
    jsonl,
    oneSession: given("--one-session"),
    outputFormat: choice<OutputFormat>(last("--output-format"), jsonl ? "json" : "text"),
    verbose: given("--verbose"),
    shellOutput: given("--shell-output")
      ? choice<NonNullable<RunRequest["shellOutput"]>>(
        last("--shell-output") || undefined,
        "joined",
      )
      : undefined,
    inputFormat: choice<RunRequest["inputFormat"]>(last("--input-format"), "text"),
    inputFile: last("--input-file"),
    replayMessages: given("--replay-user-messages"),
    partialMessages: given("--include-partial-messages"),
    subagentText: given("--forward-subagent-text"),
    streamText: given("--stream-text"),
    progress: given("--progress"),
    exactStream: given("--exact-stream"),
    isRecorded: given("--record"),
    persistSession: !given("--no-session-persistence"),
    cold: given("--cold"),
    warm: given("--warm"),
    waitsForLimit: given("--wait-for-limit"),
  };
}

/** Reads flags for Claude Code that also affect how a run is prepared. */
function readClaudeOptions(
  { all, last, given }: FlagValues,
): Pick<
  RunRequest,
  | "settings"
  | "settingSources"
  | "projectConfigRoot"
  | "addDirs"
  | "mcpConfigs"
  | "strictMcpConfig"
  | "model"
  | "debug"
  | "debugFile"
  | "debugToStderr"
  | "betas"
  | "taskBudget"
> {
  return definedFields({
    // Claude Code treats an empty value like no value, for settings and for ids.
    settings: last("--settings") || undefined,
    settingSources: last("--setting-sources"),
    projectConfigRoot: last("--project-config-root"),
    addDirs: all("--add-dir"),
    mcpConfigs: all("--mcp-config"),
    strictMcpConfig: given("--strict-mcp-config"),
    model: last("--model"),
    debug: given("--debug") || given("--debug-file"),
    debugFile: last("--debug-file"),
    debugToStderr: given("--debug-to-stderr"),
    betas: all("--betas"),
    taskBudget: readTaskBudget(last("--task-budget")),
  });
}

/** Reads which tools may run, and who decides about permissions. */
function readPermissions(
  { all, last, given }: FlagValues,
): Pick<
  RunRequest,
  | "asksCaller"
  | "unattended"
  | "promptTool"
  | "permissionMode"
  | "disallowedTools"
  | "dangerouslySkipPermissions"
> {
  // `claude -p` 2.1.330 ignores an empty name.
  const promptTool = last("--permission-prompt-tool") || undefined;
  const asks = last("--permission-prompts") !== "none";
  const mode = last("--permission-mode");
  return definedFields({
    asksCaller: promptTool === "stdio" && asks,
    unattended: asks ? undefined : true,
    promptTool: promptTool === "stdio" || !asks ? undefined : promptTool,
    permissionMode: mode === undefined
      ? undefined
      : choice<PermissionMode>(mode === "manual" ? "default" : mode, "default"),
    disallowedTools: all("--disallowedTools"),
    dangerouslySkipPermissions: given("--dangerously-skip-permissions"),
  });
}

function readTimeouts(
  { last }: FlagValues,
): Pick<
  RunRequest,
  | "timeoutMs"
  | "startTimeoutMs"
  | "deliveryTimeoutMs"
  | "idleTimeoutMs"
  | "drainTimeoutMs"
  | "exitTimeoutMs"
> {
  const limit = (flag: keyof typeof DEFAULT_TIMEOUTS) =>
    readDuration(flag, last(flag) ?? DEFAULT_TIMEOUTS[flag]);
  const idle = last("--idle-timeout");
  return definedFields({
    timeoutMs: limit("--timeout"),
    startTimeoutMs: limit("--start-timeout"),
    deliveryTimeoutMs: limit("--delivery-timeout"),
    idleTimeoutMs: idle === undefined ? undefined : readDuration("--idle-timeout", idle),
    drainTimeoutMs: limit("--drain-timeout"),
    exitTimeoutMs: limit("--exit-timeout"),
  });
}

function readApiCassette(
  { last, given }: FlagValues,
): RunRequest["apiCassette"] {
  const folder = last("--api-cassette");
  const alone = ["--on-miss", "--allow-upstream"].find(given);
  if (folder === undefined && alone !== undefined) {
    throw usageError(
      `${alone} needs --api-cassette`,
      `Add --api-cassette and a folder, or leave ${alone} out`,
    );
  }
  return folder === undefined ? undefined : {
    folder,
    onMiss: choice<"fail" | "record">(last("--on-miss"), "fail"),
    allowUpstream: given("--allow-upstream"),
  };
}

/** Narrows the type of a value that was already checked against the choices of its flag. */
function choice<Value extends string>(value: string | undefined, fallback: Value): Value {
  return value === undefined ? fallback : value as Value;
}

/**
 * Finds the value of a flag that may be the prompt: the last of several words, or else the last of several values. A prompt
 * after a flag with several values or an optional one ends up there.
 */
function findMisplacedPrompt(uses: readonly Use[]): MisplacedPrompt | undefined {
  const taken =
    uses.findLast(({ flag, value = "" }) =>
      ["variadic", "optional"].includes(flag.value) && /\S\s+\S/u.test(value)
    ) ?? uses.findLast(({ isFurther }) => isFurther);
  return taken?.value === undefined ? undefined : { flag: taken.flag.name, text: taken.value };
}

/** Returns the flags for Claude Code, one argument for each value, without those that are merged. */
function forwardedArguments(uses: readonly Use[]): readonly string[] {
  return uses
    .filter(({ flag }, index) =>
      flag.repeatable || uses.findLastIndex((other) => other.flag === flag) === index
    )
    .filter(({ flag, value }) =>
      flag.class === "forwarded" && !(flag.name === "--session-id" && value === "")
    )
    .map(({ flag, value }) => value === undefined ? flag.name : `${flag.name}=${value}`);
}

function ineffectiveWarnings(uses: readonly Use[]): readonly string[] | undefined {
  const warnings = uses.flatMap(({ flag }) =>
    flag.class === "ineffective" ? `${flag.name} has no effect: ${flag.reason}` : []
  );
  return warnings.length === 0 ? undefined : [...new Set(warnings)];
}

function checkSettingSources(value = ""): void {
  const known = ["user", "project", "local"];
  const wrong = value.split(",").map((one) => one.trim())
    .find((one) => one !== "" && !known.includes(one));
  if (wrong === undefined) return;
  throw usageError(`--setting-sources does not take "${wrong}"`, `Use any of ${known.join(",")}`);
}

/** Accepts any number, as `claude -p` does; 0 means no limit. */
function readMaxTurns(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const turns = Number(value);
  if (!Number.isNaN(turns)) return turns === 0 || turns === Infinity ? undefined : turns;
  throw usageError(
    `--max-turns does not take "${value}"`,
    "Use a number of requests to the model, 0 for no limit",
  );
}

/** Accepts numbers above 0, as Claude Code 2.1.330 does. */
function readMaxBudgetUsd(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const usd = Number(value);
  if (usd > 0) return usd === Infinity ? undefined : usd;
  throw usageError(
    `--max-budget-usd does not take "${value}"`,
    "Use a number of US dollars above 0, for example 0.50",
  );
}

/** Reads the maximum wait for a limit, in milliseconds; Infinity without a value. */
function readLongestWait(duration: string | undefined): number {
  if (duration === undefined || duration === "") return Infinity;
  return readDuration("--wait-for-limit", duration, { max: Infinity });
}

/** Accepts whole numbers above 0, as Claude Code 2.1.330 does. */
function readTaskBudget(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const tokens = Number(value);
  if (Number.isSafeInteger(tokens) && tokens > 0) return tokens;
  throw usageError(
    `--task-budget does not take "${value}"`,
    "Use a whole number of tokens, 1 or more",
  );
}
