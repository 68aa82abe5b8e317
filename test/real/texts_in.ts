import { messagesRequest } from "../../src/recording/learn/reply_script.ts";

/** The texts of user and model in a request, or those of one role, without the reminders of Claude Code. */
export function textsIn(body: unknown, role?: "user"): readonly string[] {
  return (messagesRequest(body)?.messages ?? [])
    .filter((message) => message.role !== "system" && (role ?? message.role) === message.role)
    .flatMap(({ content }) =>
      typeof content === "string" ? [content] : content.flatMap(({ text }) => text ?? [])
    )
    .filter((text) => !text.startsWith("<system-reminder>"));
}
