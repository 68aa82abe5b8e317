import type { LateTerms } from "../../frames/late_terms.ts";
import type { RunRequest } from "../../cli/run_request.ts";
import type { Environment } from "../../sandbox/environment.ts";

/** What a child is started with and cannot be told later: whoever asks for the same can have the same one. */
export interface Profile {
  /** A digest of all of it, in hexadecimal digits. */
  readonly digest: string;
  /** What a child is asked for that waits for one of them, whoever that will be. */
  readonly request: RunRequest;
  readonly env: Environment;
  readonly cwd: string;
}

/** Who asks, and where. */
interface Asked {
  readonly env: Environment;
  readonly cwd: string;
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

/** What of a request a child that waits can be told once it has been made. */
export function termsOf(request: RunRequest): LateTerms {
  const { timeoutMs, startTimeoutMs, deliveryTimeoutMs, idleTimeoutMs } = request;
  const { drainTimeoutMs, exitTimeoutMs, replayMessages, subagentText, hookEvents } = request;
  return {
    ...{ timeoutMs, startTimeoutMs, deliveryTimeoutMs, drainTimeoutMs, exitTimeoutMs },
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
    ...{ replayMessages, subagentText, hookEvents, trace: request.trace },
  };
}

/** The digest, the request and its surroundings for children that wait for whoever asks for the same. */
export async function profileOf(request: RunRequest, { env, cwd }: Asked): Promise<Profile> {
  const { promptArgument: _, inputFile: __, waitForLimitMs: ___, ...further } = request;
  const { idleTimeoutMs: ____, ...others } = further;
  const asked: RunRequest = { ...others, ...SAID_BY_CALLER, ...TOLD_LATE };
  const kept = Object.fromEntries(
    Object.entries(env).filter(([name]) => !VOLATILE.includes(name)),
  );
  const profile = { request: asked, env: kept, cwd };
  const bytes = new TextEncoder().encode(stableText(profile));
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return { ...profile, digest: new Uint8Array(digest).toHex() };
}

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
  if (request.exactStream || request.apiCassette !== undefined || request.deterministic) {
    return "something stands between it and the API";
  }
  if (request.debug || request.debugFile !== undefined || request.debugToStderr) {
    return "its debug log begins with its start";
  }
  return undefined;
}

/** A text that is the same for the same values, in whatever order they were named. */
function stableText(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === "number" && !Number.isFinite(each)) return `${each}`;
    if (typeof each !== "object" || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => a < b ? -1 : 1));
  });
}
