import type { Entry } from "./entry.ts";
import { keptEntry } from "./kept_entry.ts";

/** Lines of other types that something is read from: what the session has to offer, its title, and what it cost. */
const TELLING: readonly unknown[] = [
  "api-request",
  "api-request-shape",
  "cost-state",
  "custom-title",
  "permission-mode",
];

/**
 * What is still asked of a line that an earlier run of a session has written, which is less than of the lines of this
 * one: who said something and which model, but not what, and what there is on offer.
 *
 * @returns undefined where nothing is
 */
export function recalledEntry(entry: Entry): Entry | undefined {
  switch (entry.type) {
    case "assistant": {
      const { type, uuid, isSidechain, message: { id, model } } = entry;
      return { type, uuid, isSidechain, message: { id, model, content: [] } };
    }
    case "user": {
      const { type, uuid, isSidechain, meaning } = entry;
      return { type, uuid, isSidechain, meaning, message: { content: "" } };
    }
    case "other":
      return TELLING.includes(entry.line["type"]) ? entry : undefined;
    default:
      return keptEntry(entry);
  }
}
