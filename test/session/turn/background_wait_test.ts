import { assertEquals } from "@std/assert";
import { backgroundTasksOf, backgroundWaitMs } from "../../../src/session/turn/background_wait.ts";
import { answer, line, PROMPT } from "../../transcript/lines.ts";
import { simulate } from "../simulation.ts";

const SHELL = { id: "b", type: "shell", description: "Build" };
const AGENT = { id: "a", type: "subagent", description: "Look" };

const WAIT = {
  tasks: [AGENT],
  ceilingMs: 600_000,
  shellLimitMs: undefined,
};

Deno.test("backgroundWaitMs() waits for subagents up to the ceiling", () => {
  assertEquals(backgroundWaitMs(WAIT), 600_000);
  assertEquals(backgroundWaitMs({ ...WAIT, ceilingMs: 0 }), undefined);
});

Deno.test("backgroundWaitMs() gives a shell its own limit, though the ceiling is lower", () => {
  const shells = { ...WAIT, tasks: [SHELL, AGENT], ceilingMs: 2500 };
  assertEquals(backgroundWaitMs(shells), 605_000);
  assertEquals(backgroundWaitMs({ ...shells, shellLimitMs: 3000 }), 8000);
  assertEquals(backgroundWaitMs({ ...shells, shellLimitMs: 3000, ceilingMs: 60_000 }), 60_000);
  assertEquals(backgroundWaitMs({ ...shells, ceilingMs: 0 }), undefined);
});

Deno.test("backgroundTasksOf() takes payloads of any shape", () => {
  assertEquals(backgroundTasksOf({ background_tasks: [SHELL] }), [SHELL]);
  for (const background_tasks of [undefined, null, "x", {}, [null, 5]]) {
    assertEquals(backgroundTasksOf({ background_tasks }), []);
  }
});

const stop = (...tasks: readonly object[]) =>
  ({ type: "hook", event: "Stop", payload: { background_tasks: tasks } }) as const;

const turnEnd = () => line({ type: "system", subtype: "turn_duration", version: "2.1.332" });

Deno.test("a session waits for a subagent from the end of the last turn, and stops it then", () => {
  const session = simulate({ backgroundCeilingMs: 10_000 });
  session.hear(PROMPT);
  session.hear(stop(AGENT));
  session.wait(60_000);
  assertEquals(session.signals(), [], "the transcript has not told the end of the turn yet");
  session.hear(turnEnd());
  session.wait(9000);
  // Another turn begins, which is not bounded, and the wait after it begins anew.
  session.hear(PROMPT);
  session.wait(60_000);
  session.hear(stop(AGENT));
  session.hear(turnEnd());
  session.wait(9999);
  assertEquals(session.signals(), []);
  session.wait(1);
  assertEquals(session.signals(), ["SIGTERM tree"]);
  session.hear({ type: "exit", exit: { kind: "exited", code: 143 } });
  assertEquals(session.ending(), {
    kind: "answered",
    stop: stop(AGENT).payload,
    unfinished: [AGENT],
  });
});

Deno.test("the wait is bounded too where the transcript tells of the end of the turn before the hook does", () => {
  const session = simulate({ backgroundCeilingMs: 10_000 });
  session.hear(PROMPT);
  session.hear(turnEnd());
  session.hear(stop(AGENT));
  session.wait(9999);
  assertEquals(session.signals(), []);
  session.wait(1);
  assertEquals(session.signals(), ["SIGTERM tree"]);
});

Deno.test("what is on record of one turn says nothing of the next, and its wait is over", () => {
  const session = simulate({ backgroundCeilingMs: 10_000 });
  session.hear(PROMPT);
  session.hear(stop(AGENT));
  session.hear(turnEnd());
  session.wait(9000);
  session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "x" } });
  session.hear(stop(AGENT));
  session.wait(60_000);
  assertEquals(session.signals(), []);
  session.hear(PROMPT);
  session.hear(turnEnd());
  session.wait(10_000);
  assertEquals(session.signals(), ["SIGTERM tree"]);
});

Deno.test("a prompt that is written late does not take the bound of the wait away", () => {
  const session = simulate({ backgroundCeilingMs: 5000 });
  session.hear({ type: "status", status: "busy" });
  session.hear(stop(AGENT));
  session.hear(turnEnd());
  session.hear(PROMPT);
  session.wait(5000);
  assertEquals(session.signals(), ["SIGTERM tree"]);
});

Deno.test("a session knows the longest limit that a call gave its shell", () => {
  const session = simulate({ backgroundCeilingMs: 1000 });
  session.hear(PROMPT);
  for (const shellLimitMs of [3000, 20_000, 4000]) {
    const input = { run_in_background: true, timeout: shellLimitMs };
    session.hear(answer([{ type: "tool_use", id: "t", name: "Bash", input }]));
  }
  session.hear(stop(SHELL));
  session.hear(turnEnd());
  session.wait(24_999);
  assertEquals(session.signals(), []);
  session.wait(1);
  assertEquals(session.signals(), ["SIGTERM tree"]);
});

Deno.test("a Stop without tasks ends the wait for them", () => {
  const session = simulate({ backgroundCeilingMs: 1000 });
  session.hear(PROMPT);
  session.hear(stop(AGENT));
  session.hear(turnEnd());
  session.wait(900);
  session.hear(stop());
  session.hear({ type: "status", status: "idle" });
  session.hear({ type: "exit", exit: { kind: "exited", code: 143 } });
  assertEquals(session.ending(), { kind: "answered", stop: stop().payload });
});
