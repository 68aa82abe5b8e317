import { assertEquals } from "@std/assert";
import { noteAsked, noteDecided, untilBeat } from "../../../src/frames/live/long_calls.ts";
import type { Frame } from "../../../src/wire/frame.ts";
import { startTelling } from "../telling.ts";

const VERSION = "2.1.332";
const at = (seconds: number) => new Date(seconds * 1000).toISOString();

/** The lines of a prompt, and of an answer that calls tools one second after it. */
function calling(calls: readonly (readonly [string, string])[], version = VERSION) {
  const line = { sessionId: "s", version };
  const content = calls.map(([id, name]) => ({ type: "tool_use", id, name, input: {} }));
  return [
    {
      ...line,
      type: "user",
      uuid: "p",
      timestamp: at(0),
      message: { role: "user", content: "Go." },
    },
    { ...line, type: "api-request", querySource: "repl_main_thread" },
    { ...line, type: "assistant", timestamp: at(1), message: { id: "m", model: "m", content } },
  ];
}

const returned = (id: string, seconds: number) => ({
  sessionId: "s",
  version: VERSION,
  type: "user",
  timestamp: at(seconds),
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "" }] },
});

const beatsIn = (frames: readonly Frame[]) =>
  frames.flatMap(({ type, uuid: _, ...fields }) => type === "tool_progress" ? [fields] : []);

const beat = (call: string, count: number, name = "Bash") => ({
  tool_use_id: `${call}-heartbeat-${count}`,
  tool_name: name,
  parent_tool_use_id: call,
  elapsed_time_seconds: 30 * (count + 1),
  heartbeat: true,
  session_id: "s",
});

Deno.test("a call is told every 30 s as long as it is at work", () => {
  const { tell, push, frames, state } = startTelling();
  push(...calling([["a", "Bash"]]));
  assertEquals(untilBeat(state(), 1000), 30_000);
  const look = (seconds: number) => tell({ type: "deadline", name: "beat" }, seconds * 1000);
  look(30);
  assertEquals(beatsIn(frames), []);
  look(31);
  look(31);
  look(61);
  assertEquals(beatsIn(frames), [beat("a", 0), beat("a", 1)]);
  assertEquals(untilBeat(state(), 61_000), 30_000);
  push(returned("a", 70));
  look(120);
  assertEquals(beatsIn(frames).length, 2);
  assertEquals(untilBeat(state(), 120_000), undefined);
});

Deno.test("calls that wait for others are at work once those have returned, unless they go side by side", () => {
  const { tell, push, frames } = startTelling();
  push(...calling([["a", "Agent"], ["b", "Read"], ["c", "Bash"], ["d", "Agent"]]));
  tell({ type: "deadline", name: "beat" }, 31_000);
  assertEquals(beatsIn(frames), [beat("a", 0, "Agent"), beat("b", 0, "Read")]);
  push(returned("a", 35), returned("b", 36));
  tell({ type: "deadline", name: "beat" }, 65_999);
  assertEquals(beatsIn(frames).length, 2);
  tell({ type: "deadline", name: "beat" }, 66_000);
  push(returned("c", 70));
  tell({ type: "deadline", name: "beat" }, 100_000);
  assertEquals(beatsIn(frames).slice(2), [beat("c", 0), beat("d", 0, "Agent")]);
});

Deno.test("a call is at work once it is allowed", () => {
  const { push, state } = startTelling();
  push(...calling([["a", "Bash"]]));
  const asked = noteAsked(state(), "a");
  assertEquals(untilBeat(asked, 1000), undefined);
  assertEquals(untilBeat(noteDecided(asked, { id: "a", now: 50_000 }), 50_000), 30_000);
  assertEquals(noteAsked(state(), "other"), state());
  assertEquals(noteDecided(state(), { id: "a", now: 1 }), state());
});
