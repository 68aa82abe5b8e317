import type { Sandbox } from "../sandbox/folder/sandbox.ts";
import { type Entry, parseEntry } from "../transcript/entry.ts";
import { transcriptLines } from "./transcript_lines.ts";

/** The lines of the session that was copied into a sandbox, those of its subagents aside. */
export function earlierLines(
  { configDir, resumed }: Pick<Sandbox, "configDir" | "resumed">,
): readonly Entry[] {
  return [...resumed.keys()].filter((path) => /^[^/]+\/[^/]+\.jsonl$/u.test(path))
    .flatMap((path) => transcriptLines(`${configDir}/projects/${path}`))
    .map(parseEntry).filter((entry) => entry !== undefined);
}
