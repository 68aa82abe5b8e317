import { createRedactor } from "../../recording/redaction/redact.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { print, printLines, reportJson } from "../report/print.ts";
import type { DriftReport } from "./drift_report.ts";
import { driftTable } from "./drift_table.ts";
import { githubAnnotations, markdownReport } from "./github_report.ts";

/** Tells a person or a machine, and GitHub where it runs this. */
export function sayDrift(
  report: DriftReport & { readonly ok: boolean },
  { json, env }: { readonly json: boolean; readonly env: Environment },
): void {
  const { text: redact } = createRedactor({ env });
  const isGithub = env["GITHUB_ACTIONS"] === "true";
  const told = json ? `${reportJson(report)}\n` : driftTable(report);
  printLines(redact(told));
  if (!isGithub) return;
  if (!report.ok) {
    for (const line of githubAnnotations(report)) {
      print(Deno.stderr, redact(`${line}\n`), { commands: true });
    }
  }
  const { GITHUB_STEP_SUMMARY: summary } = env;
  if (summary === undefined || summary === "") return;
  try {
    Deno.writeTextFileSync(summary, redact(`${markdownReport(report)}\n`), { append: true });
  } catch (error) {
    print(Deno.stderr, `claude-print: Cannot write the summary: ${(error as Error).message}\n`);
  }
}
