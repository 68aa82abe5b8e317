/** The lists of permission rules in settings, in the order in which Claude Code checks them. */
export const RULE_LISTS = ["allow", "deny", "ask"] as const;

type RuleList = typeof RULE_LISTS[number];

/** A parsed permission rule, such as `Bash` or `Bash(git *)`. */
export interface PermissionRule {
  /** The name of a tool, or a pattern of names. */
  readonly tool: string;
  /** The text in parentheses, unescaped; absent if the rule covers every call of the tool. */
  readonly content?: string;
}

const MCP = "mcp__";

/** Tools whose rules have a file pattern in parentheses. */
const FILE_TOOLS = ["Read", "Write", "Edit", "Glob", "NotebookRead", "NotebookEdit", "Cd"];

/**
 * Returns why Claude Code 2.1.330 ignores a rule of settings, in its words.
 *
 * @returns undefined for a valid rule
 */
export function ruleProblem(rule: string, list: RuleList): string | undefined {
  if (rule.trim() === "") return "Permission rule cannot be empty";
  const call = splitAtParentheses(rule);
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
    const wildcard = wildcardProblem(tool);
    if (wildcard !== undefined) return wildcard;
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

/** Returns why Claude Code 2.1.330 rejects a tool pattern in an allow rule; undefined for a valid pattern. */
export function wildcardProblem(tool: string): string | undefined {
  if (!tool.includes("*") || serverOf(tool)?.name.includes("*") === false) return undefined;
  return `Wildcard tool name "${tool}" is not supported in allow rules. An allow pattern must name the scope it widens ` +
    "— globs are permitted only in the tool position after a literal mcp__<server>__ prefix. Deny and ask rules accept " +
    "wildcards anywhere";
}

/** Parses a rule. An invalid text becomes the name of a tool. */
export function parseRule(rule: string): PermissionRule {
  const { tool, content } = splitAtParentheses(rule) ?? { tool: rule };
  if (content === undefined || tool === "") return { tool: rule };
  return content === "" || content === "*"
    ? { tool }
    : { tool, content: content.replace(/\\([()])/gu, "$1").replaceAll("\\\\", "\\") };
}

/** Formats a rule as Claude Code does, with backslashes before parentheses and backslashes of the content. */
export function ruleText({ tool, content }: PermissionRule): string {
  return content === undefined ? tool : `${tool}(${content.replace(/[\\()]/gu, "\\$&")})`;
}

/**
 * Returns false if a rule of the command line looks like a part of a rule. The shell or `splitRules` may have split a list
 * within a rule.
 */
export function isCompleteRule(rule: string): boolean {
  const call = splitAtParentheses(rule);
  if (call === undefined || (call.content !== undefined && call.tool === "")) return false;
  const plain = rule.replace(/\\./gsu, "");
  const count = (parenthesis: string) => plain.split(parenthesis).length;
  return !rule.includes(",") || count("(") === count(")");
}

/** Splits a list of rules at commas and spaces outside of parentheses, and drops empty parts. */
export function splitRules(list: string): readonly string[] {
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

/** Splits a rule into the texts before and within the outermost parentheses, still escaped; undefined if they do not match. */
function splitAtParentheses(rule: string): PermissionRule | undefined {
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

/** Splits `mcp__server__tool`; undefined for a tool that does not belong to an MCP server. */
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

/** Returns why a tool does not accept the text in the parentheses of its rule; undefined if it does. */
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
      return FILE_TOOLS.includes(tool) && content.includes(":*")
        ? 'The ":*" syntax is only for Bash prefix rules. Use glob patterns like "*" or "**" for file matching'
        : undefined;
  }
}
