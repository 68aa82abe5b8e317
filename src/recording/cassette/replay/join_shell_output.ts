import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import { asText } from "../../../json_object.ts";

/**
 * Frames as they are the same however the output of shells was cut: pieces of a call's output that follow one another
 * are one frame, and ids of frames, which are made one after the other, are numbers in the order of their appearance.
 * Frames without such output are left as they are.
 */
export function joinShellOutput(frames: readonly AnyFrame[]): readonly AnyFrame[] {
  if (!frames.some(isShellOutput)) return frames;
  const joined: AnyFrame[] = [];
  for (const frame of frames) {
    const last = joined.at(-1);
    if (last !== undefined && goesOn(last, frame)) {
      joined.splice(-1, 1, { ...last, text: asText(last["text"]) + asText(frame["text"]) });
    } else {
      joined.push(frame);
    }
  }
  const numbers = new Map<string, number>();
  return joined.map((frame) =>
    JSON.parse(
      JSON.stringify(frame).replace(UUID, (id) => {
        const number = numbers.get(id) ?? numbers.size + 1;
        numbers.set(id, number);
        return `#${number}`;
      }),
    )
  );
}

const UUID = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gu;

function isShellOutput({ type, subtype }: AnyFrame): boolean {
  return type === "system" && subtype === "shell_output_delta";
}

/** Whether a frame goes on with the text of another; an empty text is no part of it, but says that it is over. */
function goesOn(one: AnyFrame, other: AnyFrame): boolean {
  return isShellOutput(one) && isShellOutput(other) && other["text"] !== "" &&
    ["tool_use_id", "task_id", "stream"].every((key) => one[key] === other[key]);
}
