/** What the names of the tools of an MCP server begin with. */
export function toolPrefix(server: string): string {
  return `mcp__${inToolNames(server)}__`;
}

/**
 * A name as it stands in those that the model is given: for each UTF-16 unit that they may not have there is a `_`, so two
 * for an emoji (2.1.330).
 */
export function inToolNames(name: string): string {
  return name.split("").map((unit) => /[\w-]/u.test(unit) ? unit : "_").join("");
}
