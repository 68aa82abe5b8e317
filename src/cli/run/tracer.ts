import type { RunRequest } from "../arguments/run_request.ts";
import type { Redactor } from "../../recording/redaction/redact.ts";
import type { PreparedRun } from "../../run/prepare_run.ts";
import type { Environment } from "../../sandbox/environment.ts";

/** Says under `--trace` what a run does, and nothing without. */
export interface Tracer {
  /** Takes a line. */
  readonly trace: (text: string) => void;
  /** Takes a run that is about to be started. */
  readonly prepared: (prepared: PreparedRun) => void;
  /** What takes secrets out of a text that is told. */
  readonly loadRedactor: () => Promise<Redactor>;
}

/**
 * Begins to count the time.
 *
 * @param options.tell takes a line for stderr, with a new line at its end
 */
export async function createTracer(
  request: RunRequest,
  { env, tell }: { readonly env: Environment; readonly tell: (text: string) => void },
): Promise<Tracer> {
  const begunAt = performance.now();
  const loadRedactor = async () => {
    const { createRedactor } = await import("../../recording/redaction/redact.ts");
    const { readCredentials, withSecrets } = await import(
      "../../sandbox/child/passed_credentials.ts"
    );
    // A problem with them is reported by the run.
    await readCredentials(env).catch(() => {});
    return createRedactor({
      env: withSecrets(env),
      args: [...request.forwarded, `--settings=${request.settings ?? ""}`],
    });
  };
  const redactor = request.trace ? await loadRedactor() : undefined;
  const trace = (text: string) => {
    if (redactor === undefined) return;
    const at = (performance.now() - begunAt).toFixed(0).padStart(6);
    tell(`[${at} ms] ${redactor.text(text)}\n`);
  };
  return {
    trace,
    prepared: ({ sandbox, binary, args }) => {
      if (redactor === undefined) return;
      trace(`sandbox ${sandbox.path}`);
      trace(`${binary} ${redactor.commandLine(args)}`);
    },
    loadRedactor,
  };
}
