/** What the names of the tools of an MCP server begin with. */
export function toolPrefix(server: string): string {
  return `mcp__${server.replace(/[^\w-]/gu, "_")}__`;
}
