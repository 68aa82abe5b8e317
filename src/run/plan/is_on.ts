/** Whether a variable switches something on, as Claude Code reads it. */
export function isOn(value: string | undefined): boolean {
  return value !== undefined && !["", "0", "false", "no", "off"].includes(value.toLowerCase());
}
