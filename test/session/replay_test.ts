import { isDeepStrictEqual } from "node:util";
import { assert, assertEquals } from "@std/assert";
import { advance, startConversation } from "../../src/frames/advance.ts";
import type { ConversationEffect, ConversationState } from "../../src/frames/conversation.ts";
import type { Input } from "../../src/session/input.ts";
import type { Prompt } from "../../src/session/message.ts";
import { conversationOptions } from "../frames/conversation_options.ts";
import { onlyMessage } from "./only_message.ts";
import { readRecording } from "./recording.ts";

const VERSIONS = ["2.1.285", "2.1.332"] as const;

const options = (text: string, way: "stdin" | "paste") => ({ text, way });

/** A session so far: what it remembers, and all that it did. */
interface Played {
  readonly state: ConversationState;
  readonly effects: readonly ConversationEffect[];
}

function begin(message: Partial<Prompt>): Played {
  const unspoken = { state: startConversation(conversationOptions()), effects: [] };
  return playOn(unspoken, onlyMessage(message));
}

function playOn(played: Played, inputs: readonly Input[]): Played {
  let { state } = played;
  const effects = [...played.effects];
  for (const input of inputs) {
    const next = advance(state, input);
    state = next.state;
    effects.push(...next.effects);
  }
  return { state, effects };
}

/** What a session did: keys typed in order, and how it ended. */
function outcomeOf({ effects }: Played) {
  const typed = effects.filter((effect) => effect.type === "write")
    .map((effect) => new TextDecoder().decode(effect.bytes)).join("");
  const end = effects.find((effect) => effect.type === "end");
  const kills = effects.filter((effect) => effect.type === "kill").map(({ signal }) => signal);
  return { typed, ending: end?.ending.kind, exit: end?.exit, kills };
}

function replay(inputs: readonly Input[], message: Partial<Prompt>) {
  return outcomeOf(playOn(begin(message), inputs));
}

/**
 * The outcomes with one terminal chunk cut in two, anywhere: what comes before the chunk is played once, and what comes
 * after it where the cut has left anything otherwise than the whole chunk does, since nothing else decides what follows.
 */
function* everySplit(inputs: readonly Input[], message: Partial<Prompt>) {
  let before = begin(message);
  for (const [index, input] of inputs.entries()) {
    const after = playOn({ state: before.state, effects: [] }, [input]);
    for (let at = 1; input.type === "terminal" && at < input.bytes.length; at++) {
      const cut = playOn({ state: before.state, effects: [] }, [
        { ...input, bytes: input.bytes.subarray(0, at) },
        { ...input, bytes: input.bytes.subarray(at) },
      ]);
      const isSame = isDeepStrictEqual(cut.state, after.state) &&
        isDeepStrictEqual(outcomeOf(cut), outcomeOf(after));
      if (isSame) continue;
      const effects = [...before.effects, ...cut.effects];
      yield outcomeOf(playOn({ state: cut.state, effects }, inputs.slice(index + 1)));
    }
    before = { state: after.state, effects: [...before.effects, ...after.effects] };
  }
}

for (const version of VERSIONS) {
  // Which version it is of, its sequences tell: test/cassette/recorded_runs_test.ts cuts those of all.
  const splits = version === VERSIONS.at(-1) ? everySplit : () => [];
  const where = version === VERSIONS.at(-1) ? " at every chunk split" : "";

  Deno.test(`a recorded ${version} session on stdin replays to its answer${where}`, () => {
    const inputs = readRecording(`${version}/answer`);
    const message = options("Greet me. [[think hm]] [[say Hello there.]]", "stdin");
    const whole = replay(inputs, message);
    assertEquals(whole.ending, "answered");
    assertEquals(whole.kills, ["SIGTERM"]);
    assertEquals(whole.exit, { kind: "exited", code: 143 });
    // Nothing is typed but answers to DA1.
    assertEquals(whole.typed.replaceAll("\x1b[?6c", ""), "");
    assert(whole.typed !== "");
    for (const split of splits(inputs, message)) assertEquals(split, whole);
  });

  Deno.test(`a recorded ${version} session by paste replays to its answer${where}`, () => {
    const inputs = readRecording(`${version}/paste`);
    const message = options("Greet me. [[say Hello there.]]", "paste");
    const whole = replay(inputs, message);
    assertEquals(whole.ending, "answered");
    assertEquals(
      whole.typed.replaceAll("\x1b[?6c", ""),
      "\x1b[200~Greet me. [[say Hello there.]]\x1b[201~\r",
    );
    for (const { typed, ending } of splits(inputs, message)) {
      assertEquals(ending, "answered");
      assertEquals(
        typed.replaceAll("\x1b[?6c", ""),
        "\x1b[200~Greet me. [[say Hello there.]]\x1b[201~\r",
      );
    }
  });
}

Deno.test("a session that is cut off anywhere can still be told to stop, and ends with its child", () => {
  const inputs = readRecording("2.1.332/answer");
  for (let length = 1; length < inputs.length; length++) {
    const at = inputs[length]?.at ?? 0;
    const result = replay([
      ...inputs.slice(0, length),
      { at, type: "signal", signal: "SIGTERM" },
      { at, type: "deadline", name: "interrupt" },
      { at, type: "exit", exit: { kind: "exited", code: 143 } },
      { at, type: "deadline", name: "record" },
    ], options("Greet me. [[think hm]] [[say Hello there.]]", "stdin"));
    assert(
      result.ending === "interrupted" || result.ending === "answered",
      `after ${length} inputs`,
    );
    assertEquals(result.kills.length, 1);
  }
});
