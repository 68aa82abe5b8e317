/** A line of a conversation, as far as its place in it goes. */
export type ConversationLine = Readonly<Record<string, unknown>>;

/** A user's prompt. */
export function prompt(uuid: string, parentUuid: string | null): ConversationLine {
  return { type: "user", uuid, parentUuid, message: { content: `prompt ${uuid}` } };
}

/** A part of an answer: one block. */
export function answer(
  uuid: string,
  { after, id = uuid, block = { type: "text", text: uuid } }: {
    readonly after: string;
    /** The id of the whole answer. */
    readonly id?: string;
    readonly block?: Readonly<Record<string, unknown>>;
  },
): ConversationLine {
  return { type: "assistant", uuid, parentUuid: after, message: { id, content: [block] } };
}

/** What came of a tool call. */
export function toolResult(uuid: string, parentUuid: string): ConversationLine {
  return { type: "user", uuid, parentUuid, message: { content: [{ type: "tool_result" }] } };
}

/** What Claude Code attached to a conversation. */
export function attached(
  type: string,
  { uuid, after }: { readonly uuid: string; readonly after: string },
): ConversationLine {
  return { type: "attachment", uuid, parentUuid: after, attachment: { type } };
}

/** A transcript's text. */
export function transcriptOf(lines: readonly ConversationLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
