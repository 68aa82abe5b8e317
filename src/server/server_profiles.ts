import { z } from "zod/mini";
import { readRegularFile, UnfitFileError } from "../../ffi/files/regular_file.ts";
import { CliError } from "../cli_error.ts";
import { parseJson } from "../claude/wire/json_text.ts";
import type { LateTerms } from "../conversation/control/session_options.ts";
import type { RunRequest } from "../cli/arguments/run_request.ts";
import { callerServersIn, startingFields, UNCALLED_EVENTS } from "../run/plan/initialization.ts";
import { isJsonObject, type JsonObject, withSortedKeys } from "../json_object.ts";
import { type ControlRequest, isEmpty } from "../claude/wire/control.ts";
import type { Environment } from "../sandbox/environment.ts";
import { definedFields } from "../defined_fields.ts";

/** The maximum number of flags, and the maximum length of a flag in characters. */
const MAX_ARGS = 1000;
const MAX_TEXT = 1_000_000;

const text = z.string().check(z.maxLength(MAX_TEXT));

/** The options of a conversation that cannot be changed later, as in the body of `POST /v1/conversations`. */
export const PROFILE_SCHEMA = z.strictObject({
  /** Flags of a run. */
  args: z._default(z.array(text).check(z.maxLength(MAX_ARGS)), []),
  /** The working directory as an absolute path; that of the server if absent. */
  cwd: z.optional(text.check(z.startsWith("/"))),
  /** Environment variables in addition to those of the server. */
  env: z._default(
    z.record(text.check(z.regex(/^[^=\0]+$/u)), text.check(z.regex(/^[^\0]*$/u))),
    {},
  ),
  /** Whether the client answers permission requests, questions and plans. Otherwise they are refused. */
  asks: z._default(z.boolean(), true),
  /** Whether the client's messages also become events. */
  replay_user_messages: z._default(z.boolean(), false),
  /** Whether the conversation is recorded as a cassette. */
  record: z._default(z.boolean(), false),
});

export type ConversationProfile = z.infer<typeof PROFILE_SCHEMA>;

/** The maximum size of a file of profiles, in bytes. */
const MAX_FILE_BYTES = 1_000_000;

const WARM_PROFILE_SCHEMA = z.extend(PROFILE_SCHEMA, {
  /** Whether the profile is for runs with the output format `text`, which answer no questions. */
  text: z._default(z.boolean(), false),
  /**
   * Whether the profile is for runs with the output format `json` without --verbose, which also answer no questions.
   */
  json: z._default(z.boolean(), false),
});

type WarmProfile = z.infer<typeof WARM_PROFILE_SCHEMA>;

/** A profile of a file, and its name in errors. */
interface NamedProfile {
  readonly profile: WarmProfile;
  readonly name: string;
}

/**
 * Reads a file with one profile on each line.
 *
 * @throws {CliError} when it cannot be read, or a line is no profile
 */
export function readProfiles(path: string): readonly NamedProfile[] {
  return readProfileFile(path).split("\n").flatMap((line, at) => {
    if (line.trim() === "") return [];
    const name = `line ${at + 1} of ${path}`;
    return [{ name, profile: parseProfile(line, name) }];
  });
}

function parseProfile(line: string, name: string): WarmProfile {
  const result = WARM_PROFILE_SCHEMA.safeParse(parseJson(line));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue?.path.map(String).join(".") ?? "";
  throw profileError(
    name,
    place === "" ? "it is no object with a profile" : `${place} is none of one`,
  );
}

function readProfileFile(path: string): string {
  try {
    const bytes = readRegularFile(path, { limit: MAX_FILE_BYTES });
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw profileError(path, "it does not exist");
    if (error instanceof UnfitFileError) throw profileError(path, error.reason);
    if (error instanceof TypeError) throw profileError(path, "it is not UTF-8");
    throw error;
  }
}

export function profileError(name: string, why: string): CliError {
  return new CliError(`Cannot pre-warm ${name}: ${why}`, {
    suggestion: 'Write lines such as {"args": ["--model", "haiku"], "cwd": "/home/me/project"}',
  });
}

/** The facts that are needed to start a child. Requests with the same profile can use the same warm child. */
export interface ChildProfile {
  /** SHA-256 of the whole profile, in hexadecimal digits. */
  readonly digest: string;
  /** The request with which a warm child starts, without the options that can be set later. */
  readonly request: RunRequest;
  readonly env: Environment;
  readonly cwd: string;
  /** The body of the caller's `initialize` request, if its first line is one. */
  readonly initialize?: JsonObject;
}

/** Variables that a shell sets for each command or for its window. A run does not depend on them. */
const IGNORED_VARIABLES = ["_", "SHLVL", "OLDPWD", "COLUMNS", "LINES"];

/** Options that only the client uses, for input and output. */
const CLIENT_OPTIONS = {
  ignoredArguments: [],
  jsonl: false,
  oneSession: false,
  inputFormat: "stream-json",
  outputFormat: "stream-json",
  verbose: true,
  streamText: false,
  inject: "stdin",
  quiet: false,
  show: false,
  warm: false,
} as const satisfies Partial<RunRequest>;

/** Defaults of the options that a warm child gets when it is taken. */
const LATE_OPTIONS = {
  timeoutMs: 600_000,
  startTimeoutMs: 60_000,
  deliveryTimeoutMs: 60_000,
  drainTimeoutMs: 30_000,
  exitTimeoutMs: 5000,
  replayMessages: false,
  subagentText: false,
  hookEvents: false,
  trace: false,
} as const satisfies LateTerms;

/**
 * The options of a request that a warm child gets when it is taken.
 *
 * @param initialize the caller's `initialize` request, if its first line is one
 */
export function createLateTerms(
  request: RunRequest,
  initialize: ControlRequest | undefined,
): LateTerms {
  const { timeoutMs, startTimeoutMs, deliveryTimeoutMs, idleTimeoutMs } = request;
  const { drainTimeoutMs, exitTimeoutMs, replayMessages, subagentText, hookEvents } = request;
  return {
    ...{ timeoutMs, startTimeoutMs, deliveryTimeoutMs, drainTimeoutMs, exitTimeoutMs },
    ...{ replayMessages, hookEvents, trace: request.trace },
    subagentText: subagentText || initialize?.body["forwardSubagentText"] === true,
    ...definedFields({ idleTimeoutMs, initializedBy: initialize?.id }),
  };
}

export async function createChildProfile(
  request: RunRequest,
  { env, cwd, initialize }: {
    readonly env: Environment;
    readonly cwd: string;
    readonly initialize?: JsonObject | undefined;
  },
): Promise<ChildProfile> {
  const { promptArgument: _, loneWord: __, misplacedPrompt: ___, ...started } = request;
  const { inputFile: ____, waitForLimitMs: _____, idleTimeoutMs: ______, ...others } = started;
  const warmRequest: RunRequest = { ...others, ...CLIENT_OPTIONS, ...LATE_OPTIONS };
  const kept = Object.fromEntries(
    Object.entries(env).filter(([name]) => !IGNORED_VARIABLES.includes(name)),
  );
  const profile = {
    request: warmRequest,
    env: kept,
    cwd,
    ...(initialize === undefined ? {} : { initialize: startingFields(initialize) }),
  };
  const bytes = new TextEncoder().encode(canonicalJson(profile));
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return { ...profile, digest: new Uint8Array(digest).toHex() };
}

const CALLERS_SERVERS = "Claude Code speaks to MCP servers in the caller's program as it starts";

/**
 * Why a run needs a child of its own; undefined when it can use a warm child.
 *
 * @param options.fork the recorded conversation that it continues, if any
 */
export function findColdStartReason(
  { sessionId, resume, resumption, record, ...request }: RunRequest,
  { fork }: { readonly fork?: unknown } = {},
): string | undefined {
  if (sessionId !== undefined) return "its session has an id of the caller's";
  if (resume !== undefined || resumption !== undefined || fork !== undefined) {
    return "it goes on with a session";
  }
  if (record !== undefined) return "its start is recorded";
  if (callerServersIn(request.mcpConfigs).length > 0) return CALLERS_SERVERS;
  if (request.exactStream || request.apiCassette !== undefined || request.deterministic) {
    return "something stands between it and the API";
  }
  if (request.debug || request.debugFile !== undefined || request.debugToStderr) {
    return "its debug log begins with its start";
  }
  return undefined;
}

/** Hook events that Claude Code does not fire before its first message. */
const TURN_EVENTS = [
  ...["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit"],
  ...["Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact"],
  ...["PermissionRequest", "PermissionDenied", "TaskCreated", "TaskCompleted"],
];

/**
 * Why an `initialize` request needs a child of its own; undefined when it can use a warm child with the same profile.
 *
 * @param body the body of the request
 */
export function findColdInitializeReason(
  { hooks, sdkMcpServers }: JsonObject,
): string | undefined {
  if (!isEmpty(sdkMcpServers)) return CALLERS_SERVERS;
  const early = isJsonObject(hooks)
    ? Object.keys(hooks).filter((event) =>
      !TURN_EVENTS.includes(event) && !UNCALLED_EVENTS.includes(event)
    )
    : [];
  return early.length === 0
    ? undefined
    : `Claude Code may call the caller's hooks of ${early.join(", ")} before there is a caller`;
}

/** JSON in which the order of keys does not matter. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === "number" && !Number.isFinite(each)) return `${each}`;
    return withSortedKeys(each);
  });
}
