import type { Prompt } from "../../../src/conversation/control/message.ts";
import type { Input } from "../../../src/conversation/control/input.ts";

/** What a run of one message is told before there is a child. */
export function onlyMessage(
  { text = "hello there", way = "stdin", ...more }: Partial<Prompt> = {},
): readonly Input[] {
  return [
    { at: 0, type: "message", message: { text, way, ...more } },
    { at: 0, type: "closed" },
  ];
}
