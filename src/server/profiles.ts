import { z } from "zod/mini";
import { readRegularFile, UnfitFileError } from "../../ffi/files/regular_file.ts";
import { CliError } from "../cli_error.ts";
import { isTooDeep } from "../claude/wire/json_text.ts";
import type { LateTerms } from "../conversation/control/late_terms.ts";
import type { RunRequest } from "../cli/arguments/run_request.ts";
import { callerServersIn, startingFields, UNCALLED_EVENTS } from "../run/plan/initialization.ts";
import { isJsonObject, type JsonObject } from "../json_object.ts";
import { type ControlRequest, isEmpty } from "../claude/wire/control.ts";
import type { Environment } from "../sandbox/environment.ts";

/** Most flags, and most characters of one: a prompt is no flag. */
const MOST_ARGS = 1000;
const LONGEST = 1_000_000;

const line = z.string().check(z.maxLength(LONGEST));

/** What a conversation is held with, as a caller says it. */
export const PROFILE_SCHEMA = z.strictObject({
  /** Flags of a run. */
  args: z._default(z.array(line).check(z.maxLength(MOST_ARGS)), []),
  /** The working directory, from the root; that of the server if absent. */
  cwd: z.optional(line.check(z.startsWith("/"))),
  /** Variables over those of the server. */
  env: z._default(
    z.record(line.check(z.regex(/^[^=\0]+$/u)), line.check(z.regex(/^[^\0]*$/u))),
    {},
  ),
  /** Whether permissions, questions and plans are asked about, instead of refused. */
  asks: z._default(z.boolean(), true),
  /** Whether its events have what is said to it too. */
  replay_user_messages: z._default(z.boolean(), false),
  /** Whether it is recorded as a cassette. */
  record: z._default(z.boolean(), false),
});

/** What a conversation is held with: what cannot be changed later. */
export type Profile = z.infer<typeof PROFILE_SCHEMA>;

/** The largest file of profiles, in bytes. */
const LIMIT = 1_000_000;

const WAITING_SCHEMA = z.extend(PROFILE_SCHEMA, {
  /** Whether it is one of runs that print a text, who are asked nothing. */
  text: z._default(z.boolean(), false),
  /** Whether it is one of runs that print json without --verbose, who are asked nothing either. */
  json: z._default(z.boolean(), false),
});

/** What children wait for. */
type WaitingProfile = z.infer<typeof WAITING_SCHEMA>;

/** A profile of a file, and what an error calls it. */
interface NamedProfile {
  readonly profile: WaitingProfile;
  readonly name: string;
}

/**
 * Reads a file of profiles: on each line one, as it stands in the body of `POST /v1/conversations`, or of runs that print a
 * text, or json.
 *
 * @throws {CliError} when it cannot be read, or one of them is none
 */
export function readProfiles(path: string): readonly NamedProfile[] {
  return textOf(path).split("\n").flatMap((line, at) => {
    if (line.trim() === "") return [];
    const name = `line ${at + 1} of ${path}`;
    return [{ name, profile: profileIn(line, name) }];
  });
}

function profileIn(line: string, name: string): WaitingProfile {
  const result = WAITING_SCHEMA.safeParse(valueOf(line));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue?.path.map(String).join(".") ?? "";
  throw unusable(name, place === "" ? "it is no object with a profile" : `${place} is none of one`);
}

/** Nothing that is a profile, where a line is no JSON. */
function valueOf(line: string): unknown {
  try {
    return isTooDeep(line) ? undefined : JSON.parse(line);
  } catch {
    return undefined;
  }
}

function textOf(path: string): string {
  try {
    const bytes = readRegularFile(path, { limit: LIMIT });
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw unusable(path, "it does not exist");
    if (error instanceof UnfitFileError) throw unusable(path, error.reason);
    if (error instanceof TypeError) throw unusable(path, "it is not UTF-8");
    throw error;
  }
}

/** Profiles for which no children can wait. */
export function unusable(name: string, why: string): CliError {
  return new CliError(`Cannot have Claude Codes wait for ${name}: ${why}`, {
    suggestion: 'Write lines such as {"args": ["--model", "haiku"], "cwd": "/home/me/project"}',
  });
}

/** What a child is started with and cannot be told later: whoever asks for the same can have the same one. */
export interface ChildProfile {
  /** A digest of all of it, in hexadecimal digits. */
  readonly digest: string;
  /** What a child is asked for that waits for one of them, whoever that will be. */
  readonly request: RunRequest;
  readonly env: Environment;
  readonly cwd: string;
  /** What the caller asks for in its initialization, if it begins with one. */
  readonly initialize?: JsonObject;
}

/** Who asks, and where. */
interface Asked {
  readonly env: Environment;
  readonly cwd: string;
  readonly initialize?: JsonObject | undefined;
}

/** What a shell sets anew with each command, and what tells of its window: nothing that a run is asked for. */
const VOLATILE = ["_", "SHLVL", "OLDPWD", "COLUMNS", "LINES"];

/** What only the program heeds that prints: nothing that a conversation is told. */
const SAID_BY_CALLER = {
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
} as const satisfies Partial<RunRequest>;

/** What a conversation is told once somebody has it, and what stands for that until then. */
const TOLD_LATE = {
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
 * What of a request a child that waits can be told once it has been made.
 *
 * @param initialize the caller's first request, if it has made one before it said anything else
 */
export function termsOf(request: RunRequest, initialize: ControlRequest | undefined): LateTerms {
  const { timeoutMs, startTimeoutMs, deliveryTimeoutMs, idleTimeoutMs } = request;
  const { drainTimeoutMs, exitTimeoutMs, replayMessages, subagentText, hookEvents } = request;
  return {
    ...{ timeoutMs, startTimeoutMs, deliveryTimeoutMs, drainTimeoutMs, exitTimeoutMs },
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
    ...{ replayMessages, hookEvents, trace: request.trace },
    subagentText: subagentText || initialize?.body["forwardSubagentText"] === true,
    ...(initialize === undefined ? {} : { initializedBy: initialize.id }),
  };
}

/** The digest, the request and its surroundings for children that wait for whoever asks for the same. */
export async function profileOf(
  request: RunRequest,
  { env, cwd, initialize }: Asked,
): Promise<ChildProfile> {
  const { promptArgument: _, inputFile: __, waitForLimitMs: ___, ...further } = request;
  const { idleTimeoutMs: ____, ...others } = further;
  const asked: RunRequest = { ...others, ...SAID_BY_CALLER, ...TOLD_LATE };
  const kept = Object.fromEntries(
    Object.entries(env).filter(([name]) => !VOLATILE.includes(name)),
  );
  const profile = {
    request: asked,
    env: kept,
    cwd,
    ...(initialize === undefined ? {} : { initialize: startingFields(initialize) }),
  };
  const bytes = new TextEncoder().encode(stableText(profile));
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return { ...profile, digest: new Uint8Array(digest).toHex() };
}

const CALLERS_SERVERS = "Claude Code speaks to MCP servers in the caller's program as it starts";

/**
 * Why a child has to be started for this run alone; undefined where one that waits does as well.
 *
 * @param options.fork what the conversation goes on with, where that is a recorded one
 */
export function whyCold(
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

/** Events of which a child that waits for its first message tells no hook. */
const WITHIN_TURNS = [
  ...["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit"],
  ...["Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact"],
  ...["PermissionRequest", "PermissionDenied", "TaskCreated", "TaskCompleted"],
];

/** Why a caller's first request takes a child of its own; undefined where one does that was started with the same. */
export function whyOfInitialize({ body }: ControlRequest): string | undefined {
  const { hooks, sdkMcpServers } = body;
  if (!isEmpty(sdkMcpServers)) return CALLERS_SERVERS;
  const early = isJsonObject(hooks)
    ? Object.keys(hooks).filter((event) =>
      !WITHIN_TURNS.includes(event) && !UNCALLED_EVENTS.includes(event)
    )
    : [];
  return early.length === 0
    ? undefined
    : `Claude Code may call the caller's hooks of ${early.join(", ")} before there is a caller`;
}

/** A text that is the same for the same values, in whatever order they were named. */
function stableText(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === "number" && !Number.isFinite(each)) return `${each}`;
    if (!isJsonObject(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => a < b ? -1 : 1));
  });
}
