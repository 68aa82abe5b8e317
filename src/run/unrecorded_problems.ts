import type { Report } from "../conversation/output/result/report.ts";
import type { ApiRelay } from "./api_relay.ts";
import type { RunOrder } from "./plan/run_order.ts";

/**
 * What is to be done about turns that fail because something is not recorded: the API has nothing to do with it.
 *
 * @returns what of a turn's report is otherwise, if something went wrong with the cassette since the turn before
 */
export function unrecordedProblems(
  { relay, options: { apiCassette } }: {
    readonly relay?: Pick<ApiRelay, "troubles">;
    readonly options: Pick<RunOrder, "apiCassette">;
  },
): (report: Report) => Pick<Report, "problem"> | undefined {
  let known = 0;
  return ({ problem }) => {
    const { length } = relay?.troubles() ?? [];
    const isNew = length > known;
    known = length;
    if (problem === undefined || apiCassette === undefined || !isNew) return undefined;
    const suggestion = "Ask what was recorded, or add --on-miss record, which asks the API";
    return { problem: { ...problem, suggestion } };
  };
}
