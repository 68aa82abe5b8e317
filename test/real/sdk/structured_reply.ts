import type { LoggedRequest } from "../../../src/learn/api/messages_api.ts";
import { readReplyScript, type Reply } from "../../../src/learn/api/reply_script.ts";

/** The tool for structured answers has a longer name in the interactive Claude Code. */
export function structuredReply(
  { prompt = "", round = 0, body }: LoggedRequest,
): Reply | undefined {
  if (!prompt.includes(OUTPUT)) return undefined;
  const { tools } = body as { readonly tools: readonly { readonly name: string }[] };
  const name = tools.find(({ name }) => name.endsWith(OUTPUT))?.name ?? OUTPUT;
  return readReplyScript(prompt)[round]?.map((step) =>
    step.kind === "tool" && step.name === OUTPUT ? { ...step, name } : step
  );
}

const OUTPUT = "StructuredOutput";
