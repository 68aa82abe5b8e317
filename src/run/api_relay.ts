import { readRegularFile } from "../../ffi/files/regular_file.ts";
import { CliError } from "../cli_error.ts";
import { StreamSource } from "../driver/inputs/stream_source.ts";
import { ownTraces } from "../recording/redaction/known_traces.ts";
import { createRedactor } from "../recording/redaction/redact.ts";
import { openApiCassette } from "../recording/relay/api_cassette.ts";
import { apiFolder } from "../recording/relay/exchange_folder.ts";
import { passOn, upstreamClient } from "../recording/relay/pass_on.ts";
import { recordExchanges, type SecretRedaction } from "../recording/relay/record_exchanges.ts";
import { type RelayAnswer, startRelay, watchAnswers } from "../recording/relay/relay_server.ts";
import { createSlicedWorker } from "../recording/relay/sliced_work.ts";
import { stabilizeRequest } from "../recording/relay/steady_request.ts";
import { withSecrets } from "../sandbox/child/passed_credentials.ts";
import type { Environment } from "../sandbox/environment.ts";
import { absolutePath } from "../sandbox/paths.ts";
import type { RunFacts } from "./plan/plan_facts.ts";
import type { RunOrder } from "./plan/run_order.ts";
import { type RelayFlag, relayVariables, type Upstream, upstreamOf } from "./plan/api_variables.ts";

/** Whoever knows secrets of a run, and counts them. */
export interface CountedHiding extends SecretRedaction {
  /** Takes how many secrets were taken out of an exchange. */
  readonly taken: (secrets: number) => void;
}

/** What stands between a child and the API that it would ask. */
export interface ApiRelay extends Disposable {
  /** What the API streams, if it is heard. */
  readonly source?: StreamSource;
  /** What the child has to be told to ask by this way; nothing where it asks by its own. */
  readonly variables: Readonly<Record<string, string>>;
  /** What went wrong with what is recorded of the API, in a sentence each. */
  readonly troubles: () => readonly string[];
  /** Waits until all that has come of the API is written down. */
  readonly settled: () => Promise<void>;
  /** Writes down now what is still to be written of the API: the run is over. */
  readonly finish: () => void;
  /** From now on this takes secrets out of what is recorded of the run too, and hears how many there were. */
  readonly hide: (hiding: CountedHiding) => void;
}

/** Largest file of certificates that is read, in bytes. */
const MAX_CERTIFICATES = 16 * 1024 * 1024;
/** How many sentences are told of what went wrong with a cassette. */
const MOST_TROUBLES = 5;

/**
 * Puts a relay between a child and the API that it would ask: to hear what that streams, to answer from a cassette of
 * it, to ask the same in each run, to record what is asked and answered, or for several of these.
 *
 * @throws {CliError} where nothing can be put between the two, unless it is only to be recorded, or the cassette cannot be
 * read
 */
export function startApiRelay(
  order: RunOrder,
  { settings, sessionId }: Pick<RunFacts, "settings"> & { readonly sessionId: string },
): ApiRelay {
  const { cwd, env, exactStream, deterministic } = order;
  const apiCassette = order.apiCassette === undefined
    ? undefined
    : { ...order.apiCassette, folder: absolutePath(order.apiCassette.folder, cwd) };
  const flag = flagOf(order);
  const troubles: string[] = [];
  const tell = (line: string) => {
    if (troubles.length < MOST_TROUBLES) troubles.push(line);
  };
  let upstream: Upstream;
  try {
    upstream = upstreamOf({ env, settings, flag });
  } catch (error) {
    if (flag !== "--record" || !(error instanceof CliError)) throw error;
    // The rest of the run is recorded.
    return {
      variables: {},
      troubles: () => [error.message],
      settled: () => Promise.resolve(),
      finish: () => {},
      hide: () => {},
      [Symbol.dispose]: () => {},
    };
  }
  using undo = new DisposableStack();
  const own = apiCassette === undefined
    ? undo.use(upstreamAnswer({ upstream: upstream.url, env: upstream.env }))
    : undefined;
  const missing = apiCassette?.onMiss === "record"
    ? undo.use(recordingAnswer({ ...apiCassette, upstream: upstream.url, env: upstream.env }))
    : undefined;
  const { text: redact, openFrom } = createRedactor({ env: withSecrets(upstream.env) });
  const slices = createSlicedWorker();
  const answer = own?.answer ?? openApiCassette({
    folder: apiFolder(apiCassette?.folder ?? ""),
    match: "normalized",
    ignored: [],
    ...(missing === undefined ? {} : { record: missing.answer }),
    speed: 0,
    faults: new Map(),
    redact,
    openFrom,
    slices,
    known: ownTraces({ env, cwd }),
    tell,
  }).answer;
  const folder = folderToRecord(order);
  let hiding: CountedHiding = { redact: (text) => text, openFrom: () => Infinity, taken: () => {} };
  const kept = folder === undefined ? answer : recordExchanges(answer, {
    folder,
    slices,
    redact: (text) => hiding.redact(redact(text)),
    openFrom: (text) => Math.min(openFrom(text), hiding.openFrom(text)),
    taken: (secrets) => hiding.taken(secrets),
    tell,
  });
  const steady: RelayAnswer = deterministic === true
    ? (request, waiting) => kept(stabilizeRequest(request), waiting)
    : kept;
  const source = flag === "--record"
    ? undefined
    : new StreamSource({ sessionId, whole: exactStream === true });
  const heard = source === undefined ? steady : watchAnswers(steady, source.watch);
  const relay = undo.use(startRelay({ answer: heard }));
  const stack = undo.move();
  return {
    ...(source === undefined ? {} : { source }),
    variables: relayVariables(upstream, relay.url),
    troubles: () => troubles,
    settled: slices.settled,
    finish: slices.finish,
    hide: (more) => {
      hiding = more;
    },
    [Symbol.dispose]: () => stack.dispose(),
  };
}

/** What a relay is for, where it cannot do without one. */
function flagOf({ apiCassette, deterministic, exactStream }: RunOrder): RelayFlag {
  if (apiCassette !== undefined) return "--api-cassette";
  if (deterministic === true) return "--deterministic";
  return exactStream === true ? "--exact-stream" : "--record";
}

/** Where the exchanges of a recorded run go, unless they are there already. */
function folderToRecord({ record, apiCassette, cwd }: RunOrder): string | undefined {
  if (record === undefined) return undefined;
  const [own, other] = [record, apiCassette?.folder].map((folder) =>
    folder === undefined ? undefined : `${absolutePath(folder, cwd).replace(/\/+$/u, "")}/api`
  );
  return own === other ? undefined : own;
}

/** The answers of an API. */
interface UpstreamAnswer extends Disposable {
  readonly answer: RelayAnswer;
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
    /** Takes a sentence on why the API has not answered. */
    readonly tell?: (line: string) => void;
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
  { upstream, env, tell }: {
    readonly upstream: URL;
    readonly env: Environment;
    readonly tell?: (line: string) => void;
  },
): UpstreamAnswer {
  const client = upstreamClient(upstream, { env, read: readText });
  return {
    answer: passOn({ upstream, client, tell }),
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
