/** The lists of rules in settings, in the order in which Claude Code looks at them. */
export const RULE_LISTS = ["allow", "deny", "ask"] as const;

/** A list of rules in settings. */
type RuleList = typeof RULE_LISTS[number];

/** A rule in its parts. */
export interface PermissionRule {
  /** The tool, or the pattern of tools, that it is about. */
  readonly tool: string;
  /** What of the tool it is about, without backslashes before parentheses; absent where it is about all of it. */
  readonly content?: string;
}

const MCP = "mcp__";

/** Tools that want a pattern of files. */
const OF_FILES = ["Read", "Write", "Edit", "Glob", "NotebookRead", "NotebookEdit", "Cd"];

/**
 * Why Claude Code leaves a rule of settings out, in its words (2.1.330); undefined where it takes it.
 */
export function ruleProblem(rule: string, list: RuleList): string | undefined {
  if (rule.trim() === "") return "Permission rule cannot be empty";
  const call = callOf(rule);
  if (call === undefined) {
    return "Malformed Tool(content) rule. Rules take the form Tool or Tool(content) and must end at the closing " +
      '")"; parentheses inside the content are literal';
  }
  if (call.content === "") {
    return call.tool === ""
      ? "Empty parentheses with no tool name. Specify a tool name before the parentheses"
      : `Empty parentheses. Either specify a pattern or use just "${call.tool}" without parentheses`;
  }
  const { tool, content } = parseRule(rule);
  const server = serverOf(tool);
  if (server !== undefined && call.content !== undefined) return mcpProblem(tool, server);
  if (list === "allow") {
    const wild = wildProblem(tool);
    if (wild !== undefined) return wild;
  }
  if (server !== undefined) return undefined;
  const [first = ""] = tool;
  if (!tool.includes("_") && first !== first.toUpperCase()) {
    return `Tool names must start with uppercase. Use "${first.toUpperCase()}${
      tool.slice(first.length)
    }"`;
  }
  return content === undefined ? undefined : contentProblem(tool, content);
}

/** Why a rule that allows something may not name its tools like that; undefined where it may (2.1.330). */
export function wildProblem(tool: string): string | undefined {
  if (!tool.includes("*") || serverOf(tool)?.name.includes("*") === false) return undefined;
  return `Wildcard tool name "${tool}" is not supported in allow rules. An allow pattern must name the scope it widens ` +
    "— globs are permitted only in the tool position after a literal mcp__<server>__ prefix. Deny and ask rules accept " +
    "wildcards anywhere";
}

/** The parts of a rule, whatever it looks like. */
export function parseRule(rule: string): PermissionRule {
  const { tool, content } = callOf(rule) ?? { tool: rule };
  if (content === undefined || tool === "") return { tool: rule };
  return content === "" || content === "*"
    ? { tool }
    : { tool, content: content.replace(/\\([()])/gu, "$1").replaceAll("\\\\", "\\") };
}

/** A rule as Claude Code names it. */
export function ruleText({ tool, content }: PermissionRule): string {
  return content === undefined ? tool : `${tool}(${content.replace(/[\\()]/gu, "\\$&")})`;
}

/** Whether a rule of the command line looks like one that was not torn apart, or left open. */
export function isWhole(rule: string): boolean {
  const call = callOf(rule);
  if (call === undefined || (call.content !== undefined && call.tool === "")) return false;
  const plain = rule.replace(/\\./gsu, "");
  const count = (parenthesis: string) => plain.split(parenthesis).length;
  return !rule.includes(",") || count("(") === count(")");
}

/** The rules of a list on the command line: commas and spaces part them, but within parentheses. */
export function rulesOf(list: string): readonly string[] {
  const rules: string[] = [];
  let begin = 0;
  let isWithin = false;
  for (let at = 0; at <= list.length; at++) {
    const character = list[at];
    if (character === "(") isWithin = true;
    if (character === ")") isWithin = false;
    if (character !== undefined && (isWithin || ![",", " "].includes(character))) continue;
    rules.push(list.slice(begin, at).trim());
    begin = at + 1;
  }
  return rules.filter((rule) => rule !== "");
}

/** What stands before the first parenthesis and what between it and the last; undefined where these do not go together. */
function callOf(rule: string): PermissionRule | undefined {
  let [open, close] = [-1, -1];
  let isEscaped = false;
  for (let at = 0; at < rule.length; at++) {
    if (!isEscaped && rule[at] === "(" && open < 0) open = at;
    if (!isEscaped && rule[at] === ")") close = at;
    isEscaped = rule[at] === "\\" && !isEscaped;
  }
  if (open < 0 && close < 0) return { tool: rule };
  const tool = rule.slice(0, open);
  return open < 0 || close <= open || close !== rule.length - 1 || /[()]/u.test(tool)
    ? undefined
    : { tool, content: rule.slice(open + 1, close) };
}

/** The MCP server that a tool's name begins with, and which of its tools; undefined for another tool. */
function serverOf(tool: string): { readonly name: string; readonly tool?: string } | undefined {
  if (!tool.startsWith(MCP)) return undefined;
  const rest = tool.slice(MCP.length);
  const end = rest.indexOf("__");
  return end < 0 ? { name: rest } : { name: rest.slice(0, end), tool: rest.slice(end + 2) };
}

function mcpProblem(
  rule: string,
  { name, tool }: { readonly name: string; readonly tool?: string },
): string {
  const all = `${MCP}${name}__*`;
  const isNamed = tool !== undefined && !tool.includes("*");
  return `MCP rules do not support patterns in parentheses. Use "${rule}" without parentheses` +
    (isNamed
      ? `. For all tools of a server, use "${all}" for the server "${name}", or "${rule}__*" for a server named "${name}__${tool}"`
      : `, or use "${all}" for all tools`);
}

/** Why single tools do not take what stands in the parentheses. */
function contentProblem(tool: string, content: string): string | undefined {
  switch (tool) {
    case "WebSearch":
      return /[*?]/u.test(content)
        ? "WebSearch does not support wildcards. Use exact search terms without * or ?"
        : undefined;
    case "WebFetch":
      if (content.includes("://") || content.startsWith("http")) {
        return 'WebFetch permissions use domain format, not URLs. Use "domain:hostname" format';
      }
      return content.startsWith("domain:")
        ? undefined
        : 'WebFetch permissions must use "domain:" prefix. Use "domain:hostname" format';
    case "Bash":
      return content === ":*"
        ? "Prefix cannot be empty before :*. Specify a command prefix before :*"
        : undefined;
    default:
      return OF_FILES.includes(tool) && content.includes(":*")
        ? 'The ":*" syntax is only for Bash prefix rules. Use glob patterns like "*" or "**" for file matching'
        : undefined;
  }
}
