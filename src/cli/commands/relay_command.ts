import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { CliError } from "../../cli_error.ts";
import type { RelayCommandOptions } from "../arguments/parsed_arguments.ts";
import { ownTraces } from "../../recording/redaction/known_traces.ts";
import { createRedactor } from "../../recording/redaction/redact.ts";
import { openApiCassette } from "../../recording/relay/api_cassette.ts";
import { apiFolder } from "../../recording/relay/exchange_folder.ts";
import { parseFaults } from "../../recording/relay/faults.ts";
import { isLoopback, type Relay, startRelay } from "../../recording/relay/relay_server.ts";
import { createSlicedWorker } from "../../recording/relay/sliced_work.ts";
import { recordingAnswer } from "../../run/api_relay.ts";
import { FIRST_PARTY } from "../../run/plan/api_variables.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { Outlets } from "../report/outlets.ts";
import { listenError } from "../report/report_error.ts";
import { print } from "../report/print.ts";

/**
 * Answers requests to the Messages API until a signal arrives. The first line of stdout is its base URL.
 *
 * @returns the exit code: 1 when a request was not recorded, an answer was not sent, or a recording could not be written
 * @throws {CliError} when it cannot listen, an exchange cannot be read, or requests to the API are forbidden
 */
export async function relay(options: RelayCommandOptions): Promise<number> {
  const env = callerEnvironment();
  using undo = new DisposableStack();
  const isRecording = options.onMiss === "record" && !options.offline;
  const { log } = undo.use(createStderrLog());
  const record = isRecording
    ? undo.use(recordingAnswer({
      upstream: new URL(options.upstream ?? FIRST_PARTY),
      env,
      allowUpstream: options.allowUpstream,
      tell: log,
    }))
    : undefined;
  const { text: redact, openFrom } = createRedactor({ env });
  const slices = createSlicedWorker();
  const api = openApiCassette({
    folder: apiFolder(options.cache),
    match: options.match,
    ignored: options.ignored,
    ...(record === undefined ? {} : { record: record.answer }),
    speed: options.speed,
    hasBodies: true,
    faults: options.faults === undefined ? new Map() : parseFaults(options.faults),
    redact,
    openFrom,
    slices,
    known: ownTraces({ env }),
    tell: log,
  });
  const stopped = Promise.withResolvers<void>();
  const hurried = Promise.withResolvers<void>();
  let signals = 0;
  undo.use(listenToSignals(["SIGINT", "SIGTERM", "SIGHUP"], () => {
    (signals++ === 0 ? stopped : hurried).resolve();
  }));
  const server = undo.use(listen(options, { answer: api.answer }));
  if (!options.hasSecret) log(NO_SECRET);
  print(Deno.stdout, `${server.url}\n`);
  await stopped.promise;
  // Recordings are written completely, unless a second signal arrives.
  server[Symbol.dispose]();
  await Promise.race([api.settled(), hurried.promise]);
  const stats = api.stats();
  // From now on, a signal ends the program, even while a write to stdout blocks.
  undo.dispose();
  if (options.stats) print(Deno.stdout, `${JSON.stringify(stats)}\n`);
  return stats.misses + stats.unwritten + stats.unanswered === 0 ? 0 : 1;
}

const NO_SECRET = "warning: with --no-secret every user of this machine can read what is recorded";

/** The number of pending bytes of an unread stderr above which further lines are dropped. */
const MAX_PENDING_BYTES = 1024 * 1024;
/** The delay before a full stderr is tried again, in milliseconds. */
const RETRY_MS = 20;

/** Creates a log on stderr that never blocks the relay. */
function createStderrLog(): Disposable & { readonly log: (line: string) => void } {
  const outlets = new Outlets();
  const { stderr } = outlets;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    stderr?.flush();
    timer = stderr !== undefined && stderr.pending > 0 ? setTimeout(flush, RETRY_MS) : undefined;
  };
  return {
    log: (line) => {
      if (stderr !== undefined && stderr.pending > MAX_PENDING_BYTES) return;
      outlets.notify(`claude-print: ${line}\n`);
      if (timer === undefined) flush();
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      stderr?.flush();
      outlets[Symbol.dispose]();
    },
  };
}

/** @throws {CliError} when the address is not available, or other machines would need no secret */
function listen(
  { hostname, port, hasSecret }: RelayCommandOptions,
  { answer }: Pick<Parameters<typeof startRelay>[0], "answer">,
): Relay {
  if (!hasSecret && !isLoopback(hostname)) {
    throw new CliError(`Cannot listen on ${hostname} with --no-secret: other machines reach it`, {
      suggestion: "Leave one of --bind and --no-secret out",
    });
  }
  try {
    return startRelay({ answer, hostname, port, hasSecret });
  } catch (cause) {
    throw listenError(cause, {
      hostname,
      port,
      suggestion: "Leave --port out for a free one, and give --bind an address of this machine",
    });
  }
}
