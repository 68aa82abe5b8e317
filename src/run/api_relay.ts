import { readRegularFile } from "../../ffi/files/regular_file.ts";
import { CliError } from "../cli_error.ts";
import { definedFields } from "../defined_fields.ts";
import { StreamSource } from "../driver/inputs/stream_source.ts";
import { ownTraces } from "../recording/redaction/known_traces.ts";
import { createRedactor, type Redactor } from "../recording/redaction/redact.ts";
import { openApiCassette } from "../recording/relay/api_cassette.ts";
import { apiFolder } from "../recording/relay/exchange_folder.ts";
import { passOn, upstreamClient } from "../recording/relay/pass_on.ts";
import { recordExchanges, type SecretRedaction } from "../recording/relay/record_exchanges.ts";
import { type RelayAnswer, startRelay, watchAnswers } from "../recording/relay/relay_server.ts";
import { createSlicedWorker, type SlicedWorker } from "../recording/relay/sliced_work.ts";
import { stabilizeRequest } from "../recording/relay/steady_request.ts";
import { replaceDescriptors } from "../sandbox/child/passed_credentials.ts";
import type { Environment } from "../sandbox/environment.ts";
import { absolutePath } from "../paths.ts";
import { type RelayFlag, relayVariables, type Upstream, upstreamOf } from "./plan/api_variables.ts";
import type { RunFacts } from "./plan/plan_facts.ts";
import type { RunOrder } from "./plan/run_order.ts";

/** Redacts further secrets of a run, and counts them. */
export interface CountedRedaction extends SecretRedaction {
  /** Receives the number of secrets that were removed from an exchange. */
  readonly taken: (secrets: number) => void;
}

/** A relay between a child and its API. */
export interface ApiRelay extends Disposable {
  /** The API's event streams, if they are observed. */
  readonly source?: StreamSource;
  /** Environment variables that make the child use the relay. */
  readonly variables: Readonly<Record<string, string>>;
  /** Returns one sentence for each problem with a cassette or a recording. */
  readonly problems: () => readonly string[];
  /** Waits until all data received from the API is written. */
  readonly settled: () => Promise<void>;
  /** Writes all remaining data now, because the run has ended. */
  readonly finish: () => void;
  /** Adds a redaction to the recording. */
  readonly redactWith: (redaction: CountedRedaction) => void;
}

/** The maximum size of a file of certificates, in bytes. */
const MAX_CERTIFICATES = 16 * 1024 * 1024;
/** The maximum number of reported problems. */
const MOST_PROBLEMS = 5;

/**
 * Starts a relay between a child and its API, for one or several purposes: to observe event streams, to answer from an
 * API cassette, to make requests equal in each run, or to record exchanges.
 *
 * @throws {CliError} when Claude Code would not use a relay, or the cassette cannot be read. If the run is only
 * recorded, the first is no error: the rest of the run is recorded
 */
export function startApiRelay(
  order: RunOrder,
  { settings, sessionId }: Pick<RunFacts, "settings"> & { readonly sessionId: string },
): ApiRelay {
  const { env, exactStream, deterministic } = order;
  const flag = flagOf(order);
  let upstream: Upstream;
  try {
    upstream = upstreamOf({ env, settings, flag });
  } catch (error) {
    if (flag !== "--record" || !(error instanceof CliError)) throw error;
    return inactiveRelay(error.message);
  }
  const problems: string[] = [];
  const report = (problem: string) => {
    if (problems.length < MOST_PROBLEMS) problems.push(problem);
  };
  using undo = new DisposableStack();
  const worker = createSlicedWorker();
  const redactor = createRedactor({ env: replaceDescriptors(upstream.env) });
  const answer = createAnswer(order, { undo, upstream, worker, redactor, report });
  let redaction: CountedRedaction = {
    redact: (text) => text,
    openFrom: () => Infinity,
    taken: () => {},
  };
  const folder = folderToRecord(order);
  const recorded = folder === undefined ? answer : recordExchanges(answer, {
    folder,
    slices: worker,
    redact: (text) => redaction.redact(redactor.text(text)),
    openFrom: (text) => Math.min(redactor.openFrom(text), redaction.openFrom(text)),
    taken: (secrets) => redaction.taken(secrets),
    tell: report,
  });
  const stable: RelayAnswer = deterministic
    ? (request, waiting) => recorded(stabilizeRequest(request), waiting)
    : recorded;
  const source = flag === "--record"
    ? undefined
    : new StreamSource({ sessionId, whole: exactStream });
  const observed = source === undefined ? stable : watchAnswers(stable, source.watch);
  const relay = undo.use(startRelay({ answer: observed }));
  const stack = undo.move();
  return {
    ...definedFields({ source }),
    variables: relayVariables(upstream, relay.url),
    problems: () => problems,
    settled: worker.settled,
    finish: worker.finish,
    redactWith: (more) => {
      redaction = more;
    },
    [Symbol.dispose]: () => stack.dispose(),
  };
}

/** The flag for which a relay is needed. Recording comes last, because it also works without API exchanges. */
function flagOf({ apiCassette, deterministic, exactStream }: RunOrder): RelayFlag {
  if (apiCassette !== undefined) return "--api-cassette";
  if (deterministic) return "--deterministic";
  return exactStream ? "--exact-stream" : "--record";
}

function inactiveRelay(problem: string): ApiRelay {
  return {
    variables: {},
    problems: () => [problem],
    settled: () => Promise.resolve(),
    finish: () => {},
    redactWith: () => {},
    [Symbol.dispose]: () => {},
  };
}

/** Answers requests from the API, or from a cassette. */
function createAnswer(
  { apiCassette, env, cwd }: RunOrder,
  { undo, upstream, worker, redactor, report }: {
    readonly undo: DisposableStack;
    readonly upstream: Upstream;
    readonly worker: SlicedWorker;
    readonly redactor: Redactor;
    readonly report: (problem: string) => void;
  },
): RelayAnswer {
  const api = { upstream: upstream.url, env: upstream.env };
  if (apiCassette === undefined) return undo.use(upstreamAnswer(api)).answer;
  const record = apiCassette.onMiss === "record"
    ? undo.use(recordingAnswer({ ...apiCassette, ...api })).answer
    : undefined;
  return openApiCassette({
    folder: apiFolder(absolutePath(apiCassette.folder, cwd)),
    match: "normalized",
    ignored: [],
    speed: 0,
    faults: new Map(),
    redact: redactor.text,
    openFrom: redactor.openFrom,
    slices: worker,
    known: ownTraces({ env, cwd }),
    tell: report,
    ...definedFields({ record }),
  }).answer;
}

/** The folder for the exchanges of a recorded run; undefined if the API cassette is already that folder. */
function folderToRecord({ record, apiCassette, cwd }: RunOrder): string | undefined {
  if (record === undefined) return undefined;
  const [own, other] = [record, apiCassette?.folder].map((folder) =>
    folder === undefined ? undefined : `${absolutePath(folder, cwd).replace(/\/+$/u, "")}/api`
  );
  return own === other ? undefined : own;
}

interface UpstreamAnswer extends Disposable {
  readonly answer: RelayAnswer;
}

/**
 * Answers requests from an API whose responses are recorded.
 *
 * @throws {CliError} under `CI=true`, unless `allowUpstream` is set, because a CI job should ask the API only on
 * purpose
 */
export function recordingAnswer(
  { allowUpstream, ...options }: {
    readonly upstream: URL;
    readonly env: Environment;
    readonly allowUpstream: boolean;
    /** Receives a sentence when the API has not answered. */
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
  const client = upstreamClient(upstream, { env, read: readCertificates });
  return {
    answer: passOn({ upstream, client, tell }),
    [Symbol.dispose]: () => client.close(),
  };
}

function readCertificates(path: string): string | undefined {
  try {
    return new TextDecoder().decode(readRegularFile(path, { limit: MAX_CERTIFICATES }));
  } catch {
    return undefined;
  }
}
