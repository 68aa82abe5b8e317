import type { Report } from "../frames/result/report.ts";
import type { PreparedRun } from "./prepare_run.ts";

/**
 * What is to be done about turns that fail because something is not recorded: the API has nothing to do with it.
 *
 * @returns what of a turn's report is otherwise, if something went wrong with the cassette since the turn before
 */
export function unrecordedProblems(
  { relay }: Pick<PreparedRun, "relay">,
): (report: Report) => Pick<Report, "problem"> | undefined {
  let known = 0;
  return ({ problem }) => {
    const { length } = relay?.troubles() ?? [];
    const isNew = length > known;
    known = length;
    if (problem === undefined || !isNew) return undefined;
    const suggestion = "Ask what was recorded, or add --on-miss record, which asks the API";
    return { problem: { ...problem, suggestion } };
  };
}
