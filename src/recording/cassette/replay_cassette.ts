import { type CastReader, framesOn, type TapedFrame, type TapeEntry } from "./cassette_format.ts";
import { replayCast } from "./replay_cast.ts";
import type { Ending } from "../../conversation/control/effect.ts";
import type { AnyFrame } from "../../claude/wire/any_frame.ts";
import type { ResultFrame } from "../../claude/wire/result_frame.ts";
import type { OutputKind } from "../../claude/wire/output_writer.ts";
import { asText } from "../../json_object.ts";
import { definedFields } from "../../defined_fields.ts";

/** The result of a replay. */
export interface CassetteReplay {
  /** The frames of the recorded run, in order. Without a tape: the frames that this version prints. */
  readonly frames: readonly TapedFrame[];
  /** The last result; absent if the recorded run printed none. */
  readonly result?: ResultFrame;
  /** The output format of the recorded run; absent from the first recordings. */
  readonly output?: OutputKind;
  /** How the run ends with this version; absent if the recording stops before the end. */
  readonly ending?: Ending;
  /** One sentence for each way in which this version differs from the recorded run. */
  readonly differences: readonly string[];
}

/**
 * Replays a recorded run without waiting and without Claude Code. Passes the recorded inputs to a conversation, and
 * compares its effects and frames with the recorded ones.
 *
 * @param cassette.tape without a tape, frames are not compared
 * @param options.split cuts all output into pieces of this many bytes, which must not change the result
 */
export function replayCassette(
  { cast, tape }: { readonly cast: CastReader; readonly tape?: readonly TapeEntry[] },
  { split }: { readonly split?: number | undefined } = {},
): CassetteReplay {
  const { output } = cast.header.claude_print;
  const { ending, frames, differences } = replayCast(cast, { split });
  const comparable = split === undefined
    ? (frames: readonly AnyFrame[]) => frames
    : joinShellOutput;
  // JSON drops fields that are undefined.
  const printed: readonly AnyFrame[] = JSON.parse(JSON.stringify(frames));
  const taped = tape === undefined
    ? printed.map((frame) => ({ at: 0, dir: "read", frame }) as const)
    : framesOn(tape);
  const result = taped.findLast(({ frame }) => frame.type === "result")?.frame;
  return {
    frames: taped,
    ...definedFields({ result: result as ResultFrame | undefined, ending, output }),
    differences: output === undefined || tape === undefined ? differences : [
      ...differences,
      ...compareFrames(
        comparable(taped.map(({ frame }) => frame)),
        comparable(printed),
      ),
    ],
  };
}

/**
 * Makes frames independent of how the output of shells was cut. Joins successive pieces of one call's output. Replaces
 * ids by numbers in the order of their first use, because fewer frames need fewer ids. Frames without shell output stay
 * unchanged.
 */
export function joinShellOutput(frames: readonly AnyFrame[]): readonly AnyFrame[] {
  if (!frames.some(isShellOutput)) return frames;
  const joined: AnyFrame[] = [];
  for (const frame of frames) {
    const last = joined.at(-1);
    if (last !== undefined && continuesText(last, frame)) {
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

/** Whether a frame continues the text of the previous frame. An empty text is no piece, because it marks the end. */
function continuesText(one: AnyFrame, other: AnyFrame): boolean {
  return isShellOutput(one) && isShellOutput(other) && other["text"] !== "" &&
    ["tool_use_id", "task_id", "stream"].every((key) => one[key] === other[key]);
}

/** Describes the first frame that differs, or else the first missing or additional frame. */
export function compareFrames(
  recorded: readonly AnyFrame[],
  now: readonly AnyFrame[],
): readonly string[] {
  for (const [index, frame] of recorded.entries()) {
    const other = now[index];
    if (other === undefined) break;
    const place = firstDifference(frame, other);
    if (place === undefined) continue;
    const { path, before, after } = place;
    return [
      `Frame ${index + 1} (${frameLabel(frame)}): the recorded run printed ${shortJson(before)}${
        path === "" ? "" : ` as ${path}`
      }, and this one prints ${shortJson(after)}`,
    ];
  }
  const [missing, more] = [recorded[now.length], now[recorded.length]];
  if (missing !== undefined) {
    return [
      `The recorded run printed frame ${now.length + 1} (${frameLabel(missing)}), this one not`,
    ];
  }
  return more === undefined
    ? []
    : [`This one prints frame ${recorded.length + 1} (${frameLabel(more)}), the recorded run not`];
}

interface Difference {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

function firstDifference(before: unknown, after: unknown, path = ""): Difference | undefined {
  if (!isTree(before) || !isTree(after) || Array.isArray(before) !== Array.isArray(after)) {
    return Object.is(before, after) ? undefined : { path, before, after };
  }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const found = firstDifference(
      before[key],
      after[key],
      path === "" ? key : `${path}.${key}`,
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function frameLabel({ type, subtype }: AnyFrame): string {
  return subtype === undefined ? type : `${type}/${asText(subtype)}`;
}

/** The maximum number of characters of a value in a sentence. */
const MAX_SHOWN = 80;

function shortJson(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
