/** The words in a prompt that make the scripted model call a tool. */
export function toolCall(name: string, input: Readonly<Record<string, unknown>>): string {
  return `[[tool ${name} ${JSON.stringify(input)}]]`;
}
