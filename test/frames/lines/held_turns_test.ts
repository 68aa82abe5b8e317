import { assertEquals } from "@std/assert";
import { fold } from "../../../src/frames/advance.ts";
import type { FramesOptions } from "../../../src/frames/telling/frames_options.ts";
import type { Input, Untimed } from "../../../src/session/input.ts";
import type { Frame } from "../../../src/wire/frame.ts";
import { answer, line } from "../../transcript/lines.ts";
import { conversationOptions } from "../conversation_options.ts";

const VERSION = "2.1.332";
const READ = { type: "read" } as const;
const DUE = { type: "deadline", name: "subagent" } as const;

/** What a conversation says, each result as its text, and the deadlines that it sets for subagents. */
function said(inputs: readonly Untimed<Input>[], more: Partial<FramesOptions> = {}) {
  const { frames, ...options } = conversationOptions({ conversation: true, version: VERSION });
  const told: unknown[] = [];
  const waits: (number | undefined)[] = [];
  fold(
    { ...options, frames: { ...frames, conversation: true, version: VERSION, ...more } },
    inputs.map((input, at) => ({ ...input, at }) as Input),
    {
      onEffect: (effect) => {
        if (effect.type === "frame") told.push(nameOf(effect.frame));
        if (effect.type === "deadline" && effect.name === "subagent") waits.push(effect.afterMs);
      },
    },
  );
  return { told, waits: waits.filter((afterMs) => afterMs !== undefined) };
}

function nameOf({ type, subtype, result, parent_tool_use_id: parent }: Frame): unknown {
  if (type === "result") return result;
  return `${subtype ?? type}${typeof parent === "string" ? " of it" : ""}`;
}

const say = (text: string, command?: string): readonly Untimed<Input>[] => [
  {
    type: "message",
    message: command === undefined ? { text, way: "rendezvous" } : { text, way: "paste", command },
  },
  { type: "hook", event: "UserPromptSubmit", payload: { prompt: text } },
  { type: "status", status: "busy" },
];
const over = (text: string): readonly Untimed<Input>[] => [
  { type: "hook", event: "Stop", payload: { last_assistant_message: text } },
  { type: "cost", totalUsd: 1, apiDurationMs: 1 },
  { type: "status", status: "idle" },
];
const written = (fields: object, second: number) =>
  line({ version: VERSION, sessionId: "s", timestamp: timeOf(second), ...fields });
const timeOf = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
const prompt = (content: string, second: number) =>
  written({ type: "user", uuid: content, message: { content } }, second);

/** All that the session's own transcript has of a typed skill. */
const TYPED = [
  prompt("/busy now", 3),
  written({
    type: "system",
    subtype: "local_command",
    content: "<local-command-stdout>It is done</local-command-stdout>",
  }, 3),
];
/** What its subagent has written. */
const WORK = [
  { type: "user", isMeta: true, parentUuid: null, message: { content: "Work" } },
  {
    type: "assistant",
    message: { id: "w", model: "m", content: [{ type: "text", text: "It is done" }] },
  },
].map((fields, at): Untimed<Input> => {
  const { entry } = written({ isSidechain: true, ...fields }, at + 1);
  const subagent = { agentId: "a", type: "general-purpose", description: "" };
  return { type: "subagent", line: { subagent, entry } };
});
/** Another turn, whose lines are written at once. */
const NEXT = [
  prompt("Two", 4),
  written({ type: "api-request", querySource: "repl_main_thread" }, 5),
  answer("Second"),
  written({ type: "system", subtype: "turn_duration" }, 6),
];

const BEGUN: readonly Untimed<Input>[] = [
  { type: "spawned" },
  { type: "reachable" },
  { type: "status", status: "idle" },
];
const ASKED = [...BEGUN, ...say("/busy now", "/busy"), ...over("It is done")];
const WHOLE = [
  ...["task_started", "task_notification", "init"],
  ...["user of it", "assistant", "It is done"],
];
/** What is told of one of whose subagent nothing is known. */
const BARE = ["init", "assistant", "It is done"];

Deno.test("the result of a typed skill waits for what its subagent has done, whenever that is read", () => {
  const [first, ...others] = WORK;
  const orders: Readonly<Record<string, readonly Untimed<Input>[]>> = {
    before: [...WORK, READ, ...TYPED, READ],
    "together, as files are read": [...TYPED, ...WORK, READ],
    "later, all at once": [...TYPED, READ, ...WORK, READ],
    "later, one by one": [
      ...[first, ...TYPED, READ].filter((input) => input !== undefined),
      ...[...others, READ],
    ],
    "later than what describes the session": [
      ...TYPED,
      ...[READ, { type: "deadline", name: "init" } as const],
      ...[...WORK, READ],
    ],
    "too late": [...TYPED, READ, ...WORK, DUE],
  };
  for (const [name, order] of Object.entries(orders)) {
    const { told, waits } = said([...ASKED, ...order]);
    assertEquals(told, WHOLE, name);
    assertEquals(waits, name === "before" ? [] : [1000], name);
  }
  assertEquals(said([...ASKED, ...TYPED, READ]).told, []);
  assertEquals(said([...ASKED, ...TYPED, READ, DUE]).told, BARE, "nothing of it is ever read");
  const unread = said([...ASKED, ...TYPED, READ], { subagentsUnread: true });
  assertEquals(unread, { told: BARE, waits: [] }, "nobody reads what subagents write");
});

Deno.test("what follows a turn that waits for a subagent is told behind its result", () => {
  const inputs = [...ASKED, ...TYPED, READ, ...say("Two"), ...NEXT.slice(0, 2), READ];
  const begun = [...WHOLE, "init"];
  assertEquals(said([...inputs, ...WORK, READ]).told, begun);
  assertEquals(said([...inputs, DUE]).told, [...BARE, "init"]);
  const end = [...NEXT.slice(2), READ, ...over("Second")];
  assertEquals(said([...inputs, ...WORK, READ, ...end]).told, [...begun, "assistant", "Second"]);
  // Nothing tells of the subagent as long as the next turn goes on.
  const late = said([...inputs, ...end]);
  assertEquals(late, { told: [], waits: [1000] });
  assertEquals(said([...inputs, ...end, DUE]).told, [...BARE, "init", "assistant", "Second"]);
  const gone: Untimed<Input> = {
    type: "exit",
    exit: { kind: "exited", code: 143 },
    remains: { version: VERSION },
  };
  assertEquals(
    said([...inputs, ...end, { type: "closed" }, gone]).told,
    [...BARE, "init", "assistant", "Second"],
  );
});

Deno.test("the end of a subagent waits for its words, also where it was told before the beginning", () => {
  const notice = written({
    type: "queue-operation",
    operation: "enqueue",
    content:
      "<task-notification><task-id>a</task-id><status>completed</status></task-notification>",
  }, 4);
  const call = { type: "tool_use", id: "t", name: "Agent", input: { run_in_background: true } };
  const launched = [
    written({ type: "assistant", uuid: "c", message: { id: "c", model: "m", content: [call] } }, 1),
    written({
      type: "user",
      uuid: "r",
      message: { content: [{ type: "tool_result", tool_use_id: "t", content: "It works" }] },
      toolUseResult: { isAsync: true, status: "async_launched", agentId: "a" },
    }, 1),
  ];
  const words = WORK.flatMap((input) =>
    input.type === "subagent"
      ? [{
        ...input,
        line: { ...input.line, subagent: { ...input.line.subagent, toolUseId: "t" } },
      }]
      : []
  );
  const asked = [
    prompt("One", 1),
    written({ type: "api-request", querySource: "repl_main_thread" }, 1),
  ];
  const begun = [...BEGUN, ...say("One"), ...asked, READ];
  const early = [...begun, notice, READ, ...launched, READ];
  const ends = ["task_updated", "task_notification", "background_tasks_changed"];
  const { told, waits } = said([...early, ...words, READ]);
  assertEquals(told.slice(-4), ["assistant of it", ...ends]);
  assertEquals(waits, [1000]);
  const silent = said([...early, DUE]).told;
  assertEquals(silent.slice(-4), ["user", ...ends], "nothing of it is ever read");
});
