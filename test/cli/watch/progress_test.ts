import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  INITIAL_PROGRESS,
  outputTokens,
  type Progress,
  updateProgress,
} from "../../../src/cli/watch/progress.ts";
import type { Input } from "../../../src/conversation/control/input.ts";
import { LiveLine, renderLiveLine } from "../../../src/cli/watch/live_line.ts";
import { renderScreen } from "../../../src/conversation/terminal/headless_terminal.ts";
import * as lines from "../../conversation/control/lines.ts";
import fc from "fast-check";

function after(...signs: readonly Input[]): Progress {
  return signs.reduce(updateProgress, INITIAL_PROGRESS);
}

const at = 0;
const BUSY: Input = { at, type: "status", status: "busy" };
const IDLE: Input = { at, type: "status", status: "idle" };
const PROMPT: Input = { at, ...lines.PROMPT };

function hook(event: string, payload: Readonly<Record<string, unknown>> = {}): Input {
  return { at, type: "hook", event, payload };
}

function answer(
  id: string,
  content: readonly Readonly<Record<string, unknown>>[],
  tokens = 0,
): Input {
  return { at, ...lines.answer(content, { id, tokens }) };
}

function call(id: string, name: string, input: unknown = {}) {
  return { type: "tool_use", id, name, input };
}

function returned(...ids: readonly string[]): Input {
  return { at, ...lines.returned(...ids) };
}

Deno.test("a run starts, works and ends", () => {
  const phases = [
    { at, type: "spawned" } as const,
    hook("SessionStart"),
    IDLE,
    BUSY,
    IDLE,
    hook("Stop", { background_tasks: [] }),
    { at, type: "exit", exit: { kind: "exited", code: 0 } } as const,
  ].map((_, index, all) => after(...all.slice(0, index + 1)).phase);
  assertEquals(phases, [
    ...["starting", "starting", "starting", "working", "working", "ending", "ending"],
  ]);
});

for (
  const [what, sign] of [
    ["a signal", { at, type: "signal", signal: "SIGINT" }],
    ["the wall clock", { at, type: "deadline", name: "timeout" }],
    ["a failure of the API", hook("StopFailure")],
  ] as const
) {
  Deno.test(`${what} ends a run and its tools`, () => {
    const progress = after(BUSY, answer("m1", [call("t1", "Bash")]), sign);
    assertEquals([progress.phase, progress.tools], ["ending", []]);
  });
}

Deno.test("another agent's failure ends no tools", () => {
  const failed = hook("StopFailure", { agent_id: "a" });
  const progress = after(BUSY, answer("m1", [call("t1", "Bash")]), failed);
  assertEquals([progress.phase, progress.tools.length], ["working", 1]);
});

Deno.test("other deadlines change nothing", () => {
  assertEquals(after({ at, type: "deadline", name: "look" }), INITIAL_PROGRESS);
});

Deno.test("background tasks are awaited until they start a turn", () => {
  const stop = hook("Stop", { background_tasks: [{ id: "a" }, { id: "b" }] });
  const waiting = after(BUSY, stop, answer("m1", [{ type: "text", text: "late" }]));
  assertEquals([waiting.phase, waiting.count], ["waiting", 2]);
  const again = updateProgress(waiting, PROMPT);
  assertEquals([again.phase, again.count], ["working", 0]);
  assertEquals(updateProgress(waiting, BUSY).phase, "working");
});

Deno.test("a Stop that another hook overrules was not the end", () => {
  assertEquals(after(BUSY, hook("Stop"), BUSY).phase, "working");
});

Deno.test("lines after Stop begin no new answer", () => {
  const progress = after(BUSY, hook("Stop"), PROMPT, answer("m1", [call("t1", "Bash")]));
  assertEquals([progress.phase, progress.tools], ["ending", []]);
});

Deno.test("a repeated request shows its number until the answer", () => {
  const retrying = after(BUSY, {
    at,
    type: "retry",
    retry: { attempt: 3, maxRetries: 10, delayMs: 1000, status: null },
  });
  assertEquals([retrying.phase, retrying.count], ["retrying", 3]);
  const text = answer("m1", [{ type: "text", text: "Hello" }]);
  assertEquals(updateProgress(retrying, text).phase, "working");
});

Deno.test("tools run from their call to their return, in order", () => {
  const progress = after(
    BUSY,
    answer("m1", [call("t1", "Bash", { command: "npm test", description: "Run the tests" })]),
    answer("m1", [call("t2", "Read", { file_path: "/a/b.ts", limit: 3 })]),
    answer("m1", [call("t3", "TodoWrite", { todos: [] })]),
  );
  assertEquals(progress.tools, [
    { id: "t1", name: "Bash", subject: "npm test" },
    { id: "t2", name: "Read", subject: "/a/b.ts" },
    { id: "t3", name: "TodoWrite" },
  ]);
  const names = updateProgress(progress, returned("t1", "t3")).tools.map(({ name }) => name);
  assertEquals(names, ["Read"]);
});

Deno.test("tokens are counted once an answer, whose lines repeat them", () => {
  const text = [{ type: "text", text: "x" }];
  assertEquals(
    outputTokens(after(
      answer("m1", text, 10),
      answer("m1", text, 12),
      answer("m2", text, 5),
      answer("m2", text, 5),
    )),
    17,
  );
});

Deno.test("lines that are no answer as expected change nothing", () => {
  for (
    const line of [
      { type: "user", isMeta: true, message: { content: "assistant" } },
      { type: "user", kind: "assistant" },
      { type: "assistant", message: null },
      { type: "assistant", message: { content: [null, 1, { type: "tool_use" }], usage: null } },
      { type: "system" },
    ]
  ) assertEquals(after({ at, ...lines.line(line) }), INITIAL_PROGRESS, JSON.stringify(line));
});

/** A live line on a terminal that keeps what it is given, and whose clock and size the test moves. */
function liveLine() {
  const world = { elapsedMs: 0, columns: 80, isOurs: true, pending: 0, flushes: 0 };
  const written: string[] = [];
  const line = new LiveLine({
    output: {
      get pending() {
        return world.pending;
      },
      write: (text) => written.push(text),
      flush: () => world.flushes++,
    },
    elapsedMs: () => world.elapsedMs,
    columns: () => world.columns,
    isOurs: () => world.isOurs,
    color: false,
    cwd: "/",
  });
  return { line, world, take: () => written.splice(0) };
}

Deno.test("a live line is redrawn on change and erased", () => {
  const { line, world, take } = liveLine();
  line.erase();
  line.draw();
  world.elapsedMs = 900;
  line.draw();
  assertEquals(take(), ["\rstarting · 0 s\x1b[K\r"]);
  line.observe({ at: 0, type: "status", status: "busy" });
  line.draw();
  assertEquals(take(), ["\rworking · 0 s\x1b[K\r"]);
  line.erase();
  line.draw();
  assertEquals(take(), ["\r\x1b[K", "\rworking · 0 s\x1b[K\r"]);
  line[Symbol.dispose]();
  assertEquals(take(), ["\r\x1b[K"]);
});

Deno.test("an undrawn or erased live line erases nothing", () => {
  const { line, take } = liveLine();
  line[Symbol.dispose]();
  line[Symbol.dispose]();
  assertEquals(take(), []);
});

Deno.test("a live line fits a terminal that has become narrower", () => {
  const { line, world, take } = liveLine();
  line.draw();
  world.columns = 10;
  line.draw();
  line[Symbol.dispose]();
  assertEquals(take().slice(1), ["\rstarting…\x1b[K\r", "\r\x1b[K"]);
});

Deno.test("a live line leaves a shell's prompt alone", () => {
  const { line, world, take } = liveLine();
  line.draw();
  take();
  world.isOurs = false;
  world.elapsedMs = 5000;
  line.draw();
  assertEquals(take(), []);
  world.isOurs = true;
  line.draw();
  assertEquals(take(), ["\rstarting · 5 s\x1b[K\r"]);
  world.isOurs = false;
  line[Symbol.dispose]();
  assertEquals(take(), []);
});

Deno.test("a terminal that takes nothing gets nothing more", () => {
  const { line, world, take } = liveLine();
  world.pending = 7;
  line.draw();
  assertEquals([take(), world.flushes], [[], 1]);
  world.pending = 0;
  line.draw();
  assertEquals(take().length, 1);
  line[Symbol.dispose]();
});

const STYLE = { columns: 80, color: false, elapsedMs: 12_345, cwd: "/home/user/project" };

function working(subject?: string, name = "Bash"): Progress {
  const tool = { id: "t1", name, ...(subject === undefined ? {} : { subject }) };
  return { ...INITIAL_PROGRESS, phase: "working", tools: [tool] };
}

Deno.test("a live line shows phase, tool, time and tokens", () => {
  const last = { id: "m1", tokens: 1234 };
  assertEquals(renderLiveLine(INITIAL_PROGRESS, STYLE), "starting · 12 s");
  assertEquals(
    renderLiveLine({ ...working("npm test"), last }, STYLE),
    "working · Bash npm test · 12 s · 1.2k tokens",
  );
  assertEquals(renderLiveLine(working(), STYLE), "working · Bash · 12 s");
  assertEquals(
    renderLiveLine(working("npm test"), { ...STYLE, place: "line 2 of 5" }),
    "line 2 of 5 · working · Bash npm test · 12 s",
  );
});

Deno.test("a live line counts tasks, attempts and further tools", () => {
  const [tool] = working("npm test").tools;
  assert(tool !== undefined);
  const lines = [
    { ...INITIAL_PROGRESS, phase: "waiting", count: 1 },
    { ...INITIAL_PROGRESS, phase: "waiting", count: 2 },
    { ...INITIAL_PROGRESS, phase: "retrying", count: 4 },
    { ...INITIAL_PROGRESS, phase: "working", tools: [tool, tool, tool] },
  ] as const;
  assertEquals(lines.map((progress) => renderLiveLine(progress, STYLE)), [
    "waiting for a background task · 12 s",
    "waiting for 2 background tasks · 12 s",
    "retrying (attempt 4) · 12 s",
    "working · (+2) Bash npm test · 12 s",
  ]);
});

Deno.test("times and tokens have fitting units", () => {
  const render = (elapsedMs: number, tokens: number) =>
    renderLiveLine({ ...INITIAL_PROGRESS, last: { id: "", tokens } }, { ...STYLE, elapsedMs });
  assertEquals(render(59_999, 1), "starting · 59 s · 1 token");
  assertEquals(render(65_000, 999), "starting · 1 min 05 s · 999 tokens");
  assertEquals(render(3_725_000, 12_345), "starting · 1 h 02 min · 12k tokens");
});

Deno.test("files are named relative to the run's folder", () => {
  const line = renderLiveLine(working("/home/user/project/src/a.ts", "Read"), STYLE);
  assertEquals(line, "working · Read src/a.ts · 12 s");
  const other = renderLiveLine(working("/home/user/project2/a.ts", "Read"), STYLE);
  assertEquals(other, "working · Read /home/user/project2/a.ts · 12 s");
});

Deno.test("the tool is shortened to the columns", () => {
  const columns = 40;
  const render = (subject: string) => renderLiveLine(working(subject), { ...STYLE, columns });
  assertEquals(render("a".repeat(99)), "working · Bash aaaaaaaaaaaaaaaa… · 12 s");
  assertEquals(render("日".repeat(99)), "working · Bash 日日日日日日日日… · 12 s");
  assertEquals(render("e\u0301".repeat(99)), `working · Bash ${"e\u0301".repeat(16)}… · 12 s`);
  assertEquals(render("👍".repeat(99)), "working · Bash 👍👍👍👍👍👍👍👍… · 12 s");
});

Deno.test("a narrow terminal shows no tool", () => {
  const render = (columns: number) => renderLiveLine(working("npm test"), { ...STYLE, columns });
  assertEquals(render(25), "working · 12 s");
  assertEquals(render(10), "working…");
  assertEquals([render(2), render(1), render(0)], ["…", "", ""]);
});

Deno.test("a live line may be dim", () => {
  const line = renderLiveLine(INITIAL_PROGRESS, { ...STYLE, color: true });
  assertEquals(line, "\x1b[2mstarting · 12 s\x1b[22m");
});

Deno.test("a tool's input is one line without control characters", () => {
  const line = renderLiveLine(working("a\n\tb\x1b[31m\x07\u009b6n\u202e\ud800 c"), STYLE);
  assertEquals(line, "working · Bash a b[31m6n c · 12 s");
  assertEquals(
    renderLiveLine(working("rm \u3164 \u2800\ufe0f\u034f ☎\ufe0f"), STYLE),
    "working · Bash rm <U+3164> <U+2800><U+FE0F><U+034F> ☎\ufe0f · 12 s",
  );
});

Deno.test("no input makes a live line wrap, scroll or move", async () => {
  const subject = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 120 }),
    fc.array(fc.nat(0x10ffff), { maxLength: 120 }).map((codes) => String.fromCodePoint(...codes)),
  );
  for (const columns of [2, 17, 40, 41, 80]) {
    const rendered = fc.sample(subject, 60)
      .map((subject) => renderLiveLine(working(subject), { ...STYLE, columns }));
    for (const line of rendered) assertMatch(line, /^[^\p{Cc}\p{Cf}\p{Cs}]*$/u);
    // One below the other, each erased from where the cursor was left: nothing of any may stay.
    const text = rendered.map((line) => `${line}\r\x1b[K\n`).join("");
    const { lines, cursor } = await renderScreen([new TextEncoder().encode(text)], {
      rows: 100,
      cols: columns,
    });
    assertEquals(cursor, { row: 61, col: 1 }, JSON.stringify(rendered));
    assertEquals(lines.filter((line) => line !== ""), [], JSON.stringify(rendered));
  }
});
