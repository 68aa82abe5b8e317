import { parseArguments } from "../../src/cli/arguments/parse_arguments.ts";
import { StopSignals } from "../../src/driver/stop_signals.ts";
import { performRun, type RunReport } from "../../src/run/perform_run.ts";
import { type PreparedRun, prepareRun } from "../../src/run/prepare_run.ts";
import type { RealClaude } from "./real_claude.ts";

/**
 * Runs a prompt inside the test's own process, with a look at the sandbox before the child starts
 * and after it has ended; then the sandbox is gone.
 */
export async function performInProcess(
  real: Pick<RealClaude, "binary" | "home">,
  options: {
    readonly prompt: string;
    /** Further arguments of `claude-print`. */
    readonly args?: readonly string[];
    /** Whether repeated requests are reported, for which Claude Code writes a debug log. */
    readonly retries?: boolean;
    readonly before?: (prepared: PreparedRun) => void;
    readonly after?: (prepared: PreparedRun) => void;
  },
): Promise<{ readonly report: RunReport; readonly trace: readonly string[] }> {
  const { prompt, args = [], retries = false } = options;
  const command = await parseArguments(["--claude-binary", real.binary, ...args]);
  if (command.kind !== "run") throw new Error(`${args.join(" ")} asks for no run`);
  const prepared = await prepareRun({
    ...command.request,
    prompt,
    cwd: real.home.project,
    env: real.home.env,
    frames: false,
    retries,
  });
  using _sandbox = prepared.sandbox;
  using signals = new StopSignals();
  options.before?.(prepared);
  const trace: string[] = [];
  const report = await performRun(prepared, {
    signals,
    trace: (text) => trace.push(text),
  });
  options.after?.(prepared);
  return { report, trace };
}
