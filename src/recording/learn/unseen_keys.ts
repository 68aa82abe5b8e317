import type { ProgramText } from "./program_text.ts";

/**
 * Keys of frames that need what no measurement can bring about. `claude-print` knows when they are printed; whether a
 * version has them, the text of the program tells. A key that runs of another version show is none of them: where runs of
 * this one do not show it, this one does not print it.
 */
const RARE: Readonly<Record<string, string>> = {
  "assistant": "refused_message_id",
  "result/success": "deferred_tool_use",
  "system/init": "betas mcp_server_errors plugin_errors",
};

/** The rare keys that stand in the program and that a kind of frame did not have in any run, as words. */
export function unseenKeys(
  frames: Readonly<Record<string, string>>,
  program: ProgramText,
): string {
  const unseen = Object.entries(RARE).flatMap(([kind, rare]) => {
    const seen = (frames[kind] ?? "").replaceAll("?", "").split(" ");
    return rare.split(" ").filter((key) => !seen.includes(key) && program.hasWord(key));
  });
  return [...new Set(unseen)].toSorted().join(" ");
}
