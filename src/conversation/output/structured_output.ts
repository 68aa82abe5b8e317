import type { Input } from "../control/input.ts";
import { isJsonObject } from "../../json_object.ts";
import {
  asOutputLine,
  outputCallsIn,
  renamedBlock,
} from "../../claude/transcript/structured_output.ts";
import type { FramesState } from "./telling/frames_state.ts";

/**
 * An input as it would be if the tool for structured answers were Claude Code's own, as it is in `claude -p`. Here a
 * server of ours has it, which shows in its name and in what it gives back.
 */
export function asOwnTool(
  state: FramesState,
  input: Input,
): { readonly state: FramesState; readonly input: Input } {
  const { outputCalls } = state;
  if (outputCalls === undefined) return { state, input };
  switch (input.type) {
    case "transcript": {
      const made = outputCallsIn(input.entry);
      const calls = made.length === 0 ? outputCalls : new Set([...outputCalls, ...made]);
      const entry = asOutputLine(input.entry, calls);
      return {
        state: calls === outputCalls ? state : { ...state, outputCalls: calls },
        input: entry === input.entry ? input : { ...input, entry },
      };
    }
    case "stream": {
      const { part } = input;
      if (part.kind !== "event" || !isJsonObject(part.event["content_block"])) {
        return { state, input };
      }
      const block = renamedBlock(part.event["content_block"]);
      return {
        state,
        input: { ...input, part: { ...part, event: { ...part.event, content_block: block } } },
      };
    }
    default:
      return { state, input };
  }
}
