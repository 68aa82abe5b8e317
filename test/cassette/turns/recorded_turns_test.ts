import { assertEquals } from "@std/assert";
import { recordedTurns } from "../../../src/cassette/turns/recorded_turns.ts";
import { isPrompt } from "../../../src/transcript/entry.ts";
import { RECORDED_RUNS } from "../recorded_runs.ts";
import { fixtureTurns } from "./fixture_turns.ts";

/** What was said in each turn, and what the last line of its transcript is. */
function outline(name: string) {
  return fixtureTurns(name).turns.map(({ prompts, entries, result }) => [
    prompts.map(({ text }) => text),
    entries.length > 0,
    result["result"],
  ]);
}

for (const version of ["2.1.285", "2.1.332"]) {
  Deno.test(`recordedTurns() tells what was said in each turn, and what it added: ${version}`, () => {
    assertEquals(outline(`${version}/conversation`), [
      [["One. [[wait 400]] [[say first]]"], true, "first"],
      [["Two. [[say second]]", "Three. [[say third]]"], true, "third"],
      [["/login"], false, "/login isn't available in this environment."],
      [["Four. [[say fourth]]"], true, "fourth"],
    ]);
    // It went on by itself.
    const [first, second] = outline(`${version}/background`);
    assertEquals([first?.[2], second], ["started", [[], true, "done"]]);
    const { earlier, turns } = fixtureTurns(`${version}/resumed`);
    assertEquals([earlier.length > 0, turns.length], [true, 1]);
  });

  Deno.test(`recordedTurns() of a recording that stops keeps what was not answered: ${version}`, () => {
    const run = RECORDED_RUNS.find(({ name }) => name === `${version}/conversation`);
    const { header, events = [] } = run?.cassette.cast ?? {};
    if (header === undefined) throw new Error("There is no such recording");
    const last = events.findLastIndex(({ code, data }) =>
      code === "h" && data.startsWith('{"type":"message"')
    );
    const { turns, unanswered } = recordedTurns({ header, events: events.slice(0, last + 1) });
    assertEquals(turns.length, 3);
    assertEquals(unanswered.map(({ text }) => text), ["Four. [[say fourth]]"]);
  });
}

Deno.test("recordedTurns() knows a prompt that Claude Code takes before the result of the turn before is told", () => {
  const run = RECORDED_RUNS.find(({ name }) => name === "2.1.332/conversation");
  const { header, events = [] } = run?.cassette.cast ?? {};
  if (header === undefined) throw new Error("There is no such recording");
  const lines = (pattern: RegExp) =>
    events.filter(({ code, data }) =>
      code === "h" && data.startsWith('{"type":"transcript"') && pattern.test(data)
    );
  const [answer] = lines(/"text":"first"/u);
  const [prompt] = lines(/"role":"user","content":"Two\. /u);
  if (answer === undefined || prompt === undefined) throw new Error("It says something else");
  const early = events.filter((event) => event !== prompt)
    .flatMap((event) => event === answer ? [answer, { ...prompt, at: answer.at }] : [event]);
  const { turns } = recordedTurns({ header, events: early });
  assertEquals(turns.slice(0, 2).map(({ entries }) => entries.filter(isPrompt).length), [1, 2]);
});
