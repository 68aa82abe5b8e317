import { isDeepStrictEqual } from "node:util";
import { assert, assertEquals } from "@std/assert";
import { advance, startConversation } from "../../src/frames/advance.ts";
import type { ConversationEffect, ConversationState } from "../../src/frames/conversation.ts";
import type { DeadlineName } from "../../src/session/deadline_names.ts";
import type { Input } from "../../src/session/input.ts";
import type { Prompt } from "../../src/session/message.ts";
import { conversationOptions } from "../frames/conversation_options.ts";
import { onlyMessage } from "./only_message.ts";
import { readRecording } from "./recording.ts";

const NEWEST = "2.1.332";
const DA1_ANSWER = "\x1b[?6c";
const STDIN = { text: "Greet me. [[think hm]] [[say Hello there.]]", way: "stdin" } as const;
const PASTE = { text: "Greet me. [[say Hello there.]]", way: "paste" } as const;

/** A conversation so far, all its effects, and the deadlines that are armed. */
interface Played {
  readonly state: ConversationState;
  readonly effects: readonly ConversationEffect[];
  readonly armed: ReadonlySet<DeadlineName>;
}

function begin(message: Partial<Prompt>): Played {
  const state = startConversation(conversationOptions());
  return play({ state, effects: [], armed: new Set() }, onlyMessage(message));
}

/** Plays inputs; a recorded deadline has to be armed. */
function play(before: Played, inputs: readonly Input[]): Played {
  let { state } = before;
  const effects = [...before.effects];
  const armed = new Set(before.armed);
  for (const input of inputs) {
    if (input.type === "deadline") assert(armed.delete(input.name), `${input.name} is not armed`);
    const next = advance(state, input);
    state = next.state;
    effects.push(...next.effects);
    for (const effect of next.effects) {
      if (effect.type !== "deadline") continue;
      if (effect.afterMs === undefined) armed.delete(effect.name);
      else armed.add(effect.name);
    }
  }
  return { state, effects, armed };
}

/** What was typed, and how the run ended. */
function outcomeOf({ effects }: Played) {
  const typed = effects.filter((effect) => effect.type === "write")
    .map((effect) => new TextDecoder().decode(effect.bytes)).join("");
  const end = effects.find((effect) => effect.type === "end");
  const kills = effects.filter((effect) => effect.type === "kill").map(({ signal }) => signal);
  const keys = typed.replaceAll(DA1_ANSWER, "");
  return { keys, isProbed: typed !== keys, ending: end?.ending.kind, exit: end?.exit, kills };
}

/**
 * The outcomes with one chunk of the terminal cut in two, at every place. Only a cut that changes the state or the
 * effects is played to its end.
 */
function* everySplit(inputs: readonly Input[], message: Partial<Prompt>) {
  let before = begin(message);
  for (const [index, input] of inputs.entries()) {
    const after = play({ ...before, effects: [] }, [input]);
    for (let at = 1; input.type === "terminal" && at < input.bytes.length; at++) {
      const cut = play({ ...before, effects: [] }, [
        { ...input, bytes: input.bytes.subarray(0, at) },
        { ...input, bytes: input.bytes.subarray(at) },
      ]);
      const isSame = isDeepStrictEqual(cut.state, after.state) &&
        isDeepStrictEqual(outcomeOf(cut), outcomeOf(after));
      if (isSame) continue;
      const effects = [...before.effects, ...cut.effects];
      yield outcomeOf(play({ ...cut, effects }, inputs.slice(index + 1)));
    }
    before = { ...after, effects: [...before.effects, ...after.effects] };
  }
}

for (const version of ["2.1.285", NEWEST]) {
  for (
    const [name, message, keys] of [
      ["answer", STDIN, ""],
      ["paste", PASTE, `\x1b[200~${PASTE.text}\x1b[201~\r`],
    ] as const
  ) {
    Deno.test(`recorded session ends with its answer: ${version}/${name}`, () => {
      const inputs = readRecording(`${version}/${name}`);
      const outcome = outcomeOf(play(begin(message), inputs));
      const { exit, ...rest } = outcome;
      assertEquals(rest, { keys, isProbed: true, ending: "answered", kills: ["SIGTERM"] });
      assertEquals(exit, { kind: "exited", code: 143 });
      // test/cassette/recorded_runs_test.ts cuts the sequences of other versions.
      if (version !== NEWEST) return;
      for (const split of everySplit(inputs, message)) assertEquals(split, outcome);
    });
  }
}

Deno.test("recorded session can be interrupted at each input", () => {
  const inputs = readRecording(`${NEWEST}/answer`);
  let played = begin(STDIN);
  for (const [index, input] of inputs.slice(0, -1).entries()) {
    played = play(played, [input]);
    const at = inputs[index + 1]?.at ?? 0;
    let stopped = play(played, [{ at, type: "signal", signal: "SIGTERM" }]);
    for (const next of ["interrupt", "exit", "record"] as const) {
      if (next === "exit") {
        stopped = play(stopped, [{ at, type: "exit", exit: { kind: "exited", code: 143 } }]);
      } else if (stopped.armed.has(next)) {
        stopped = play(stopped, [{ at, type: "deadline", name: next }]);
      }
    }
    const { ending, kills } = outcomeOf(stopped);
    assert(ending === "interrupted" || ending === "answered", `after ${index + 1} inputs`);
    assertEquals(kills.length, 1);
  }
});
