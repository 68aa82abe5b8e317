import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { type Entry, parseEntry } from "../../../src/transcript/entry.ts";
import { type Turn, turnsOf } from "../../../src/transcript/turn/turn.ts";
import { OLD_TRANSCRIPTS, readTranscript, recordingNames } from "../recording.ts";

function entriesOf(...lines: readonly object[]): readonly Entry[] {
  return lines.map((line) => parseEntry(JSON.stringify(line))).filter((entry) =>
    entry !== undefined
  );
}

function entriesNamed(name: string): readonly Entry[] {
  return readTranscript(name).entries;
}

function answer(id: string, content: readonly object[], more: object = {}): object {
  return {
    type: "assistant",
    uuid: `${id}-${content.length}`,
    message: { id, model: "m", content, stop_reason: "end_turn", usage: { input_tokens: 2 } },
    ...more,
  };
}

/** What of a turn does not depend on the order of the lines. */
function essence(turn: Turn): object {
  const { text, numTurns, usage, stopReason, error, end, answers, durationMs } = turn;
  return { text, numTurns, usage, stopReason, error, end, answers, durationMs };
}

Deno.test("turnsOf: finds no turn where there is no message", () => {
  assertEquals(turnsOf([]), []);
  assertEquals(turnsOf(entriesOf({ type: "mode" }, { type: "system", subtype: "x" })), []);
});

Deno.test("turnsOf: is the same wherever the file begins, since the prompt may come last", () => {
  const names = [...OLD_TRANSCRIPTS, ...recordingNames()];
  for (const name of names.filter((name) => !/\/(subagent|background)$/.test(name))) {
    const entries = entriesNamed(name);
    const expected = turnsOf(entries).map(essence);
    assertEquals(expected.length, 1);
    for (let cut = 1; cut < entries.length; cut++) {
      const rotated = [...entries.slice(cut), ...entries.slice(0, cut)];
      assertEquals(turnsOf(rotated).map(essence), expected, `${name} at ${cut}`);
    }
  }
});

Deno.test("turnsOf: does not count the text that a slash command became", () => {
  const prompt = (content: string) => ({
    type: "user",
    uuid: "p",
    message: { role: "user", content },
  });
  const text = {
    type: "user",
    uuid: "t",
    parentUuid: "p",
    isMeta: true,
    message: { role: "user", content: [{ type: "text", text: "Do it" }] },
  };
  const turns = (content: string) => turnsOf(entriesOf(prompt(content), text))[0]?.numTurns;
  assertEquals(turns("<command-message>init</command-message>"), 1);
  assertEquals(turns("a prompt that somebody remarked on"), 2);
});

Deno.test("turnsOf: knows the answer before the prompt's line is written", () => {
  const turns = turnsOf(entriesOf(answer("a", [{ type: "text", text: "Early" }])));
  assertEquals(turns.map(({ prompt, text, numTurns }) => ({ prompt, text, numTurns })), [
    { prompt: undefined, text: "Early", numTurns: 1 },
  ]);
});

Deno.test("turnsOf: leaves out what a claude -p adds that a hook resumed the session with", () => {
  const text = (words: string) => [{ type: "text", text: words }];
  const [cli, print] = ["cli", "sdk-cli"].map((entrypoint) => ({ entrypoint }));
  const turns = turnsOf(entriesOf(
    { type: "user", uuid: "p", message: { content: "Hi" }, ...cli },
    { type: "user", uuid: "q", parentUuid: "p", message: { content: "Sum up" }, ...print },
    answer("b", text("A sum"), { parentUuid: "q", ...print }),
    answer("a", text("Hello"), { parentUuid: "p", ...cli }),
    { type: "system", subtype: "stop_hook_summary", parentUuid: "b-1", ...print },
  ));
  assertEquals(turns.map(({ text, answers, end }) => [text, answers, end]), [
    ["Hello", 1, undefined],
  ]);
});

Deno.test("turnsOf: gives the text of the last block only", () => {
  for (
    const [content, text] of [
      [[{ type: "text", text: "a" }, { type: "text", text: "b\n" }], "b\n"],
      [[{ type: "text", text: "a" }, { type: "thinking", thinking: "b" }], ""],
      [[], ""],
    ] as const
  ) {
    const prompt = { type: "user", uuid: "p", message: { content: "Hi" } };
    assertEquals(turnsOf(entriesOf(prompt, answer("a", content)))[0]?.text, text);
  }
});

Deno.test("turnsOf: gives the last text of a turn that went on with other blocks", () => {
  const prompt = { type: "user", uuid: "p", message: { content: "Hi" } };
  const call = answer("b", [{ type: "tool_use", id: "t", name: "Bash" }]);
  const texts = (...lines: readonly object[]) =>
    turnsOf(entriesOf(prompt, ...lines)).map(({ text, textSoFar }) => [text, textSoFar]);
  assertEquals(texts(answer("a", [{ type: "text", text: "So" }]), call), [["", "So"]]);
  assertEquals(texts(call), [["", ""]]);
});

Deno.test("turnsOf: counts each message id once, with its last usage", () => {
  const usage = (input_tokens: number) => ({
    message: { id: "a", model: "m", content: [], usage: { input_tokens, new_count: 1 } },
  });
  const turns = turnsOf(entriesOf(
    { type: "user", uuid: "p", message: { content: "Hi" } },
    answer("a", [], usage(1)),
    answer("a", [], usage(5)),
    answer("b", []),
  ));
  assertEquals(turns.map(({ usage, answers }) => ({ usage, answers })), [
    { usage: { input_tokens: 7, new_count: 1 }, answers: 2 },
  ]);
});

Deno.test("turnsOf: leaves out what was there before a resumed run", () => {
  for (const old of ["2.1.330/plain", "2.1.168/denied"]) {
    const before = entriesNamed(old);
    const known = new Set(
      before.map((entry) => entry.type === "other" ? undefined : entry.uuid)
        .filter((uuid) => uuid !== undefined),
    );
    const last = [...known].at(-1);
    const run = entriesNamed("2.1.330/bash").map((entry) =>
      entry.type === "user" && entry.meaning === "prompt" ? { ...entry, parentUuid: last } : entry
    );
    const expected = turnsOf(run).map(essence);
    assertEquals(turnsOf([...before, ...run], { known }).map(essence), expected);
    // A fork writes the older lines again, somewhere in between.
    const middle = run.length >> 1;
    const forked = [...run.slice(0, middle), ...before, ...run.slice(middle)];
    assertEquals(turnsOf(forked, { known }).map(essence), expected);
    assertEquals(turnsOf([...before, ...run]).length, 2);
  }
});

Deno.test("turnsOf: separates the turn that a background task starts", () => {
  for (const version of ["2.1.197", "2.1.330"]) {
    const turns = turnsOf(entriesNamed(`${version}/background`));
    assertEquals(turns.map((turn) => [turn.numTurns, turn.text, turn.end]), [
      [2, "started", "completed"],
      [1, "the task is done", "completed"],
    ]);
  }
  const turns = turnsOf(entriesNamed("2.1.330/subagent"));
  assertEquals(turns.map((turn) => turn.numTurns), [2, 1]);
  assertEquals(turns.map((turn) => turn.end), ["completed", "completed"]);
});

Deno.test("turnsOf: tells how a turn ended", () => {
  const ends = (name: string) => turnsOf(entriesNamed(name)).map((turn) => turn.end);
  assertEquals(ends("2.1.168/denied"), ["completed"]);
  assertEquals(ends("2.1.330/plain"), ["completed"]);
  assertEquals(ends("2.1.330/interrupt"), ["interrupted-tool"]);
  // Claude Code leaves no mark after an API error.
  assertEquals(ends("2.1.330/error400"), [undefined]);
});

Deno.test("turnsOf: tells an API error", () => {
  const error = (name: string) => turnsOf(entriesNamed(name))[0]?.error;
  assertEquals(error("2.1.330/plain"), undefined);
  assertEquals(error("2.1.330/error401"), {
    kind: "authentication_failed",
    status: 401,
    apiError: undefined,
    resetsAt: undefined,
    type: "authentication_error",
  });
});

Deno.test("turnsOf: survives ancestors in a circle", () => {
  const turns = turnsOf(entriesOf(
    { type: "user", uuid: "p", message: { content: "Hi" } },
    answer("a", [{ type: "text", text: "x" }], { uuid: "u", parentUuid: "v" }),
    { type: "system", uuid: "v", parentUuid: "u" },
  ));
  assertEquals(turns.map((turn) => turn.text), ["x"]);
});

Deno.test("turnsOf: never throws on lines of any content", () => {
  const line = fc.record({
    type: fc.constantFrom("user", "assistant", "system", "attachment", "new"),
    uuid: fc.constantFrom("a", "b", "c"),
    parentUuid: fc.constantFrom("a", "b", "c", null),
    timestamp: fc.constantFrom("2026-01-01T00:00:00Z", "yesterday"),
    message: fc.record({
      id: fc.constantFrom("m", "n"),
      model: fc.constantFrom("x", "<synthetic>"),
      content: fc.array(fc.record({ type: fc.constantFrom("text", "tool_use", "tool_result") })),
      usage: fc.dictionary(fc.string(), fc.jsonValue()),
    }),
    attachment: fc.record({ type: fc.string() }),
  }, { requiredKeys: ["type"] });
  fc.assert(fc.property(fc.array(line), (lines) => {
    for (const turn of turnsOf(entriesOf(...lines))) assert(turn.numTurns >= 1);
  }));
});
