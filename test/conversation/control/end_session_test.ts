import { assert, assertEquals } from "@std/assert";
import { answer, called, COMPLETED, INTERRUPTED, PROMPT, returned } from "./lines.ts";
import { message } from "./caller_inputs.ts";
import { BUSY, EXIT, type Given, hook, IDLE, signal, stop, submit } from "./inputs.ts";
import { assertAfter, rested, run, simulate, type SimulationOptions } from "./simulation.ts";

/** A run that got SIGTERM after its answer. */
const answered = (options: SimulationOptions = {}) =>
  run(options, PROMPT, answer("hi"), stop("hi"), IDLE);

/** A child that got SIGTERM after an answer that its transcript does not hold. */
const unwritten = () =>
  run(
    { keptAtEnd: true },
    ...[IDLE, BUSY, stop("hi"), { type: "shells", ids: [], unused: true } as const],
  );

Deno.test("each limit ends the run with its own ending", () => {
  const cases: readonly [number, SimulationOptions, readonly Given[], object][] = [
    [5000, { startTimeoutMs: 5000 }, [], { kind: "not-started", silent: true }],
    [5000, { startTimeoutMs: 1000, deliveryTimeoutMs: 5000 }, [IDLE], { kind: "not-taken" }],
  ];
  for (const [ms, options, inputs, ending] of cases) {
    const session = run(options, ...inputs);
    session.wait(ms - 1);
    assertEquals(session.signals, []);
    session.wait(1);
    assertEquals(session.armed, ["exit"]);
    session.receive(EXIT);
    assertEquals<unknown>(session.ending, ending);
  }
});

Deno.test("first output starts the start limit again", () => {
  const session = simulate({ startTimeoutMs: 1000 });
  session.wait(900);
  session.show("a first byte");
  session.wait(999);
  assertEquals(session.signals, []);
  session.wait(1);
  assertEquals(session.exit(), { kind: "not-started", silent: false });
});

Deno.test("slow start hooks and turns use the delivery limit", () => {
  const session = run({ startTimeoutMs: 10_000, deliveryTimeoutMs: 60_000 }, IDLE);
  session.wait(50_000);
  session.receive(BUSY);
  session.wait(50_000);
  assertEquals(session.signals, []);
});

Deno.test("idle status extends the delivery limit", () => {
  const session = rested({}, message("one"));
  for (const sign of [IDLE, IDLE]) {
    session.wait(20_000);
    session.receive(sign);
  }
  assertAfter(30_000, session, "signals", [[], ["SIGTERM tree"]]);
});

Deno.test("timeout stops a turn with Escape, whatever the start limit", () => {
  const session = run({ startTimeoutMs: 5000, timeoutMs: 100_000 }, BUSY);
  assertAfter(100_000, session, "typed", ["", ".\x1b"]);
  session.receive(INTERRUPTED);
  assertEquals(session.signals, ["SIGTERM tree"]);
  assertEquals(session.exit(), { kind: "timeout" });
});

Deno.test("SIGINT presses Escape and waits for the text so far", () => {
  const session = run({}, BUSY, signal("SIGINT"));
  // Claude Code puts a prompt back into an empty input box if it is stopped before its first words.
  assertEquals([session.typed, session.signals], [".\x1b", []]);
  // Escape ends the child's tools; the processes they started cannot be found afterwards.
  const types = session.effects.map(({ type }) => type);
  assert(types.includes("note-tools") && types.indexOf("note-tools") < types.lastIndexOf("write"));
  session.receive(IDLE, hook("PostToolUse"));
  session.wait(999);
  assertEquals(session.signals, []);
  session.receive(INTERRUPTED);
  assertEquals(session.signals, ["SIGTERM tree"]);
  assertEquals(session.exit(), { kind: "interrupted", signal: "SIGINT" });
});

Deno.test("SIGTERM keeps the prompt and waits 300 ms", () => {
  const session = run({}, BUSY, signal("SIGTERM"), IDLE);
  assertEquals(session.typed, "\x1b");
  assertAfter(300, session, "signals", [[], ["SIGTERM tree"]]);
});

Deno.test("child that ignores Escape is killed after 3 s", () => {
  const session = run({}, BUSY, signal("SIGTERM"));
  session.wait(2499);
  assertEquals(session.signals, ["SIGTERM tree", "SIGTERM"]);
  session.wait(501);
  assertEquals(session.signals.slice(0, 3), ["SIGTERM tree", "SIGTERM", "SIGKILL tree"]);
});

Deno.test("second signal kills the child and its tools", () => {
  for (const [inputs, signals] of [[[BUSY], []], [[], ["SIGTERM tree"]]] as const) {
    const session = run({}, ...inputs, signal("SIGINT"));
    assertEquals(session.signals, signals);
    session.receive(signal("SIGINT"));
    assertEquals(session.signals, [...signals, "SIGKILL tree"]);
    assertEquals(session.exit(), { kind: "interrupted", signal: "SIGINT" });
  }
});

Deno.test("answer that completes before Escape ends the run", () => {
  assertEquals(run({}, BUSY, signal("SIGINT"), stop()).signals, ["SIGTERM tree"]);
});

Deno.test("silence ends a turn without output, tools or background tasks", () => {
  const session = run({ idleTimeoutMs: 1000 }, BUSY);
  for (let time = 0; time < 5; time++) {
    session.wait(900);
    session.show(".");
  }
  session.receive(called("t1", "t2"));
  session.wait(3_000_000);
  session.receive(returned("t1"));
  session.wait(500_000);
  session.receive(returned("t2"), stop(undefined, { background_tasks: [{ id: "b" }] }));
  session.wait(50_000);
  session.receive(submit("hello there"));
  assertAfter(1000, session, "typed", ["", ".\x1b"]);
  session.wait(1000);
  assertEquals(session.exit(), { kind: "silent" });
});

Deno.test("time in which this program was stopped is no silence", () => {
  const session = run({ idleTimeoutMs: 1000 }, BUSY);
  session.wait(900);
  session.sleep(60_000);
  session.wait(90);
  assertEquals(session.typed, "");
  session.show(".");
  assertAfter(1000, session, "typed", ["", ".\x1b"]);
});

Deno.test("child that ignores SIGTERM is reminded, killed and abandoned", () => {
  const session = answered();
  session.wait(999);
  assertEquals(session.signals, ["SIGTERM"]);
  session.wait(4000);
  const reminded = Array<string>(5).fill("SIGTERM");
  assertEquals(session.signals, reminded);
  session.wait(1);
  assertEquals(session.signals, [...reminded, "SIGKILL tree"]);
  session.wait(60_000);
  assertEquals(session.ending?.kind, "answered");
  const hurried = answered({ exitTimeoutMs: 700 });
  assertAfter(700, hurried, "signals", [["SIGTERM"], ["SIGTERM", "SIGKILL tree"]]);
});

Deno.test("child with an unwritten answer gets 30 s more", () => {
  const late = unwritten();
  late.wait(34_999);
  assertEquals(new Set(late.signals), new Set(["SIGTERM"]));
  late.wait(1);
  assertEquals(late.signals.at(-1), "SIGKILL tree");
  const written = unwritten();
  written.wait(12_000);
  written.receive(PROMPT, answer("hi"));
  assertEquals(written.signals.at(-1), "SIGTERM");
  written.wait(1000);
  assertEquals(written.signals.at(-1), "SIGKILL tree");
});

Deno.test("signals shorten the wait for an unwritten answer", () => {
  const session = unwritten();
  for (const [ms, last] of [[4000, "SIGTERM"], [3000, "SIGKILL tree"]] as const) {
    session.wait(ms);
    session.receive(signal("SIGINT"));
    assertEquals(session.signals.at(-1), last);
  }
});

Deno.test("child receives a new terminal size", () => {
  const size = { rows: 24, cols: 80 };
  assertEquals(run({}, { type: "resized", size }).effects.at(-1), { type: "resize", size });
});

Deno.test("hooks that cannot be recorded end the turn", () => {
  const unheard = { type: "unheard" } as const;
  assertEquals(run({}, BUSY, unheard, unheard, INTERRUPTED, EXIT).ending, { kind: "unheard" });
  const told = run({}, BUSY, stop(), unheard, EXIT);
  told.wait(2000);
  assertEquals(told.ending?.kind, "answered", "its end was known before");
});

Deno.test("prompt taken as another text ends the run", () => {
  for (const inject of ["stdin", "paste"] as const) {
    // A path begins as a command does.
    const rows = [["x\u200by", "xy"], ["/etc/\u200bhosts", "/etc/hosts"]] as const;
    for (const [prompt, taken] of rows) {
      const session = run({ inject, prompt }, IDLE, submit(taken), EXIT);
      assertEquals(session.ending, { kind: "undelivered", taken });
    }
  }
});

Deno.test("turn limit stops the run after its last request", () => {
  const batch = (payload = {}) => hook("PostToolBatch", payload, "7");
  const background = stop(undefined, { background_tasks: [{ id: "b" }] });
  const session = run(
    { maxTurns: 2 },
    ...[BUSY, batch(), batch({ agent_id: "a1" }), background, batch()],
  );
  assertEquals(session.replies, [undefined, undefined, undefined]);
  session.receive(batch());
  assertEquals(session.replies.at(-1)?.["continue"], false);
  session.receive(PROMPT, COMPLETED, IDLE);
  assertEquals(session.signals, ["SIGTERM"]);
  assertEquals(session.exit(), { kind: "max-turns" });
  const second = run({ maxTurns: 2, requestsMade: 1 }, BUSY, batch());
  assertEquals(second.replies.at(-1)?.["continue"], false, "another child made the first one");
});

Deno.test("Stop hooks cannot continue a turn beyond its limit", () => {
  const end = (payload = {}) => stop(undefined, payload, "stop");
  const session = run({ maxTurns: 2, otherStopHooks: true }, BUSY, end());
  assertEquals(session.replies, [undefined], "one more request is left");
  session.receive(end({ stop_hook_active: true }));
  assertEquals(session.replies.at(-1)?.["continue"], false);
  // The text of the other hook is written after the answer.
  session.receive(PROMPT, answer("done"), IDLE);
  assertEquals(session.signals, []);
  session.receive(COMPLETED);
  assertEquals(session.signals, ["SIGTERM"]);
  assertEquals(run({ maxTurns: 1 }, BUSY, end()).replies, [undefined], "no other hook exists");
  const tools = run({ maxTurns: 2 }, BUSY, end(), hook("PostToolBatch", {}, "7"));
  assertEquals(tools.replies.at(-1)?.["continue"], false, "the continued turn counts on");
});
