import { readEntry } from "../../../claude/transcript/entry.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { Found } from "../finding.ts";

/** Lines that mean something to a run. */
const READ: readonly unknown[] = ["user", "assistant", "system", "attachment"];

/** Whether a line of a transcript is of a known type and cannot be read as one. */
export function rejectedLine(line: JsonObject): readonly Found[] {
  if (!READ.includes(line.type) || readEntry(line)?.type !== "other") return [];
  return [{
    check: "frame rejected",
    where: `line ${line.type}`,
    what: "it does not look as such a line has to",
  }];
}
