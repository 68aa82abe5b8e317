import { blankBetween } from "./blank_between.ts";
import { blankText } from "./blank_text.ts";

/** What Claude Code itself says around the report of a subagent in the result of its call (2.1.330). */
const AROUND =
  /^\s*<tools-used-before-summary>[\w, -]*<\/tools-used-before-summary>|^\[Subagent hand-back\]$|^agentId: \w+ \((?:use SendMessage with to: '\w+'(?:, summary: '<5-10 word recap>')? to continue this agent|for resuming to continue this agent's work if needed)\)$|^<usage>(?:\n?\w+: \d+)*\n?<\/usage>$/gmu;
/** It goes on in the background, and nothing is reported yet. */
const LAUNCHED = /^Async agent launched successfully\b/u;
/** A skill that a subagent has carried out, and what it says. */
const FORKED = /^Skill "[^"\n]*" completed \(forked execution\)\.\s+Result:\n/u;
/** What a subagent in the background has written so far, as the tool tells it that looks. */
const OUTPUT = /(?<=<output>)[^]*(?=<\/output>)/u;

/** The result of a call, in which the report of a subagent says nothing any more. */
export function blankReport(text: string, tool: string): string {
  switch (tool) {
    case "Agent":
    case "Task":
      return LAUNCHED.test(text) ? text : blankBetween(text, AROUND);
    case "Skill": {
      const [kept] = FORKED.exec(text) ?? [];
      return kept === undefined ? text : kept + blankText(text.slice(kept.length));
    }
    default:
      return text.includes("<task_type>local_agent</task_type>")
        ? text.replace(OUTPUT, blankText)
        : text;
  }
}
