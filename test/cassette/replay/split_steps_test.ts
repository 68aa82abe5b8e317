import { assertEquals } from "@std/assert";
import { castSteps } from "../../../src/cassette/replay/cast_steps.ts";
import { joinShellOutput } from "../../../src/cassette/replay/join_shell_output.ts";
import { replayCassette } from "../../../src/cassette/replay/replay_cassette.ts";
import { splitSteps } from "../../../src/cassette/replay/split_steps.ts";
import { recordSession } from "../record_session.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** A session with output in three chunks, two of which follow one another, and what a shell wrote. */
const SESSION = recordSession([
  { at: 1, type: "spawned" },
  { at: 2, type: "terminal", bytes: bytes("é\x1b[") },
  { at: 3, type: "terminal", bytes: bytes("c") },
  { at: 4, type: "shell-output", id: "b", text: "äöü!" },
  { at: 5, type: "terminal", bytes: bytes("end") },
  { at: 6, type: "exit", exit: { kind: "exited", code: 1 } },
]);

/** What splitting makes of the session's output: when, what, and whether it goes on. */
function piecesOf(size: number) {
  return [...splitSteps(castSteps(SESSION.cast), size)].flatMap(({ input, goesOn }) => {
    if (input.type === "terminal") {
      return [[input.at, new TextDecoder("latin1").decode(input.bytes), goesOn]];
    }
    return input.type === "shell-output" ? [[input.at, input.text, goesOn]] : [];
  });
}

Deno.test("splitSteps() cuts output into pieces of so many bytes, across what it was cut into before", () => {
  assertEquals(piecesOf(1), [
    ...["Ã", "©", "\x1b", "["].map((byte, index) => [2, byte, index > 0]),
    [3, "c", true],
    [4, "ä", false],
    [4, "ö", true],
    [4, "ü", true],
    [4, "!", true],
    ...["e", "n", "d"].map((byte, index) => [5, byte, index > 0]),
  ]);
  assertEquals(piecesOf(3), [
    [2, "Ã©\x1b", false],
    [3, "[c", true],
    [4, "ä", false],
    [4, "ö", true],
    [4, "ü!", true],
    [5, "end", false],
  ]);
  assertEquals(piecesOf(1_000_000), [[3, "Ã©\x1b[c", false], [4, "äöü!", false], [
    5,
    "end",
    false,
  ]]);
});

Deno.test("splitSteps() loses nothing of what was done", () => {
  const done = (size: number) =>
    [...splitSteps(castSteps(SESSION.cast), size)].flatMap(({ effects }) => effects);
  const effects = [...castSteps(SESSION.cast)].flatMap((step) => step.effects);
  assertEquals(effects.filter(({ type }) => type === "write").length, 1);
  for (const size of [1, 2, 3, 4, 5, 100]) assertEquals(done(size), effects);
});

Deno.test("a replay in pieces tells what a shell wrote in pieces, and of nothing else", () => {
  const delta = (text: string, id: string) => ({
    type: "system",
    subtype: "shell_output_delta",
    tool_use_id: "t",
    task_id: "b",
    stream: "output",
    text,
    uuid: `00000000-0000-4000-8000-00000000000${id}`,
  });
  const whole = [delta("one\n", "1"), delta("", "2"), { ...delta("two", "3"), tool_use_id: "u" }];
  const cut = [delta("o", "1"), delta("ne\n", "2"), delta("", "3"), {
    ...delta("two", "4"),
    tool_use_id: "u",
  }];
  assertEquals(joinShellOutput(cut), joinShellOutput(whole));
  const [first, ...others] = whole.map((frame) => ({ ...frame, text: "another" }));
  assertEquals(joinShellOutput([...others, ...first === undefined ? [] : [first]]).length, 3);
  const silent = [{ type: "system", uuid: "00000000-0000-4000-8000-000000000001" }];
  assertEquals(joinShellOutput(silent), silent);
});

Deno.test("a replay in pieces notices what would be done otherwise", () => {
  const { cast, tape } = SESSION;
  const events = cast.events.map((event) => event.code === "i" ? { ...event, data: "x" } : event);
  for (const split of [1, 3, 64, 1_000_000]) {
    assertEquals(replayCassette({ cast, tape }, { split }).differences, []);
    const [difference = "", ...more] =
      replayCassette({ cast: { ...cast, events }, tape }, { split }).differences;
    assertEquals(
      difference.replace(/^At \S+ s/u, ""),
      ' the recorded run typed "x", and this one types "\\u001b[?6c"',
    );
    assertEquals(more, []);
  }
});
