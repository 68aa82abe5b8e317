import { assert, assertEquals } from "@std/assert";
import type { TapeEntry } from "../../../src/cassette/cassette.ts";
import { readCassette } from "../../cassette/read_cassette.ts";
import {
  compareRuns,
  compareWithRecording,
  type TalkAgain,
} from "../../../src/drift/again/compare_talks.ts";
import { recordedTalk } from "../../../src/drift/again/recorded_talk.ts";
import type { AnyFrame } from "../../../src/wire/any_frame.ts";

const RUNS = new URL("../../../fixtures/recordings/runs/2.1.332/", import.meta.url).pathname;

const talk = (name: string, ...allowed: readonly string[]) =>
  recordedTalk(readCassette(`${RUNS}${name}`), { allowed });

/** Why a cassette is not run again whose caller wrote these lines. */
function why(...lines: readonly unknown[]): unknown {
  const cassette = readCassette(`${RUNS}conversation`);
  const written = lines.map((line): TapeEntry => ({
    at: 0,
    dir: "write",
    data: typeof line === "string" ? line : JSON.stringify(line),
  }));
  const read = cassette.tape.filter(({ dir }) => dir === "read");
  const said = recordedTalk({ ...cassette, tape: [...written, ...read] }, { allowed: [] });
  return "why" in said ? said.why : said.prompts;
}

Deno.test("what was said in a run is found, and what it takes to say it again", () => {
  assertEquals(talk("answer"), {
    prompts: ["Greet me. [[think hm]] [[say Hello there.]]"],
    isConversation: false,
    model: "claude-opus-5-5",
    hasKey: false,
  });
  const limited = talk("max-turns", "Bash");
  assert(!("why" in limited));
  assertEquals(limited.maxTurns, 2);
  const conversation = talk("conversation");
  assert(!("why" in conversation));
  assertEquals(conversation.prompts.length, 5);
  assertEquals(conversation.isConversation, true);
});

Deno.test("why a run is not done again", () => {
  assertEquals(talk("tools"), { why: "it calls Bash, which --allowedTools does not name" });
  assert(!("why" in talk("tools", "Bash")));
  assertEquals(talk("timeout", "Bash"), { why: "it ended with timeout" });
  const user = (content: unknown) => ({ type: "user", message: { role: "user", content } });
  assertEquals(why(user("one"), user([{ type: "text", text: "two" }])), ["one", "two"]);
  assertEquals(why({ type: "control_request", request: { subtype: "initialize" } }, user("a")), [
    "a",
  ]);
  assertEquals(why("{"), "a line of its caller cannot be read");
  assertEquals(
    why(user("a"), { type: "control_request", request: { subtype: "interrupt" } }),
    "its caller sent more than texts: control_request interrupt",
  );
  assertEquals(why(user([{ type: "image" }])), "its caller sent more than texts: user");
  assertEquals(
    why({ type: "control_request", request: { subtype: "initialize" } }),
    "its caller said nothing",
  );
});

Deno.test("what a run says otherwise", () => {
  const frames: readonly AnyFrame[] = [
    { type: "system", subtype: "init" },
    { type: "rate_limit_event" },
    { type: "assistant" },
    { type: "result", subtype: "success", is_error: false, num_turns: 1, result: "a", uuid: "1" },
  ];
  const otherwise = (...again: readonly AnyFrame[]) =>
    compareWithRecording(frames, { frames: again }).map(({ where, what }) => `${where} | ${what}`);
  const [init, , answer, result] = frames as readonly [AnyFrame, AnyFrame, AnyFrame, AnyFrame];
  assertEquals(otherwise(init, answer, { ...result, uuid: "2" }), []);
  assertEquals(
    otherwise(init, { type: "news" }, { ...result, result: "b".repeat(500), num_turns: 2 }),
    [
      "frames | assistant does not come",
      "frames | news comes",
      "result of turn 1 | num_turns: 2 instead of 1",
      `result of turn 1 | result: ${"b".repeat(79)}… instead of a`,
    ],
  );
  assertEquals(otherwise(init, answer), ["results | 0 instead of 1"]);
});

Deno.test("two runs are compared by requests and exit code too", () => {
  const run: TalkAgain = {
    frames: [{ type: "result", subtype: "success", result: "a" }],
    requests: [{
      model: "m",
      max_tokens: 5,
      fallbacks: [{ model: "n" }],
      metadata: { user_id: "1" },
      system: "one",
      tools: [{ name: "Bash", description: "one" }, { name: "Task" }],
      messages: [{ role: "user", content: [{ type: "text", text: "one" }] }],
    }],
    exitCode: 0,
  };
  const [request = {}] = run.requests;
  const differences = (now: Partial<TalkAgain>) =>
    compareRuns(run, { ...run, ...now }).map(({ where, what }) => `${where} | ${what}`);
  const texts = {
    metadata: { user_id: "2" },
    system: "two",
    tools: [{ name: "Bash", description: "two" }, { name: "Task" }],
    messages: [{ role: "user", content: [{ type: "text", text: "two" }] }],
  };
  assertEquals(differences({ requests: [{ ...request, ...texts }] }), []);
  const { fallbacks: _fallbacks, ...without } = request;
  const result = { type: "tool_result", is_error: true };
  assertEquals(
    differences({
      requests: [{
        ...without,
        max_tokens: 6,
        tools: [{ name: "Agent" }, { name: "Bash" }],
        messages: [{ role: "user", content: "one" }, { role: "user", content: [result] }],
      }],
    }),
    [
      "requests | max_tokens: 6 instead of 5",
      'requests | fallbacks: nothing instead of [{"model":"n"}]',
      "requests | without tool Task",
      "requests | with tool Agent",
      "requests | messages of request 1: user (text), user (tool_result with an error) instead of user (text)",
    ],
  );
  assertEquals(differences({ requests: [] }), ["requests | 0 instead of 1"]);
  assertEquals(differences({ exitCode: 1 }), ["exit code | 1 instead of 0"]);
  assertEquals(differences({ missed: "more" }), ["api | more"]);
  assertEquals(differences({ exitCode: 2, frames: [], requests: [], problem: "no claude" }), [
    "exit code | 2 instead of 0",
    "run | no claude",
  ]);
});
