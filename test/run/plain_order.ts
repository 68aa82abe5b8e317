import type { RunOrder } from "../../src/run/plan/run_order.ts";

/** A run without special requests. */
export const PLAIN_ORDER: RunOrder = {
  prompt: "hello there",
  env: { PATH: "/bin" },
  cwd: "/w/inner",
  inject: "stdin",
  dangerouslySkipPermissions: false,
  disallowedTools: [],
  addDirs: [],
  mcpConfigs: [],
  strictMcpConfig: false,
  forkSession: false,
  persistSession: true,
  debug: false,
  debugToStderr: false,
  betas: [],
  forwarded: [],
  frames: false,
  retries: false,
  trace: false,
  timeoutMs: 60_000,
  startTimeoutMs: 1000,
  deliveryTimeoutMs: 2000,
  drainTimeoutMs: 3000,
  exitTimeoutMs: 4000,
};
