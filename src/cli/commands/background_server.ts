import { programIdentity } from "../../server/delegation/delegation_channel.ts";
import type { Pool } from "../../server/pool/pool.ts";
import { prewarmExpectedRun } from "../run/expected_run.ts";

/** How often a server in the background checks whether it should end, in milliseconds. */
const LOOK_MS = 5000;

interface BackgroundOptions {
  /** How long it stays without work, in milliseconds. */
  readonly idleMs: number;
  readonly pool: Pool | undefined;
  /** How many runs and conversations are under way. */
  readonly activeCount: () => number;
  /** How many there have been. */
  readonly totalCount: () => number;
  /** Ends the server. */
  readonly end: () => void;
  readonly onInternalError: (error: unknown) => void;
}

/**
 * Does what only a server in the background does: it gets ready for a run like the one that has started it, and ends itself
 * when it has had no work for a while, or when its program was replaced or removed.
 *
 * stdin has a description of that run and ends with it. Only then does a warm child start: it reads files that the run may
 * still change.
 */
export function attendBackground({ onInternalError, ...options }: BackgroundOptions): Disposable {
  const { idleMs, pool, activeCount, totalCount, end } = options;
  const program = programIdentity();
  let isExpecting = !Deno.stdin.isTerminal();
  const getReady = async () => {
    const text = await new Response(Deno.stdin.readable).text();
    if (text !== "" && pool !== undefined) await prewarmExpectedRun(text, pool);
  };
  if (isExpecting) void getReady().catch(onInternalError).finally(() => isExpecting = false);
  let total = totalCount();
  let usedAt = performance.now();
  const look = () => {
    const now = performance.now();
    if (isExpecting || activeCount() > 0 || totalCount() !== total) usedAt = now;
    total = totalCount();
    if (now - usedAt >= idleMs || programIdentity() !== program) end();
  };
  const timer = setInterval(look, Math.min(LOOK_MS, idleMs));
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
