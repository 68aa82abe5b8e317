import { assertEquals } from "@std/assert";
import type { FramesOptions } from "../../src/frames/telling/frames_options.ts";
import type { Frame } from "../../src/wire/frame.ts";
import { startTelling } from "./telling.ts";

/** A moment of the turn, in milliseconds. */
const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

const INPUT = { description: "Look", prompt: "Look around", subagent_type: "Explore" };

/** What is told of lines, in words. */
function wordsOf(frames: readonly Frame[]): readonly string[] {
  return frames.map((frame) => {
    const { subtype, message, tool_use_id: id, parent_tool_use_id: parent } = frame;
    if (subtype !== undefined) return `${subtype} ${id ?? ""}`.trim();
    const { content } = message as {
      readonly content: readonly Readonly<Record<string, unknown>>[];
    };
    const said = content.map(({ type, id, text, tool_use_id }) =>
      `${type} ${id ?? text ?? tool_use_id}`
    );
    return `${typeof parent === "string" ? `${parent}: ` : ""}${said.join()}`;
  });
}

const version = "2.1.332";

/** A turn that has begun. */
function begin(options: Partial<FramesOptions> = {}) {
  const told = startTelling(options);
  const call = (id: string, ms: number, more: object = { run_in_background: false }) => ({
    version,
    type: "assistant",
    timestamp: at(ms),
    message: {
      id: "m",
      model: "m",
      content: [{ type: "tool_use", id, name: "Agent", input: { ...INPUT, ...more } }],
    },
  });
  const line = (type: string, ms: number, block: object) => ({
    version,
    type,
    timestamp: at(ms),
    message: { id: `m${ms}`, model: "m", content: [block] },
  });
  const subagent = (id: string, ms: number, text: string, type = "user") =>
    told.pushSubagent(
      { agentId: `a-${id}`, toolUseId: id, type: "Explore", description: "Look" },
      { ...line(type, ms, { type: "text", text }), isSidechain: true },
    );
  told.push({ version, type: "user", timestamp: at(0), message: { content: "Hi" } });
  told.begin();
  told.frames.length = 0;
  const taken = () => wordsOf(told.frames.splice(0));
  return { ...told, call, line, subagent, taken };
}

Deno.test("subagents that are called side by side are told to begin each behind its call, as by claude -p", () => {
  const { push, call, subagent, line, taken } = begin();
  push(call("t1", 10), call("t2", 30), line("assistant", 50, { type: "text", text: "so" }));
  assertEquals(taken(), ["tool_use t1"]);
  subagent("t1", 20, "one");
  assertEquals(taken(), ["task_started t1", "t1: text one", "tool_use t2"]);
  // What it goes on with was written behind the second call.
  subagent("t1", 900, "further");
  assertEquals(taken(), []);
  subagent("t2", 40, "two");
  assertEquals(taken(), ["task_started t2", "t2: text two", "text so", "t1: text further"]);
});

Deno.test("what is behind a call whose subagent is not heard of is told once it has returned, or after a while", () => {
  const told = begin();
  const { push, call, line, taken, tell, subagent } = told;
  push(call("t1", 10), call("t2", 30));
  assertEquals(taken(), ["tool_use t1"]);
  push(line("user", 40, { type: "tool_result", tool_use_id: "t1", is_error: true, content: "No" }));
  assertEquals(taken(), ["tool_use t2"]);
  tell({ type: "deadline", name: "subagent" }, 1040);
  assertEquals(taken(), ["tool_result t1"]);
  // It is not waited for any more.
  push(line("assistant", 2000, { type: "text", text: "so" }));
  assertEquals(taken(), ["text so"]);
  subagent("t2", 3000, "late");
  assertEquals(taken(), ["task_started t2", "t2: text late"]);
  // Nor with the next one that is held up, for whose beginning another time is set.
  push(call("t3", 4000), call("t4", 4010));
  assertEquals(taken(), ["tool_use t3"]);
  told.finish(version);
  assertEquals(taken().slice(0, 1), ["tool_use t4"]);
});

Deno.test("nothing is held back behind calls that begin when a hook says so, or for which no turn waits", () => {
  const calls = ["tool_use t1", "tool_use t2"];
  const waited = begin({ callHooks: true });
  waited.push(waited.call("t1", 10), waited.call("t2", 30));
  assertEquals(waited.taken(), calls);
  const unread = begin({ subagentsUnread: true });
  unread.push(unread.call("t1", 10), unread.call("t2", 30));
  assertEquals(unread.taken(), calls);
  const apart = begin();
  apart.push(apart.call("t1", 10, {}), apart.call("t2", 30, {}));
  assertEquals(apart.taken(), calls);
});
