import { transcriptLines } from "./transcript_lines.ts";

/**
 * The ids of the transcript lines that were copied into a sandbox: a forked session repeats them in its own file.
 *
 * @param resumed bytes copied, by path below `projects/`
 */
export function knownLineIds(
  configDir: string,
  resumed: ReadonlyMap<string, number>,
): ReadonlySet<string> {
  const known = new Set<string>();
  for (const path of resumed.keys()) {
    if (!path.endsWith(".jsonl")) continue;
    for (const line of transcriptLines(`${configDir}/projects/${path}`)) {
      try {
        const { uuid } = JSON.parse(line);
        if (typeof uuid === "string") known.add(uuid);
      } catch {
        // A line that is no JSON has no id.
      }
    }
  }
  return known;
}
