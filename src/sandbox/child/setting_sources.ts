/** A source of settings that `--setting-sources` may leave out. */
export type SettingSource = "user" | "project" | "local";

const ALL: readonly SettingSource[] = ["user", "project", "local"];

/**
 * What `--setting-sources` lets Claude Code read: settings, and of MCP servers the user's, those of `.mcp.json` and
 * those that the user added to a project, in this order (2.1.197 and 2.1.330).
 *
 * @param value names with commas between them; everything when the flag was not given
 */
export function settingSources(value: string | undefined): ReadonlySet<SettingSource> {
  if (value === undefined) return new Set(ALL);
  const names = value.split(",").map((name) => name.trim());
  return new Set(ALL.filter((source) => names.includes(source)));
}
