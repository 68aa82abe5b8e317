import { isWhole, rulesOf } from "./permission_rule.ts";

/** How much of a rule is told, in characters. */
const LONGEST = 64;

/** What is said of the first rule of each flag, but for the rule. */
const SAID = {
  allow: "so this list may allow more or less than you meant",
  deny: "so a tool you meant to block may still run",
};

/** What `claude -p` says on stderr of rules of a flag that look as if they were torn apart, a line or none (2.1.330). */
export function tornRules(
  flag: "--allowedTools" | "--disallowedTools",
  lists: readonly string[],
): readonly string[] {
  const [first, ...others] = new Set(lists.flatMap(rulesOf)).values()
    .filter((rule) => !isWhole(rule));
  if (first === undefined) return [];
  const list = flag === "--allowedTools" ? "allow" : "deny";
  const shown = first.length > LONGEST ? `${first.slice(0, LONGEST)}…` : first;
  const more = others.length === 0 ? "" : ` This list has ${others.length} more like it.`;
  return [
    `${flag}: "${shown}" doesn't look like a complete rule, ${
      SAID[list]
    }. A rule looks like Bash or Bash(git *). ` +
    'Check for a missing ")", a space before "(", or text after ")". If a ")" belongs inside your rule, the list may ' +
    `have split there and the quoted text is only part of it: move the whole rule to permissions.${list} in settings ` +
    `this session reads.${more}`,
  ];
}
