import type { Redactor } from "../../redaction/redact.ts";
import type { RunReport } from "../../run/run_report.ts";
import type { Outlets } from "./outlets.ts";
import { problemText } from "./report_error.ts";

/** Exit code of a run whose output nobody reads any more: it ends as quietly as a program that SIGPIPE ends. */
const ABANDONED = 141;

/** Tells a failure on stderr, with the last screen where it explains more than words. */
export async function tellProblem(
  { problem, screen, exitCode }: Pick<RunReport, "problem" | "screen" | "exitCode">,
  { label, quiet, outlets, loadRedactor }: {
    readonly label: string;
    readonly quiet: boolean;
    readonly outlets: Outlets;
    readonly loadRedactor: () => Promise<Redactor>;
  },
): Promise<void> {
  if (problem === undefined || exitCode === ABANDONED || (quiet && exitCode === 0)) return;
  outlets.tell(problemText(problem, { label }));
  if (screen === undefined) return;
  const { visibleScreen } = await import("../../redaction/visible_screen.ts");
  const rows = visibleScreen(screen, await loadRedactor());
  if (rows.length === 0) return;
  outlets.tell(`  The last screen:\n${rows.map((row) => `  | ${row}\n`).join("")}`);
}
