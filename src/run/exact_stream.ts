import { readRegularFile } from "../../ffi/files/regular_file.ts";
import { StreamSource } from "../driver/sources/stream_source.ts";
import { startRelay } from "../relay/relay.ts";
import { upstreamClient } from "../relay/upstream_client.ts";
import type { RunFacts } from "./plan/plan_facts.ts";
import type { RunOrder } from "./plan/run_order.ts";
import { relayVariables, upstreamOf } from "./plan/upstream_of.ts";

/** What the API streams to a child, as it passes by. */
export interface ExactStream extends Disposable {
  readonly source: StreamSource;
  /** What the child has to be told to ask by this way. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Largest file of certificates that is read, in bytes. */
const MAX_CERTIFICATES = 16 * 1024 * 1024;

/**
 * Puts a relay between a child and the API that it would ask.
 *
 * @throws {CliError} where nothing can be put between the two
 */
export function startExactStream(
  { env }: RunOrder,
  { settings, sessionId }: Pick<RunFacts, "settings"> & { readonly sessionId: string },
): ExactStream {
  const upstream = upstreamOf({ env, settings });
  using undo = new DisposableStack();
  const client = upstreamClient(upstream.url, { env: upstream.env, read: readText });
  undo.defer(() => client.close());
  const source = new StreamSource({ sessionId });
  const relay = undo.use(startRelay({ upstream: upstream.url, client, watch: source.watch }));
  const stack = undo.move();
  return {
    source,
    variables: relayVariables(upstream, relay.url),
    [Symbol.dispose]: () => stack.dispose(),
  };
}

function readText(path: string): string | undefined {
  try {
    return new TextDecoder().decode(readRegularFile(path, { limit: MAX_CERTIFICATES }));
  } catch {
    return undefined;
  }
}
