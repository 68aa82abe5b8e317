import { readRegularFile } from "../../ffi/files/regular_file.ts";
import { CliError } from "../cli_error.ts";
import { StreamSource } from "../driver/sources/stream_source.ts";
import { ownTraces } from "../redaction/own_traces.ts";
import { createRedactor } from "../redaction/redact.ts";
import { openApiCassette } from "../relay/api_cassette.ts";
import { passOn } from "../relay/pass_on.ts";
import { type Answer, startRelay } from "../relay/relay.ts";
import { steadyRequest } from "../relay/steady_request.ts";
import { upstreamClient } from "../relay/upstream_client.ts";
import { watched } from "../relay/watched.ts";
import type { Environment } from "../sandbox/environment.ts";
import type { RunFacts } from "./plan/plan_facts.ts";
import type { RunOrder } from "./plan/run_order.ts";
import { relayVariables, upstreamOf } from "./plan/upstream_of.ts";

/** What stands between a child and the API that it would ask. */
export interface ApiRelay extends Disposable {
  /** What the API streams, if it is heard. */
  readonly source?: StreamSource;
  /** What the child has to be told to ask by this way. */
  readonly variables: Readonly<Record<string, string>>;
  /** What went wrong with a cassette of the API, in a sentence each. */
  readonly troubles: () => readonly string[];
}

/** Largest file of certificates that is read, in bytes. */
const MAX_CERTIFICATES = 16 * 1024 * 1024;
/** How many sentences are told of what went wrong with a cassette. */
const MOST_TROUBLES = 5;

/**
 * Puts a relay between a child and the API that it would ask: to hear what that streams, to answer from a cassette of
 * it, to ask the same in each run, or for several of these.
 *
 * @throws {CliError} where nothing can be put between the two, or the cassette cannot be read
 */
export function startApiRelay(
  { cwd, env, exactStream, apiCassette, deterministic }: RunOrder,
  { settings, sessionId }: Pick<RunFacts, "settings"> & { readonly sessionId: string },
): ApiRelay {
  const flag = apiCassette !== undefined
    ? "--api-cassette"
    : deterministic === true
    ? "--deterministic"
    : "--exact-stream";
  const upstream = upstreamOf({ env, settings, flag });
  using undo = new DisposableStack();
  const troubles: string[] = [];
  const own = apiCassette === undefined
    ? undo.use(upstreamAnswer({ upstream: upstream.url, env: upstream.env }))
    : undefined;
  const record = apiCassette?.onMiss === "record"
    ? undo.use(recordingAnswer({ ...apiCassette, upstream: upstream.url, env: upstream.env }))
    : undefined;
  const answer = own?.answer ?? openApiCassette({
    folder: `${apiCassette?.folder}/api`,
    match: "normalized",
    ignored: [],
    ...(record === undefined ? {} : { record: record.answer }),
    speed: 0,
    faults: new Map(),
    redact: createRedactor({ env: upstream.env }).text,
    known: ownTraces({ env, cwd }),
    tell: (line) => {
      if (troubles.length < MOST_TROUBLES) troubles.push(line);
    },
  }).answer;
  const steady: Answer = deterministic === true
    ? (request, gone) => answer(steadyRequest(request), gone)
    : answer;
  const source = exactStream ? new StreamSource({ sessionId }) : undefined;
  const heard = source === undefined ? steady : watched(steady, source.watch);
  const relay = undo.use(startRelay({ answer: heard }));
  const stack = undo.move();
  return {
    ...(source === undefined ? {} : { source }),
    variables: relayVariables(upstream, relay.url),
    troubles: () => troubles,
    [Symbol.dispose]: () => stack.dispose(),
  };
}

/** The answers of an API. */
interface UpstreamAnswer extends Disposable {
  readonly answer: Answer;
}

/**
 * Answers with what an API says, which is to be recorded.
 *
 * @throws {CliError} under `CI=true`, unless it is allowed: there nothing calls out that nobody asked for
 */
export function recordingAnswer(
  { allowUpstream, ...options }: {
    readonly upstream: URL;
    readonly env: Environment;
    readonly allowUpstream: boolean;
  },
): UpstreamAnswer {
  if (options.env["CI"] === "true" && !allowUpstream) {
    throw new CliError("Cannot record under CI=true: it would ask the API", {
      suggestion: "Play what is recorded, or add --allow-upstream",
    });
  }
  return upstreamAnswer(options);
}

function upstreamAnswer(
  { upstream, env }: { readonly upstream: URL; readonly env: Environment },
): UpstreamAnswer {
  const client = upstreamClient(upstream, { env, read: readText });
  return {
    answer: passOn({ upstream, client }),
    [Symbol.dispose]: () => client.close(),
  };
}

function readText(path: string): string | undefined {
  try {
    return new TextDecoder().decode(readRegularFile(path, { limit: MAX_CERTIFICATES }));
  } catch {
    return undefined;
  }
}
