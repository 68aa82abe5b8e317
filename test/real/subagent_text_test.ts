import { assertEquals } from "@std/assert";
import { forNewestVersion } from "./for_each_version.ts";
import { outlineOfFrames, parseFrames } from "./print_mode_facts.ts";

const CALL = {
  description: "look",
  prompt: "Inner [[think hm]] [[say inner text]] [[bash echo inner]] [[say inner end]]",
  subagent_type: "general-purpose",
  run_in_background: false,
};

// Before 2.1.330 there is no such flag.
forNewestVersion(
  "--forward-subagent-text prints what a subagent says, as claude -p does",
  async (real) => {
    const args = [
      ...["--output-format", "stream-json", "--verbose", "--forward-subagent-text"],
      ...["--allowedTools", "Bash", "--", `Go. [[tool Agent ${JSON.stringify(CALL)}]] [[say end]]`],
    ];
    const ours = await real.print(args);
    const theirs = await real.claudeP(args);
    assertEquals([ours.code, theirs.code], [0, 0], ours.stderr);
    // No hook tells how far a subagent is.
    const outline = (text: string) =>
      outlineOfFrames(parseFrames(text)).filter((line) => line !== "system/task_progress")
        .map((line) => line.replace(/(?<=tool_result\()\[.*$/u, "…"));
    assertEquals(outline(ours.stdout), outline(theirs.stdout));
  },
);
