/** Whether GitHub Actions reads what this program prints, and does what lines of it say. */
export function isHeeded(): boolean {
  return Deno.env.get("GITHUB_ACTIONS") === "true";
}

/**
 * A text of which GitHub Actions takes nothing for a command: `::` at the beginning of a line, behind blanks too, and of an
 * older kind `##[` anywhere.
 */
export function unheeded(text: string): string {
  return text.replaceAll(/^([^\S\n]*):(?=:)/gmu, "$1: ").replaceAll("##[", "# #[");
}
