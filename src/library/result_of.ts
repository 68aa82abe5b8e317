import type { RunRequest } from "../cli/arguments/run_request.ts";
import type { RunResult } from "./run_handle.ts";
import { createRedactor } from "../recording/redaction/redact.ts";
import { visibleScreen } from "../recording/redaction/visible_screen.ts";
import type { RunReport } from "../run/perform_run.ts";
import { withSecrets } from "../sandbox/child/passed_credentials.ts";
import type { Environment } from "../sandbox/environment.ts";

/** What a program is told of a run or a turn, without the secrets that a screen may show. */
export function resultOf(
  report: Omit<RunReport, "unprinted">,
  { warnings, env, request }: {
    readonly warnings: readonly string[];
    readonly env: Environment;
    readonly request: Pick<RunRequest, "forwarded" | "settings">;
  },
): RunResult {
  const { result, exitCode, problem, screen } = report;
  const redactor = () =>
    createRedactor({
      env: withSecrets(env),
      args: [...request.forwarded, `--settings=${request.settings ?? ""}`],
    });
  return {
    text: result.result ?? "",
    exitCode,
    frame: result,
    ...(problem === undefined ? {} : { problem }),
    ...(screen === undefined ? {} : { screen: visibleScreen(screen, redactor()) }),
    warnings,
  };
}
