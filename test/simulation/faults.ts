import { advance } from "../../src/conversation/output/advance.ts";
import type { ConversationEffect } from "../../src/conversation/output/conversation.ts";
import type { DeadlineName, Input } from "../../src/conversation/control/input.ts";
import type { Frame } from "../../src/claude/wire/frame.ts";
import type { Advance } from "./simulate.ts";

/** Changes an effect into others: none, the same one twice, or another one. */
type Change = (effect: ConversationEffect) => readonly ConversationEffect[];

/** A conversation whose effects are changed. */
function changing(change: Change): Advance {
  return (state, input) => {
    const next = advance(state, input);
    return { ...next, effects: next.effects.flatMap(change) };
  };
}

/** A conversation that takes no notice of some inputs. */
function ignoring(isIgnored: (input: Input) => boolean): Advance {
  return (state, input) => isIgnored(input) ? { state, effects: [] } : advance(state, input);
}

/** A conversation whose effects of one type are changed. */
function changingEach<Type extends ConversationEffect["type"]>(
  type: Type,
  change: (
    effect: Extract<ConversationEffect, { readonly type: Type }>,
  ) => readonly ConversationEffect[],
): Advance {
  return changing((effect) =>
    effect.type === type
      ? change(effect as Extract<ConversationEffect, { readonly type: Type }>)
      : [effect]
  );
}

/** A conversation whose frames are changed, those of its end as well. */
function changingFrames(change: (frame: Frame) => readonly Frame[]): Advance {
  return changing((effect) => {
    if (effect.type === "frame") {
      return change(effect.frame).map((frame) => ({ type: "frame", frame } as const));
    }
    return [effect.type === "end" ? { ...effect, frames: effect.frames.flatMap(change) } : effect];
  });
}

const without = (type: ConversationEffect["type"]) => changingEach(type, () => []);
const twice = (type: ConversationEffect["type"]) =>
  changingEach(type, (effect) => [effect, effect]);
const withoutFrames = (isLeftOut: (frame: Frame) => boolean) =>
  changingFrames((frame) => isLeftOut(frame) ? [] : [frame]);
const withoutDeadline = (name: DeadlineName) =>
  changingEach("deadline", (effect) => effect.name === name ? [] : [effect]);

const isResult = ({ type }: Frame) => type === "result";
const isToolResult = (frame: Frame) =>
  frame.type === "user" && JSON.stringify(frame).includes('"tool_result"');

/** Ways to break a conversation, each of which the invariants have to notice. */
export const FAULTS: Readonly<Record<string, Advance>> = {
  "delivers no prompt": without("deliver"),
  "delivers each prompt twice": twice("deliver"),
  "answers no hook": without("answer"),
  "answers each hook twice": twice("answer"),
  "allows what was refused": changingEach("answer", (effect) => {
    const text = JSON.stringify(effect).replaceAll('"behavior":"deny"', '"behavior":"allow"');
    return [JSON.parse(text)];
  }),
  "presses no key": without("write"),
  "never ends the child": without("kill"),
  "kills the child at once": changingEach("kill", (effect) => [{ ...effect, signal: "SIGKILL" }]),
  "forgets how long a turn may take": withoutDeadline("timeout"),
  "forgets how long the child may take to go": withoutDeadline("exit"),
  "prints no result": withoutFrames(isResult),
  "prints each result twice": changingFrames((frame) => isResult(frame) ? [frame, frame] : [frame]),
  "prints no system/init": withoutFrames(({ subtype }) => subtype === "init"),
  "prints no result of a call": withoutFrames(isToolResult),
  "gives all frames the same id": changingFrames((frame) => [
    { ...frame, ...(frame.type === "assistant" ? { uuid: "u" } : {}) } as Frame,
  ]),
  "prints another answer": changingFrames((frame) => [
    { ...frame, ...(isResult(frame) ? { result: "other" } : {}) } as Frame,
  ]),
  "counts no cost": changingFrames((frame) => [
    (isResult(frame)
      ? { ...frame, total_cost_usd: 1 / Number(frame["total_cost_usd"]) }
      : frame) as Frame,
  ]),
  "answers no request": withoutFrames(({ type }) => type === "control_response"),
  "swaps two frames": (state, input) => {
    const next = advance(state, input);
    const at = next.effects.findIndex((effect, at) =>
      effect.type === "frame" && next.effects[at + 1]?.type === "frame"
    );
    const [one, other] = [next.effects[at], next.effects[at + 1]];
    if (one === undefined || other === undefined) return next;
    return { ...next, effects: next.effects.toSpliced(at, 2, other, one) };
  },
  "does not hear that the caller has gone": ignoring(({ type }) => type === "closed"),
  "does not hear that a turn has ended": ignoring((input) =>
    input.type === "hook" && input.event === "Stop"
  ),
  "does not read that a call was made": ignoring((input) =>
    input.type === "transcript" && input.entry.type === "assistant"
  ),
};
