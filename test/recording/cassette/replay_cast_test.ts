import { assert, assertEquals } from "@std/assert";
import type { Cast, CastEvent } from "../../../src/recording/cassette/cassette_format.ts";
import { encodeCast } from "../../../fixtures/encode_whole.ts";
import { parseCast } from "../../../src/recording/cassette/read/read_cast.ts";
import { replayCast, splitSteps } from "../../../src/recording/cassette/replay_cast.ts";
import type { Prompt } from "../../../src/conversation/control/message.ts";
import { readRecording } from "../../conversation/control/recording.ts";
import { createRedactor } from "../../../src/recording/redaction/redact.ts";
import { recordSession } from "./record_session.ts";
import { castSteps } from "../../../src/recording/cassette/cast_steps.ts";
import {
  joinShellOutput,
  replayCassette,
} from "../../../src/recording/cassette/replay_cassette.ts";

const SESSIONS: Readonly<Record<string, Partial<Prompt>>> = {
  answer: { text: "Greet me. [[think hm]] [[say Hello there.]]" },
  "dialog-settings-warning": { text: "Hi [[say all the same]]" },
  paste: { way: "paste", text: "Greet me. [[say Hello there.]]" },
};

function recorded(name: string): Cast {
  const message = SESSIONS[name.replace(/^.*\//u, "")] ?? {};
  return recordSession(readRecording(name), { message }).cast;
}

/** A cast with events changed or left out. */
function changed(
  { header, events }: Cast,
  change: (event: CastEvent) => CastEvent | undefined,
): Cast {
  return { header, events: events.flatMap((event) => change(event) ?? []) };
}

for (const version of ["2.1.285", "2.1.332"]) {
  for (const what of Object.keys(SESSIONS)) {
    const name = `${version}/${what}`;
    Deno.test(`${name} replays equally once it is written and read`, () => {
      const cast = recorded(name);
      const replayed = replayCast(cast);
      assertEquals([replayed.ending?.kind, replayed.differences], ["answered", []]);
      const written = parseCast(encodeCast(cast), { path: "child.cast" });
      assertEquals(replayCast(written), replayed);
    });
  }
}

Deno.test("a difference names the time and both actions", () => {
  const cast = recorded("2.1.332/dialog-settings-warning");
  const keys = cast.events.find(({ code, data }) => code === "i" && data === "\x1b[B");
  const at = `At ${((keys?.at ?? 0) / 1000).toFixed(3)} s`;
  assertEquals(
    replayCast(changed(cast, (event) => event === keys ? undefined : event)).differences,
    [
      `${at} the recorded run did nothing, and this one types "\\u001b[B"`,
    ],
  );
  const other = changed(
    cast,
    (event) => event === keys ? { ...event, data: "x".repeat(61) } : event,
  );
  assertEquals(replayCast(other).differences, [
    `${at} the recorded run typed "${"x".repeat(60)}"…, and this one types "\\u001b[B"`,
  ]);
});

Deno.test("differences name signals, looks, sizes and endings", () => {
  const cast = recorded("2.1.332/dialog-settings-warning");
  const effects = cast.events.filter(({ code }) => code === "d");
  const [look, kill, end] = ["look", "kill", "end"].map((type) =>
    effects.find(({ data }) => JSON.parse(data).type === type)
  );
  const differences = replayCast(changed(cast, (event) => {
    if (event === look) return undefined;
    if (event === kill) return { ...event, data: '{"type":"kill","signal":"SIGKILL","tree":true}' };
    if (event === end) return { ...event, data: '{"type":"end","ending":{"kind":"timeout"}}' };
    return event;
  })).differences.map((line) => line.replace(/^At [\d.]+ s /, ""));
  assertEquals(differences, [
    "the recorded run did nothing, and this one looks at the screen",
    "the recorded run sent SIGKILL to the child and its tools, and this one sends SIGTERM to the child",
    'the recorded run reported exit code 0 and ended as "timeout", and this one reports exit code 0 and ends as "answered"',
  ]);
  const resized = changed(
    cast,
    (event) => event === look ? { ...event, code: "r", data: "80x24" } : event,
  );
  assert(replayCast(resized).differences[0]?.includes("made the terminal 80x24 cells"));
});

Deno.test("an ending that differs in details is a difference", () => {
  const cast = changed(
    recorded("2.1.332/answer"),
    (event) =>
      event.code === "d" && event.data.startsWith('{"type":"end"')
        ? { ...event, data: '{"type":"end","ending":{"kind":"answered","stop":{}}}' }
        : event,
  );
  const [difference] = replayCast(cast).differences;
  assert(difference?.endsWith('and ends as "answered" with other details'), difference);
});

Deno.test("a recording that stops early has no difference", () => {
  const cast = recorded("2.1.332/answer");
  for (let length = 0; length < cast.events.length; length++) {
    // An effect belongs to the input before it.
    if (!"ohm".includes(cast.events[length]?.code ?? "")) continue;
    const replayed = replayCast({ ...cast, events: cast.events.slice(0, length) });
    assertEquals([replayed.ending, replayed.differences], [undefined, []]);
  }
});

Deno.test("a pasted prompt with a secret replays", () => {
  const prompt = `hello ${"0123456789 ".repeat(80)}swordfish-42 paste`;
  const redactor = createRedactor({ env: { DOOR_PASSWORD: "swordfish-42" } });
  const encoder = new TextEncoder();
  const { cast } = recordSession([
    { at: 1, type: "spawned" },
    { at: 2, type: "terminal", bytes: encoder.encode("\x1b[?2004h") },
    { at: 3, type: "terminal", bytes: encoder.encode("[Pasted text #1]") },
    { at: 4, type: "hook", event: "UserPromptSubmit", payload: { prompt } },
    { at: 5, type: "exit", exit: { kind: "exited", code: 1 } },
  ], { redactor, message: { way: "paste", text: prompt } });
  assert(!encodeCast(cast).includes("swordfish"));
  const { ending, differences } = replayCast(cast);
  assertEquals([ending?.kind, differences], ["exited", []]);
});

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

/** The output of the session after splitting: time, text, and whether it continues the output before. */
function piecesOf(size: number) {
  return [...splitSteps(castSteps(SESSION.cast), size)].flatMap(
    ({ input, continuesOutput: goesOn }) => {
      if (input.type === "terminal") {
        return [[input.at, new TextDecoder("latin1").decode(input.bytes), goesOn]];
      }
      return input.type === "shell-output" ? [[input.at, input.text, goesOn]] : [];
    },
  );
}

Deno.test("output is cut into pieces of a given size", () => {
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
  assertEquals(piecesOf(4)[1], [3, "c", true]);
  assertEquals(piecesOf(1_000_000), [[3, "Ã©\x1b[c", false], [4, "äöü!", false], [
    5,
    "end",
    false,
  ]]);
});

Deno.test("cut output keeps all effects", () => {
  const done = (size: number) =>
    [...splitSteps(castSteps(SESSION.cast), size)].flatMap(({ effects }) => effects);
  const effects = [...castSteps(SESSION.cast)].flatMap((step) => step.effects);
  assertEquals(effects.filter(({ type }) => type === "write").length, 1);
  for (const size of [1, 2, 3, 4, 5, 100]) assertEquals(done(size), effects);
  // A chunk may hold nothing but the beginning of a character.
  const input = { at: 1, type: "terminal", bytes: bytes("") } as const;
  const [empty] = splitSteps([{ input, effects, continuesOutput: false }], 3);
  assertEquals(empty?.effects, effects);
});

Deno.test("shell output in pieces compares as joined", () => {
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

Deno.test("a replay in pieces notices other keys", () => {
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
