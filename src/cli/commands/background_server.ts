import { programIdentity } from "../../server/delegation/delegation_channel.ts";
import type { Pool } from "../../server/pool/pool.ts";
import { prewarmExpectedRun } from "../run/expected_run.ts";

/** The interval at which a background server checks whether it should end, in milliseconds. */
const LOOK_MS = 5000;

interface BackgroundOptions {
  /** How long the server stays without work, in milliseconds. */
  readonly idleMs: number;
  readonly pool: Pool | undefined;
  /** Returns the number of running runs and conversations. */
  readonly activeCount: () => number;
  /** Returns the number of all runs and conversations so far. */
  readonly totalCount: () => number;
  /** Ends the server. */
  readonly end: () => void;
  readonly onInternalError: (error: unknown) => void;
}

/**
 * Does the tasks of a background server: it prepares a child for a run like the one that started it, and ends itself
 * after some time without work, or when its program was replaced or removed.
 *
 * stdin has a description of that run, and ends when the run ends. Only then does a warm child start, because it reads
 * files that the run may still change.
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
