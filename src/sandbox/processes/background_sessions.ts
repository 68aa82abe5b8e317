import { namesIn } from "../../../ffi/files/at_path.ts";
import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { readProcessStat } from "./process_stat.ts";
import { isJsonObject } from "../../json_object.ts";

/** The largest record of a process that is read, in bytes: they have less than a thousand. */
const LIMIT = 65_536;

/**
 * The ids of the sessions that Claude Code has at work in the background just now, by the record each of its processes
 * keeps in the user's config dir.
 */
export function backgroundSessions(configDir: string): ReadonlySet<string> {
  const sessions = new Set<string>();
  for (const name of namesIn(`${configDir}/sessions`)) {
    if (!/^\d+\.json$/u.test(name)) continue;
    try {
      const bytes = readRegularFile(`${configDir}/sessions/${name}`, { limit: LIMIT });
      const record: unknown = JSON.parse(new TextDecoder().decode(bytes));
      if (!isJsonObject(record)) continue;
      const { pid, sessionId, kind } = record;
      if (typeof kind !== "string" || kind === "interactive") continue;
      if (typeof sessionId !== "string" || typeof pid !== "number") continue;
      if (readProcessStat(pid)?.ended === false) sessions.add(sessionId);
    } catch {
      // It has ended meanwhile, or is no record.
    }
  }
  return sessions;
}
