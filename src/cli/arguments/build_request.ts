import { CliError, UnsupportedError } from "../../cli_error.ts";
import type { OutputFormat } from "../../claude/wire/output_writer.ts";
import { type Formats, refuseContradictions } from "./contradictions.ts";
import type { PermissionMode, Resumption, RunRequest, TakenPrompt } from "./run_request.ts";
import { READING, type Tokens, type Use } from "./tokenize.ts";

const DEFAULT_SECONDS = {
  "--timeout": 3600,
  "--start-timeout": 120,
  "--delivery-timeout": 300,
  "--drain-timeout": 10,
  // Claude Code gives itself 5 s to end, whatever hinders it: then its cost is known all the same.
  "--exit-timeout": 6,
};

/** The longest delay that timers take, in milliseconds. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** What was typed, by the names of flags. */
interface Typed {
  /** All values of a flag, which are empty where it has none. */
  readonly all: (name: string) => readonly string[];
  /** The last of them. */
  readonly last: (name: string) => string | undefined;
  readonly given: (name: string) => boolean;
}

function typedIn(uses: readonly Use[]): Typed {
  const all = (name: string) =>
    uses.filter(({ flag }) => flag.name === name).map(({ value }) => value ?? "");
  return {
    all,
    last: (name) => all(name).at(-1),
    given: (name) => uses.some(({ flag }) => flag.name === name),
  };
}

/**
 * Turns tokens without mistakes into a request.
 *
 * @param options.givesFrames whether all frames are given to the caller, whatever the format
 * @throws {CliError} for values that a flag does not take, and for flags that do not go together
 */
export function requestOf(
  { uses, operands }: Tokens,
  { givesFrames = false }: { readonly givesFrames?: boolean } = {},
): RunRequest {
  const typed = typedIn(uses);
  const { all, last, given } = typed;
  const formats = formatsOf(typed, givesFrames);
  refuseContradictions(formats);
  const { jsonl, oneSession, outputFormat, verbose, inputFormat } = formats;
  const isRead = givesFrames || outputFormat === "stream-json";
  const session = sessionOf(typed);
  if (jsonl && !oneSession && session.sessionId !== undefined) {
    throw new CliError(`${READING}: --jsonl with --session-id gives every run the same id`, {
      suggestion: 'Leave --session-id out, or give each line its own in "args"',
    });
  }
  const settingSources = last("--setting-sources");
  if (settingSources !== undefined) checkSettingSources(settingSources);
  return {
    ...present("promptArgument", operands[0]),
    ignoredArguments: operands.slice(1),
    ...present("takenPrompt", operands.length > 0 ? undefined : takenPrompt(uses)),
    ...present("inputFile", formats.inputFile),
    jsonl,
    oneSession,
    ...present("record", last("--record")),
    inputFormat,
    replayMessages: formats.replayMessages,
    partialMessages: formats.partialMessages,
    subagentText: formats.subagentText,
    hookEvents: given("--include-hook-events"),
    // As by claude -p, in other formats it is without effect.
    sessionMirror: given("--session-mirror") && isRead,
    inheritHooks: given("--inherit-hooks"),
    authStatus: given("--enable-auth-status"),
    ...present(
      "waitForLimitMs",
      formats.waitsForLimit ? longestWait(last("--wait-for-limit")) : undefined,
    ),
    streamText: formats.streamText,
    ...present("shellOutput", formats.shellOutput),
    exactStream: formats.exactStream,
    ...present("apiCassette", apiCassetteOf(typed)),
    deterministic: given("--deterministic"),
    ...permissionsOf(typed),
    outputFormat,
    verbose,
    // A cassette of the API is recorded and played in any format: the thoughts have to be in it.
    ...(isRead || (outputFormat === "json" && verbose) || given("--api-cassette") ||
        given("--record")
      ? {}
      : { omitsThinking: true as const }),
    persistSession: formats.persistSession,
    trace: given("--trace"),
    ...limitsOf(typed),
    quiet: given("--quiet"),
    cold: given("--cold"),
    show: given("--show"),
    ...present("maxTurns", maxTurns(last("--max-turns"))),
    ...present("jsonSchema", last("--json-schema") || undefined),
    ...present("maxBudgetUsd", maxBudgetUsd(last("--max-budget-usd"))),
    inject: choice<RunRequest["inject"]>(last("--inject"), "stdin"),
    ...present("claudeBinary", last("--claude-binary") ?? last("--shim-for")),
    ...(given("--shim-for") ? { handsOn: true as const } : {}),
    // Claude Code takes an empty value for none at all, here and for an id.
    ...present("settings", last("--settings") || undefined),
    ...present("settingSources", settingSources),
    ...present("projectConfigRoot", last("--project-config-root")),
    addDirs: all("--add-dir"),
    mcpConfigs: all("--mcp-config"),
    strictMcpConfig: given("--strict-mcp-config"),
    ...session,
    ...rewindingOf(last("--rewind-files"), {
      named: last("--resume"),
      promptArgument: operands[0],
      readsMessages: inputFormat === "stream-json",
      jsonl,
    }),
    ...present("model", last("--model")),
    debug: given("--debug") || given("--debug-file"),
    ...present("debugFile", last("--debug-file")),
    debugToStderr: given("--debug-to-stderr"),
    betas: all("--betas"),
    ...present("taskBudget", taskBudget(last("--task-budget"))),
    forwarded: forwardedOf(uses),
    ...present("ineffective", ineffectiveOf(uses)),
  };
}

function formatsOf({ last, given }: Typed, givesFrames: boolean): Formats {
  const jsonl = given("--jsonl");
  return {
    givesFrames,
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
    exactStream: given("--exact-stream"),
    isRecorded: given("--record"),
    persistSession: !given("--no-session-persistence"),
    waitsForLimit: given("--wait-for-limit"),
  };
}

/** The session that a run has, or goes on with. */
function sessionOf(
  { last, given }: Typed,
): Pick<RunRequest, "sessionId" | "resume" | "resumption" | "forkSession"> {
  const resuming = resumptionOf({
    latest: given("--continue"),
    ...present("named", last("--resume")),
    ...present("upTo", last("--resume-session-at") || undefined),
    ...present("dropsTurn", last("--resume-drops-turn")),
  });
  const forkSession = given("--fork-session");
  const sessionId = last("--session-id") || undefined;
  const goesOn = ["--resume", "--continue"].some(given);
  if (sessionId !== undefined && goesOn && !forkSession) {
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
  return { ...present("sessionId", sessionId), ...resuming, forkSession };
}

/** What tools may do, and who decides on it. */
function permissionsOf(
  { all, last, given }: Typed,
): Pick<
  RunRequest,
  | "asksCaller"
  | "unattended"
  | "promptTool"
  | "permissionMode"
  | "disallowedTools"
  | "dangerouslySkipPermissions"
> {
  // To `claude -p` an empty name is none (2.1.330).
  const promptTool = last("--permission-prompt-tool") || undefined;
  const asks = last("--permission-prompts") !== "none";
  const mode = last("--permission-mode");
  return {
    asksCaller: promptTool === "stdio" && asks,
    ...(asks ? {} : { unattended: true }),
    ...present("promptTool", promptTool === "stdio" || !asks ? undefined : promptTool),
    ...present(
      "permissionMode",
      mode === undefined
        ? undefined
        : choice<PermissionMode>(mode === "manual" ? "default" : mode, "default"),
    ),
    disallowedTools: all("--disallowedTools"),
    dangerouslySkipPermissions: given("--dangerously-skip-permissions"),
  };
}

/** How long each stage may take. */
function limitsOf(
  { last }: Typed,
): Pick<
  RunRequest,
  | "timeoutMs"
  | "startTimeoutMs"
  | "deliveryTimeoutMs"
  | "idleTimeoutMs"
  | "drainTimeoutMs"
  | "exitTimeoutMs"
> {
  const limit = (flag: keyof typeof DEFAULT_SECONDS) =>
    milliseconds(flag, last(flag) ?? DEFAULT_SECONDS[flag]);
  const idle = last("--idle-timeout");
  return {
    timeoutMs: limit("--timeout"),
    startTimeoutMs: limit("--start-timeout"),
    deliveryTimeoutMs: limit("--delivery-timeout"),
    ...present(
      "idleTimeoutMs",
      idle === undefined ? undefined : milliseconds("--idle-timeout", idle),
    ),
    drainTimeoutMs: limit("--drain-timeout"),
    exitTimeoutMs: limit("--exit-timeout"),
  };
}

/** From what the API's answers come, if not from the API. */
function apiCassetteOf(
  { last, given }: Typed,
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

function ineffectiveOf(uses: readonly Use[]): readonly string[] | undefined {
  const warnings = uses.flatMap(({ flag }) =>
    flag.class === "ineffective" ? `${flag.name} has no effect: ${flag.reason}` : []
  );
  return warnings.length === 0 ? undefined : [...new Set(warnings)];
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

/** Any number, as `claude -p` takes it; 0 is no limit. */
function maxTurns(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const turns = Number(value);
  if (!Number.isNaN(turns)) return turns === 0 || turns === Infinity ? undefined : turns;
  throw new CliError(`${READING}: --max-turns does not take "${value}"`, {
    suggestion: "Use a number of requests to the model, 0 for no limit",
  });
}

/** Claude Code 2.1.330 refuse everything else. */
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

/** Claude Code 2.1.330 refuse everything else. */
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

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const USE_SESSION_ID = "Use --resume <id>, with the session_id of an earlier json result";

/**
 * Which session a run goes on with: an id alone is resumed as it is, all else has to be looked up.
 *
 * Beside `--continue` the rest counts only when there is no latest session, as for `claude -p`.
 *
 * @throws {CliError} for what can never lead to a session
 */
function resumptionOf(
  { latest, named: given, upTo, dropsTurn }: Resumption,
): Pick<RunRequest, "resume" | "resumption"> {
  const named = given?.trim();
  if (upTo !== undefined && named === undefined) {
    throw new CliError("Error: --resume-session-at requires --resume", {
      suggestion: "Add --resume <id>, or leave it out",
    });
  }
  if (dropsTurn !== undefined) checkTurn(dropsTurn, { upTo });
  if (named !== undefined && !latest) checkName(named);
  if (!latest && upTo === undefined && (named === undefined || UUID.test(named))) {
    return named === undefined ? {} : { resume: named };
  }
  return {
    resumption: {
      latest,
      ...(named === undefined ? {} : { named }),
      ...(upTo === undefined ? {} : { upTo }),
      ...(dropsTurn === undefined ? {} : { dropsTurn }),
    },
  };
}

function checkTurn(turn: string, { upTo }: { readonly upTo: string | undefined }): void {
  if (upTo === undefined) {
    throw new CliError(
      `${READING}: --resume-drops-turn needs --resume-session-at`,
      { suggestion: "Add --resume-session-at <message>, or leave it out" },
    );
  }
  if (UUID.test(turn)) return;
  throw new CliError(`${READING}: --resume-drops-turn "${turn}" is not a UUID`, {
    suggestion: "Use the uuid of the prompt that began the turn",
  });
}

/** `claude -p` also takes a transcript's path and an address: neither names a session that is the user's. */
function checkName(named: string): void {
  const what = /\.jsonl$/iu.test(named)
    ? "a file"
    : /^[a-z][a-z0-9+.-]*:\/\//iu.test(named)
    ? "an address"
    : undefined;
  if (what === undefined) return;
  throw new UnsupportedError(
    `Cannot honour --resume: "${named}" is ${what}, not a session id or a title`,
    { suggestion: USE_SESSION_ID },
  );
}

/** How `claude -p` refuses a prompt beside `--rewind-files`. */
export const REWIND_WITH_PROMPT =
  "Error: --rewind-files is a standalone operation and cannot be used with a prompt";

/** What to do instead. */
export const REWIND_ALONE =
  "Restore files by a run of its own, without a prompt, and go on after it";

/**
 * Which message files are to be restored before, if that is all that is asked for.
 *
 * @throws {CliError} for what `claude -p` refuses beside it, and for lists, of which each line is a prompt
 */
function rewindingOf(
  message: string | undefined,
  { named, promptArgument, readsMessages, jsonl }: {
    /** The session, as `--resume` names it. */
    readonly named: string | undefined;
    readonly promptArgument: string | undefined;
    readonly readsMessages: boolean;
    readonly jsonl: boolean;
  },
): Pick<RunRequest, "rewindsTo"> {
  // As to `claude -p`, an empty one is none.
  if (message === undefined || message === "") return {};
  if (named === undefined) {
    throw new CliError("Error: --rewind-files requires --resume", {
      suggestion: "Add --resume <id>, or leave it out",
    });
  }
  if (readsMessages || jsonl || (promptArgument ?? "") !== "") {
    throw new CliError(REWIND_WITH_PROMPT, { suggestion: REWIND_ALONE });
  }
  return { rewindsTo: message };
}
