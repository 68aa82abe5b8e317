import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Cast, CastEvent } from "../../../src/cassette/cast.ts";
import { encodeCast } from "../../../fixtures/encode_whole.ts";
import { parseCast } from "../../../src/cassette/read/parse_cast.ts";
import { replayCast } from "../../../src/cassette/replay/replay_cast.ts";
import type { Prompt } from "../../../src/session/message.ts";
import { readRecording } from "../../session/recording.ts";
import { cutAnew } from "../cut_anew.ts";
import { createRedactor } from "../../../src/redaction/redact.ts";
import { recordSession } from "../record_session.ts";

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
    Deno.test(`a cassette of ${name} replays without a difference, however it is cut`, () => {
      const cast = recorded(name);
      const replayed = replayCast(cast);
      assertEquals([replayed.ending?.kind, replayed.differences], ["answered", []]);
      fc.assert(
        fc.property(fc.array(fc.nat(), { maxLength: 200 }), (cuts) => {
          assertEquals(replayCast(cutAnew(cast, cuts)), replayed);
        }),
        { numRuns: 5 },
      );
      const written = parseCast(encodeCast(cast), { path: "child.cast" });
      assertEquals(replayCast(written), replayed);
    });
  }
}

Deno.test("replayCast() says when, what was recorded and what happens now", () => {
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

Deno.test("replayCast() tells of signals, looks, sizes and another ending", () => {
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
    'the recorded run told exit code 0 and ended as "timeout", and this one tells exit code 0 and ends as "answered"',
  ]);
  const resized = changed(
    cast,
    (event) => event === look ? { ...event, code: "r", data: "80x24" } : event,
  );
  assert(replayCast(resized).differences[0]?.includes("made the terminal 80x24 cells"));
});

Deno.test("replayCast() names an ending that differs in its details", () => {
  const cast = changed(
    recorded("2.1.332/answer"),
    (event) =>
      event.code === "d" && event.data.startsWith('{"type":"end"')
        ? { ...event, data: '{"type":"end","ending":{"kind":"answered","stop":{}}}' }
        : event,
  );
  const [difference] = replayCast(cast).differences;
  assert(
    difference?.endsWith('and ends as "answered" with other details'),
    difference,
  );
});

Deno.test("replayCast() of a recording that stops early has no ending and no difference", () => {
  const cast = recorded("2.1.332/answer");
  for (let length = 0; length < cast.events.length; length++) {
    // What was done belongs to the input before it.
    if (!"ohm".includes(cast.events[length]?.code ?? "")) continue;
    const replayed = replayCast({ ...cast, events: cast.events.slice(0, length) });
    assertEquals([replayed.ending, replayed.differences], [undefined, []]);
  }
});

Deno.test("a prompt with a secret in it replays as it was recorded, by paste too", () => {
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
