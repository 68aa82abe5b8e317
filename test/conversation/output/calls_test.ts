import { assertEquals } from "@std/assert";
import type { ShellOutputFrame } from "../../../src/claude/wire/task_frames.ts";
import { message } from "../control/caller_inputs.ts";
import { BUSY, hook, IDLE, REACHABLE, submit } from "../control/inputs.ts";
import { answer, call, notice, prompt, REQUEST, result } from "./lines.ts";
import { fieldsOf, kinds } from "./outlines.ts";
import { ConversationRun, FramesRun, VERSION } from "./runs.ts";

const second = (seconds: number) => ({ timestamp: new Date(seconds * 1000).toISOString() });
const returned = (id: string, seconds: number) => ({ ...result(id), ...second(seconds) });

/** A run in which an answer calls tools, one second after its start. */
function calling(...tools: readonly (readonly [id: string, tool: string])[]): FramesRun {
  const run = new FramesRun();
  run.waitUntil(1000);
  const content = tools.map(([id, name]) => ({ type: "tool_use", id, name, input: {} }));
  run.push({ ...prompt(), ...second(0) }, REQUEST, answer(content, "m", second(1)));
  return run;
}

const beats = (run: FramesRun) =>
  run.take().flatMap(({ type, ...frame }) =>
    type === "tool_progress" ? [frame["tool_use_id"]] : []
  );

Deno.test("a call that works is reported every 30 seconds", () => {
  const run = calling(["a", "Bash"]);
  run.take();
  run.waitUntil(30_999);
  assertEquals(run.take(), []);
  run.waitUntil(31_000);
  const [frame] = run.take();
  assertEquals<unknown>({ ...frame, uuid: "" }, {
    type: "tool_progress",
    tool_use_id: "a-heartbeat-0",
    tool_name: "Bash",
    parent_tool_use_id: "a",
    elapsed_time_seconds: 30,
    heartbeat: true,
    session_id: "s",
    uuid: "",
  });
  run.waitUntil(91_000);
  assertEquals(beats(run), ["a-heartbeat-1", "a-heartbeat-2"]);
  run.push(returned("a", 92));
  assertEquals(run.due("beat"), undefined);
});

Deno.test("calls that wait for others do not work yet", () => {
  const run = calling(["a", "Agent"], ["b", "Read"], ["c", "Bash"], ["d", "Agent"]);
  run.waitUntil(31_000);
  assertEquals(beats(run), ["a-heartbeat-0", "b-heartbeat-0"]);
  run.waitUntil(36_000);
  run.push(returned("a", 35), returned("b", 36));
  run.waitUntil(65_999);
  assertEquals(beats(run), []);
  run.waitUntil(70_000);
  run.push(returned("c", 70));
  run.waitUntil(100_000);
  assertEquals(beats(run), ["c-heartbeat-0", "d-heartbeat-0"]);
});

Deno.test("a call works from the moment it is allowed", () => {
  const run = new ConversationRun({
    session: {
      ...{ conversation: true, version: VERSION, timeoutMs: 600_000 },
      caller: { idPrefix: "q", permissions: true, callbacks: [] },
    },
    frames: { conversation: true, version: VERSION, startedAt: 0 },
  });
  run.give({ type: "spawned" }, REACHABLE, IDLE, message("Hi"), submit("Hi"), BUSY);
  run.waitUntil(1000);
  run.push(prompt(), REQUEST, { ...call("t"), ...second(1) });
  assertEquals(run.due("beat"), 30_000);
  const payload = { tool_name: "Bash", tool_input: { command: "x" }, cwd: "/w" };
  run.give(hook("PermissionRequest", payload, "7"));
  run.waitUntil(50_000);
  assertEquals(fieldsOf(run.frames, "tool_progress", "tool_use_id"), []);
  run.give({ type: "answer", answer: { id: "q-1", response: { behavior: "allow" } } });
  assertEquals(run.due("beat"), 30_000);
  run.waitUntil(80_000);
  assertEquals(fieldsOf(run.frames, "tool_progress", "tool_use_id"), [["t-heartbeat-0"]]);
});

/** A run with `--shell-output` whose prompt has been read. */
class ShellRun extends ConversationRun {
  #begun: number;

  constructor({ on = true } = {}) {
    super({ frames: on ? { shellOutput: "joined" } : {} });
    this.give({ type: "message", message: { text: "Go", way: "stdin" } }, { type: "spawned" });
    this.push(prompt("Go"));
    this.pass("init");
    this.#begun = this.frames.length;
  }

  /** What is printed of shells: call, shell, text. */
  get told() {
    return this.frames.filter((frame): frame is ShellOutputFrame =>
      frame.subtype === "shell_output_delta"
    ).map(({ tool_use_id, task_id, text }) => [tool_use_id, task_id, text]);
  }

  get kinds(): string {
    return kinds(this.frames.slice(this.#begun));
  }

  /** What is wanted of shells. */
  get orders(): readonly string[] {
    return this.parts.flatMap((part) => {
      if (part.type === "trace") return part.text.startsWith("shell") ? [part.text] : [];
      return part.type === "follow-shell" || part.type === "leave-shell"
        ? [`${part.type} ${part.id}`]
        : [];
    });
  }

  /** The child is killed. */
  kill(): void {
    this.give({ type: "exit", exit: { kind: "signaled", signal: 9 } });
  }
}

const bash = (id: string, command: string) => call(id, "Bash", { command });
const gave = (id: string, stdout: string, more: object = {}) =>
  result(id, { stdout, stderr: "", interrupted: false, ...more });
const failed = (id: string, words: string) => result(id, words);
const shell = (id: string, command?: string, running = true) =>
  ({ type: "shell", id, ...(command === undefined ? {} : { command }), running }) as const;
const wrote = (id: string, text: string) => ({ type: "shell-output", id, text }) as const;
const over = (id: string) => ({ type: "shell-over", id }) as const;

Deno.test("a shell's output is printed while it runs", () => {
  const run = new ShellRun();
  run.push(bash("t", "make"));
  run.give(shell("b1", "make"), wrote("b1", "one\n"), wrote("b1", "tw"), wrote("b1", "o\r\n"));
  assertEquals(run.orders, ["follow-shell b1"]);
  run.give(over("b1"));
  run.push(gave("t", "one\ntwo"));
  assertEquals(run.orders, ["follow-shell b1", "leave-shell b1"]);
  assertEquals(run.kinds, `assistant ${"shell_output_delta ".repeat(4)}user`);
  assertEquals(run.told, [
    ["t", "b1", "one\n"],
    ["t", "b1", "tw"],
    ["t", "b1", "o\r\n"],
    ["t", "b1", ""],
  ]);
  const deltas = run.frames.filter(({ subtype }) => subtype === "shell_output_delta");
  const [first] = deltas;
  assertEquals(Object.keys(first ?? {}), [
    ...["type", "subtype", "tool_use_id", "task_id", "stream", "text", "uuid", "session_id"],
  ]);
  assertEquals([first?.["stream"], first?.["session_id"]], ["output", "s"]);
  assertEquals(new Set(deltas.map(({ uuid }) => uuid)).size, 4);
});

Deno.test("without the flag shells are not followed", () => {
  const run = new ShellRun({ on: false });
  run.push(bash("t", "make"));
  run.give(shell("b1", "make"), wrote("b1", "one\n"), over("b1"));
  run.push(gave("t", "one"));
  run.kill();
  assertEquals([run.told, run.orders], [[], []]);
});

Deno.test("a silent call and one that never ran end once", () => {
  const run = new ShellRun();
  run.push(bash("t", "true"), bash("u", "rm -rf /"), bash("v", "sleep 9"));
  run.give(shell("b1", "true", false), over("b1"));
  run.push(gave("t", ""), failed("u", "Error: nobody is there to give it"));
  run.push(failed("v", "Error: [Request interrupted by user for tool use]"));
  assertEquals(run.told, [["t", "b1", ""], ["u", null, ""], ["v", null, ""]]);
});

Deno.test("output from before its call is printed after the call", () => {
  const run = new ShellRun();
  run.give(shell("b1", "make"), wrote("b1", "one\n"), wrote("b1", "two\n"));
  assertEquals([run.kinds, run.orders], ["", []]);
  run.push(bash("t", "make"));
  assertEquals(run.told, [["t", "b1", "one\ntwo\n"]]);
});

Deno.test("the rest of an output follows the result", () => {
  const run = new ShellRun();
  run.push(bash("t", "make"));
  run.give(shell("b1", "make"), wrote("b1", "one\n"));
  run.push(gave("t", "one\ntwo"));
  assertEquals(run.orders, ["follow-shell b1", "leave-shell b1"]);
  run.give(wrote("b1", "two\n"), { ...over("b1"), cut: true }, wrote("b1", "never"));
  assertEquals(run.orders.at(-1), "shell b1 has written more than is told");
  assertEquals(run.told, [["t", "b1", "one\n"], ["t", "b1", "two\n"], ["t", "b1", ""]]);
});

Deno.test("results distinguish two calls of one command", () => {
  const run = new ShellRun();
  run.push(bash("t", "date"), bash("u", "date"));
  run.give(shell("b1", "date"), shell("b2", "date"), wrote("b1", "1\n"), wrote("b2", "2\n"));
  run.give(over("b1"));
  assertEquals(run.told, []);
  run.push(gave("u", "2"));
  run.push(failed("t", "Error: Exit code 1\n1"));
  run.give(over("b2"));
  assertEquals(run.told, [["u", "b2", "2\n"], ["t", "b1", "1\n"], ["t", "b1", ""], [
    "u",
    "b2",
    "",
  ]]);
});

Deno.test("the last of two equal calls is printed live", () => {
  const run = new ShellRun();
  run.push(bash("t", "date"), bash("u", "date"));
  run.give(shell("b1", "date"), wrote("b1", "1\n"), over("b1"));
  run.push(gave("t", "1"));
  run.give(shell("b2", "date"), wrote("b2", "2\n"));
  assertEquals(run.told, [["t", "b1", "1\n"], ["t", "b1", ""], ["u", "b2", "2\n"]]);
});

Deno.test("a shell that ended belongs to a later call", () => {
  const run = new ShellRun();
  run.push(bash("t", "true"));
  run.give(shell("b2", "seq 2", false), wrote("b2", "1\n2\n"), over("b2"));
  run.give(shell("b3", "true", false), over("b3"));
  run.push(gave("t", ""), bash("u", "seq 2"), gave("u", "1\n2"));
  assertEquals(run.told, [["t", "b3", ""], ["u", "b2", "1\n2\n"], ["u", "b2", ""]]);
});

Deno.test("a shell without a command is known by its output", () => {
  const run = new ShellRun();
  run.push(bash("t", "seq 2"), bash("u", "seq 3"));
  run.give(shell("b1", undefined, false), wrote("b1", "1\n2\n"), over("b1"));
  run.give(shell("x", undefined, false), wrote("x", "planted\n"), over("x"));
  run.push(failed("u", "Error: Exit code 1\n1\n2\n3"), gave("t", "1\n2"));
  // No shell fits the other call, so its result is all there is.
  assertEquals(run.told, [
    ["u", null, "1\n2\n3"],
    ["u", null, ""],
    ["t", "b1", "1\n2\n"],
    ["t", "b1", ""],
  ]);
});

Deno.test("a long output is known by its beginning", () => {
  const run = new ShellRun();
  const long = "0123456789\n".repeat(4000);
  run.push(bash("t", "cat a"), bash("u", "cat b"));
  for (const [id, text] of [["b1", `a${long}`], ["b2", `b${long}`]] as const) {
    run.give(shell(id, undefined, false), wrote(id, text), over(id));
  }
  run.push(gave("u", `b${long}`.slice(0, 30_000)));
  run.push(gave("t", `a${long}`.slice(0, 30_000)));
  run.push(bash("v", "make"));
  // A hook has changed the command of the only call.
  run.give(shell("b3", "rewritten make"), wrote("b3", "made\n"));
  assertEquals(run.told.map(([id, shell, text]) => [id, shell, text?.length]), [
    ["u", "b2", long.length + 1],
    ["u", "b2", 0],
    ["t", "b1", long.length + 1],
    ["t", "b1", 0],
    ["v", "b3", 5],
  ]);
});

Deno.test("Claude Code's remark on a background shell is not printed", () => {
  const remark = "\n[exited with code 0]\n";
  const rows = [
    [{ backgroundTaskId: "b1" }, [["t", "b1", "k\n"], ["t", "b1", ""]]],
    // Another command may print the same.
    [{}, [["t", "b1", "k\n"], ["t", "b1", remark], ["t", "b1", ""]]],
  ];
  for (const [task, told] of rows) {
    const run = new ShellRun();
    run.push(bash("t", "echo k"));
    run.give(shell("b1", "echo k"), wrote("b1", `k\n${remark}`), over("b1"));
    run.push(gave("t", `k\n${remark}`, task));
    run.push(notice("b1"));
    run.give(over("b1"));
    assertEquals<unknown>(run.told, told);
  }
});

Deno.test("a background shell is printed until it ends", () => {
  const run = new ShellRun();
  run.push(
    call("t", "Bash", { command: "serve", run_in_background: true }),
    gave("t", "", { backgroundTaskId: "b1" }),
  );
  assertEquals(run.orders, ["follow-shell b1"]);
  run.give(shell("b1", "serve"), wrote("b1", "up\n"), wrote("b1", "\n[killed]\n"));
  run.give(wrote("b1", "no\n"), wrote("b1", "down\n\n[exited with code 0]\n"));
  run.push(notice("b1"));
  assertEquals(run.orders.at(-1), "leave-shell b1");
  run.give(over("b1"));
  assertEquals(run.told, [
    ["t", "b1", "up\n"],
    ["t", "b1", "\n[killed]\nno\n"],
    ["t", "b1", "down\n"],
    ["t", "b1", ""],
  ]);
});

Deno.test("an unseen background shell ends with its call", () => {
  const run = new ShellRun();
  run.push(bash("t", "serve"), gave("t", "", { backgroundTaskId: "b1" }));
  run.push(notice("b1", "failed"));
  assertEquals(run.told, []);
  run.give(over("b1"));
  assertEquals(run.told, [["t", "b1", ""]]);
});

Deno.test("shells of subagents are printed", () => {
  const run = new ShellRun();
  const of = { toolUseId: "agent" };
  run.push(call("agent", "Agent", { description: "Look", prompt: "Look" }));
  run.pushSubagent(of, bash("t", "ls"));
  run.give(shell("b1", "ls"), wrote("b1", "a\n"), over("b1"));
  run.pushSubagent(of, gave("t", "a"));
  assertEquals(run.told, [["t", "b1", "a\n"], ["t", "b1", ""]]);
});

Deno.test("an interrupted call keeps its unambiguous output", () => {
  const run = new ShellRun();
  run.push(bash("t", "make"), bash("u", "date"), bash("v", "date"));
  run.give(shell("b1", "make", false), wrote("b1", "so far"), over("b1"));
  run.give(shell("b2", "date", false), wrote("b2", "now"), over("b2"));
  run.push(failed("t", "[Request interrupted by user for tool use]"));
  run.kill();
  assertEquals(run.told, [
    ["t", "b1", "so far"],
    ["t", "b1", ""],
    ["u", null, ""],
    ["v", null, ""],
  ]);
});

Deno.test("a call that never returns ends before the result", () => {
  const run = new ShellRun();
  run.push(bash("t", "sleep 99"));
  run.give(shell("b1", "sleep 99"), wrote("b1", "so far"));
  run.kill();
  assertEquals(run.told, [["t", "b1", "so far"], ["t", "b1", ""]]);
  assertEquals(run.kinds.endsWith("shell_output_delta result"), true, run.kinds);
});
