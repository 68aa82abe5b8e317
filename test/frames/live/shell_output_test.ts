import { assertEquals } from "@std/assert";
import { advance, startConversation } from "../../../src/frames/advance.ts";
import type { Input, Untimed } from "../../../src/session/input.ts";
import { readEntry } from "../../../src/transcript/entry.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import type { Frame } from "../../../src/wire/frame.ts";
import type { ShellOutputFrame } from "../../../src/wire/task_frames.ts";
import { conversationOptions } from "../conversation_options.ts";

const SUBAGENT = { agentId: "a1", toolUseId: "agent", type: "Explore", description: "Look" };

/** A run with `--shell-output`, of which the prompt has been read. */
function begin({ version = "2.1.332", on = true } = {}) {
  const usual = conversationOptions();
  const shellOutput = on ? { shellOutput: "joined" as const } : {};
  let state = startConversation({ ...usual, frames: { ...usual.frames, ...shellOutput } });
  const frames: Frame[] = [];
  const orders: string[] = [];
  let at = 0;
  const tell = (...inputs: readonly Untimed<Input>[]) => {
    for (const input of inputs) {
      const next = advance(state, { at: ++at, ...input } as Input);
      state = next.state;
      for (const effect of next.effects) {
        if (effect.type === "frame") frames.push(effect.frame);
        if (effect.type === "end") frames.push(...effect.frames);
        if (effect.type === "trace" && effect.text.startsWith("shell")) orders.push(effect.text);
        if (effect.type === "follow-shell" || effect.type === "leave-shell") {
          orders.push(`${effect.type} ${effect.id}`);
        }
      }
    }
  };
  const lines = (...all: readonly JsonObject[]) => {
    for (const line of all) {
      tell({
        type: "transcript",
        entry: readEntry({ version, ...line }) ?? { type: "other", line },
      });
    }
    tell({ type: "read" });
  };
  const subagentLines = (...all: readonly JsonObject[]) => {
    for (const line of all) {
      const entry = readEntry({ version, isSidechain: true, ...line });
      if (entry !== undefined) tell({ type: "subagent", line: { subagent: SUBAGENT, entry } });
    }
    tell({ type: "read" });
  };
  tell({ type: "message", message: { text: "Go", way: "stdin" } }, { type: "spawned" });
  lines({ type: "user", uuid: "p", message: { content: "Go" } });
  tell({ type: "deadline", name: "init" });
  frames.length = 0;
  return { tell, lines, subagentLines, frames, orders, end: () => endRun(tell) };
}

function endRun(tell: (...inputs: readonly Untimed<Input>[]) => void): void {
  tell({ type: "hook", event: "Stop", payload: { hook_event_name: "Stop" } });
  tell({ type: "deadline", name: "idle" }, { type: "deadline", name: "drain" });
  tell({ type: "exit", exit: { kind: "exited", code: 0 } }, { type: "deadline", name: "record" });
}

const call = (id: string, command: string, more: object = {}) => ({
  type: "assistant",
  message: {
    id: `m-${id}`,
    model: "m",
    content: [{ type: "tool_use", id, name: "Bash", input: { command, ...more } }],
  },
});

const result = (id: string, toolUseResult: unknown) => ({
  type: "user",
  toolUseResult,
  message: { content: [{ type: "tool_result", tool_use_id: id, content: "x" }] },
});

const stdout = (text: string) => ({ stdout: text, stderr: "", interrupted: false });

const shell = (id: string, command?: string, running = true) =>
  ({ type: "shell", id, ...(command === undefined ? {} : { command }), running }) as const;

const output = (id: string, text: string) => ({ type: "shell-output", id, text }) as const;
const over = (id: string) => ({ type: "shell-over", id }) as const;

const isOutput = (frame: Frame): frame is ShellOutputFrame =>
  frame.subtype === "shell_output_delta";

/** What is said of shells: call, shell, text. */
const told = (frames: readonly Frame[]) =>
  frames.filter(isOutput).map(({ tool_use_id, task_id, text }) => [tool_use_id, task_id, text]);

/** The kinds of frames, in order. */
const kinds = (frames: readonly Frame[]) => frames.map(({ type, subtype }) => subtype ?? type);

Deno.test("what a shell writes is told while it runs, and its end before the result", () => {
  const run = begin();
  run.lines(call("t", "make"));
  run.tell(shell("b1", "make"), output("b1", "one\n"), output("b1", "tw"), output("b1", "o\r\n"));
  assertEquals(run.orders, ["follow-shell b1"]);
  run.tell(over("b1"));
  run.lines(result("t", stdout("one\ntwo")));
  assertEquals(run.orders, ["follow-shell b1", "leave-shell b1"]);
  assertEquals(kinds(run.frames), [
    "assistant",
    ...Array(4).fill("shell_output_delta"),
    "user",
  ]);
  assertEquals(told(run.frames), [
    ["t", "b1", "one\n"],
    ["t", "b1", "tw"],
    ["t", "b1", "o\r\n"],
    ["t", "b1", ""],
  ]);
  const [first] = run.frames.filter(isOutput);
  assertEquals(Object.keys(first ?? {}), [
    ...["type", "subtype", "tool_use_id", "task_id", "stream", "text", "uuid", "session_id"],
  ]);
  assertEquals([first?.stream, first?.session_id], ["output", "s"]);
  const ids = run.frames.filter(isOutput).map(({ uuid }) => uuid);
  assertEquals(new Set(ids).size, ids.length);
});

Deno.test("without the flag nothing is told of shells, and nothing asked for", () => {
  const run = begin({ on: false });
  run.lines(call("t", "make"));
  run.tell(shell("b1", "make"), output("b1", "one\n"), over("b1"));
  run.lines(result("t", stdout("one")));
  run.end();
  assertEquals([told(run.frames), run.orders], [[], []]);
});

Deno.test("a call that writes nothing, and one that never ran, have one frame each", () => {
  const run = begin();
  run.lines(call("t", "true"), call("u", "rm -rf /"), call("v", "sleep 9"));
  run.tell(shell("b1", "true", false), over("b1"));
  run.lines(result("t", stdout("")), result("u", "Error: nobody is there to give it"));
  run.lines(result("v", "Error: [Request interrupted by user for tool use]"));
  assertEquals(told(run.frames), [["t", "b1", ""], ["u", null, ""], ["v", null, ""]]);
});

Deno.test("what a shell has written before its call was told is told with it", () => {
  const run = begin();
  run.tell(shell("b1", "make"), output("b1", "one\n"), output("b1", "two\n"));
  assertEquals([run.frames, run.orders], [[], []]);
  run.lines(call("t", "make"));
  assertEquals(told(run.frames), [["t", "b1", "one\ntwo\n"]]);
});

Deno.test("the rest of what a shell has written comes after the result, and then its end", () => {
  const run = begin();
  run.lines(call("t", "make"));
  run.tell(shell("b1", "make"), output("b1", "one\n"));
  run.lines(result("t", stdout("one\ntwo")));
  assertEquals(run.orders, ["follow-shell b1", "leave-shell b1"]);
  run.tell(output("b1", "two\n"), { ...over("b1"), cut: true }, output("b1", "never"));
  assertEquals(run.orders.at(-1), "shell b1 has written more than is told");
  assertEquals(told(run.frames), [["t", "b1", "one\n"], ["t", "b1", "two\n"], ["t", "b1", ""]]);
});

Deno.test("of two calls for the same it is their results that tell whose output is whose", () => {
  const run = begin();
  run.lines(call("t", "date"), call("u", "date"));
  run.tell(shell("b1", "date"), shell("b2", "date"));
  run.tell(output("b1", "1\n"), output("b2", "2\n"), over("b1"));
  assertEquals(told(run.frames), []);
  run.lines(result("u", stdout("2")));
  run.lines(result("t", "Error: Exit code 1\n1"));
  run.tell(over("b2"));
  assertEquals(told(run.frames), [
    ["u", "b2", "2\n"],
    ["t", "b1", "1\n"],
    ["t", "b1", ""],
    ["u", "b2", ""],
  ]);
});

Deno.test("once one of two calls for the same has returned, the other is told while it runs", () => {
  const run = begin();
  run.lines(call("t", "date"), call("u", "date"));
  run.tell(shell("b1", "date"), output("b1", "1\n"), over("b1"));
  run.lines(result("t", stdout("1")));
  run.tell(shell("b2", "date"), output("b2", "2\n"));
  assertEquals(told(run.frames), [["t", "b1", "1\n"], ["t", "b1", ""], ["u", "b2", "2\n"]]);
});

Deno.test("a shell that was gone at once is not given to a call that may have returned long ago", () => {
  const run = begin();
  run.lines(call("t", "true"));
  run.tell(shell("b2", "seq 2", false), output("b2", "1\n2\n"), over("b2"));
  run.tell(shell("b3", "true", false), over("b3"));
  run.lines(result("t", stdout("")), call("u", "seq 2"), result("u", stdout("1\n2")));
  assertEquals(told(run.frames), [["t", "b3", ""], ["u", "b2", "1\n2\n"], ["u", "b2", ""]]);
});

Deno.test("a shell whose process nobody has seen is known by what it wrote", () => {
  const run = begin();
  run.lines(call("t", "seq 2"), call("u", "seq 3"));
  run.tell(shell("b1", undefined, false), output("b1", "1\n2\n"), over("b1"));
  run.tell(shell("x", undefined, false), output("x", "planted\n"), over("x"));
  run.lines(result("u", stdout("1\n2\n3")), result("t", stdout("1\n2")));
  // Nothing fits the other call, so what Claude Code says of it is all there is.
  assertEquals(told(run.frames), [
    ["u", null, "1\n2\n3"],
    ["u", null, ""],
    ["t", "b1", "1\n2\n"],
    ["t", "b1", ""],
  ]);
});

Deno.test("what is long is known by its beginning, and what a hook has changed by being alone", () => {
  const run = begin();
  const long = "0123456789\n".repeat(4000);
  run.lines(call("t", "cat a"), call("u", "cat b"));
  for (const [id, text] of [["b1", `a${long}`], ["b2", `b${long}`]] as const) {
    run.tell(shell(id, undefined, false), output(id, text), over(id));
  }
  run.lines(result("u", stdout(`b${long}`.slice(0, 30_000))));
  run.lines(result("t", stdout(`a${long}`.slice(0, 30_000))));
  run.lines(call("v", "make"));
  run.tell(shell("b3", "rewritten make"), output("b3", "made\n"));
  assertEquals(told(run.frames).map(([id, shell, text]) => [id, shell, text?.length]), [
    ["u", "b2", long.length + 1],
    ["u", "b2", 0],
    ["t", "b1", long.length + 1],
    ["t", "b1", 0],
    ["v", "b3", 5],
  ]);
});

Deno.test("a shell in the background may have ended before it is known to be in the background", () => {
  const REMARK = "\n[exited with code 0]\n";
  const heard = (task: object) => {
    const run = begin();
    run.lines(call("t", "echo k"));
    run.tell(shell("b1", "echo k"), output("b1", `k\n${REMARK}`), over("b1"));
    run.lines(result("t", { ...stdout(`k\n${REMARK}`), ...task }));
    const notification = "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>";
    run.lines({ type: "queue-operation", operation: "enqueue", content: notification });
    run.tell(over("b1"));
    return told(run.frames);
  };
  assertEquals(heard({ backgroundTaskId: "b1" }), [["t", "b1", "k\n"], ["t", "b1", ""]]);
  // Another one has written just that.
  assertEquals(heard({}), [["t", "b1", "k\n"], ["t", "b1", REMARK], ["t", "b1", ""]]);
});

Deno.test("a shell in the background is told of until it ends", () => {
  const run = begin();
  const task = { ...stdout(""), backgroundTaskId: "b1" };
  run.lines(call("t", "serve", { run_in_background: true }), result("t", task));
  assertEquals(run.orders, ["follow-shell b1"]);
  run.tell(shell("b1", "serve"), output("b1", "up\n"), output("b1", "\n[killed]\n"));
  run.tell(output("b1", "no\n"), output("b1", "down\n\n[exited with code 0]\n"));
  const notification = "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>";
  run.lines({ type: "queue-operation", operation: "enqueue", content: notification });
  assertEquals(run.orders.at(-1), "leave-shell b1");
  run.tell(over("b1"));
  assertEquals(told(run.frames), [
    ["t", "b1", "up\n"],
    ["t", "b1", "\n[killed]\nno\n"],
    ["t", "b1", "down\n"],
    ["t", "b1", ""],
  ]);
});

Deno.test("a shell that nobody has seen and that is to be left is over at once", () => {
  const run = begin();
  run.lines(call("t", "serve"), result("t", { ...stdout(""), backgroundTaskId: "b1" }));
  run.lines({
    type: "queue-operation",
    operation: "enqueue",
    content: "<task-notification><task-id>b1</task-id><status>failed</status>",
  });
  assertEquals(told(run.frames), []);
  run.tell(over("b1"));
  assertEquals(told(run.frames), [["t", "b1", ""]]);
});

Deno.test("calls of subagents are told too", () => {
  const run = begin();
  const input = { description: "Look", prompt: "Look", subagent_type: "Explore" };
  run.lines({
    type: "assistant",
    message: {
      id: "m",
      model: "m",
      content: [{ type: "tool_use", id: "agent", name: "Agent", input }],
    },
  });
  run.subagentLines(call("t", "ls"));
  run.tell(shell("b1", "ls"), output("b1", "a\n"), over("b1"));
  run.subagentLines(result("t", stdout("a")));
  assertEquals(told(run.frames), [["t", "b1", "a\n"], ["t", "b1", ""]]);
});

Deno.test("a call that was stopped at once has what it wrote, if there is no doubt", () => {
  const run = begin();
  run.lines(call("t", "make"), call("u", "date"), call("v", "date"));
  run.tell(shell("b1", "make", false), output("b1", "so far"), over("b1"));
  run.tell(shell("b2", "date", false), output("b2", "now"), over("b2"));
  run.lines(result("t", "[Request interrupted by user for tool use]"));
  run.tell({ type: "exit", exit: { kind: "signaled", signal: 9 } });
  run.tell({ type: "deadline", name: "record" });
  assertEquals(told(run.frames), [
    ["t", "b1", "so far"],
    ["t", "b1", ""],
    ["u", null, ""],
    ["v", null, ""],
  ]);
});

Deno.test("a call that never returns ends with the run, before its result", () => {
  const run = begin();
  run.lines(call("t", "sleep 99"));
  run.tell(shell("b1", "sleep 99"), output("b1", "so far"));
  run.tell({ type: "exit", exit: { kind: "signaled", signal: 9 } });
  run.tell({ type: "deadline", name: "record" });
  assertEquals(told(run.frames), [["t", "b1", "so far"], ["t", "b1", ""]]);
  assertEquals(kinds(run.frames).slice(-2), ["shell_output_delta", "internal_error"]);
});
