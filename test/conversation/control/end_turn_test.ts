import { assertEquals } from "@std/assert";
import { announces } from "../../../src/conversation/control/end_session.ts";
import { tickMs } from "../../../src/conversation/control/wait_times.ts";
import { answer, called, COMPLETED, line, PROMPT, returned, userLine } from "./lines.ts";
import { CLOSED, message } from "./caller_inputs.ts";
import {
  BUSY,
  COST,
  EXIT,
  exit,
  type Given,
  hook,
  IDLE,
  REACHABLE,
  signal,
  status,
  stop,
  submit,
  VERSION,
} from "./inputs.ts";
import {
  assertAfter,
  rested,
  run,
  simulate,
  type Simulation,
  type SimulationOptions,
} from "./simulation.ts";

const FAILURE = hook("StopFailure", { error: "rate_limit" });
/** No shell and no subagent has run. */
const UNUSED = { type: "shells", ids: [], unused: true } as const;
const sessionEnd = (id: string) => hook("SessionEnd", { reason: "other" }, id);
const tasks = (...background_tasks: readonly object[]) => ({ background_tasks });

/** The line about a Stop hook that has made the assistant go on, of a time in milliseconds since the epoch. */
const blockedStop = (at: number) =>
  line({
    ...{ type: "system", subtype: "stop_hook_summary", hookErrors: ["Go on"] },
    timestamp: new Date(at).toISOString(),
  });

/** Receives inputs of which only the last ends the run. */
function lastEnds(session: Simulation, ...inputs: readonly Given[]): void {
  for (const input of inputs) {
    assertEquals(session.signals, []);
    session.receive(input);
  }
  assertEquals(session.signals, ["SIGTERM"]);
}

/** How a run ends with these inputs and its child's exit. */
function endingOf(options: SimulationOptions, ...inputs: readonly Given[]) {
  const session = run(options, ...inputs);
  session.wait(3000);
  session.receive(EXIT);
  return session.ending;
}

Deno.test("announces() compares a last message with a text", () => {
  const rows = [
    ["Done.", "Done.", true],
    ["Done.", "\n Done.\n\n", true],
    ["I shall look.\n\nDone.", "Done.", true],
    ["I shall look.\n\nDone.", "I shall look.", false],
    ["Done.", "", false],
    ["Done.", " \n", false],
    ["", "Done.", false],
  ] as const;
  for (const [message, text, expected] of rows) {
    assertEquals(announces(message, text), expected, JSON.stringify([message, text]));
  }
});

Deno.test("Stop, idle status and exit end a run", () => {
  const session = run({}, PROMPT, BUSY, answer("hi"));
  lastEnds(session, stop("hi"), IDLE);
  assertEquals(session.ending, undefined);
  assertEquals(session.exit(), { kind: "answered", stop: { last_assistant_message: "hi" } });
});

Deno.test("turn ends after idle status, prompt and answer", () => {
  const text = answer("It is written.");
  const orders = [[IDLE, PROMPT, text], [IDLE, text, PROMPT], [PROMPT, IDLE, text]] as const;
  for (const order of [...orders, ...orders.map((inputs) => inputs.toReversed())]) {
    for (const event of ["Stop", "StopFailure"]) {
      const session = run({}, BUSY, answer("I shall look."));
      session.receive(hook(event, { last_assistant_message: "I shall look.\n\nIt is written." }));
      lastEnds(session, ...order);
    }
  }
});

Deno.test("text before a tool result is not the final answer", () => {
  const session = run({}, BUSY, PROMPT, answer("Done."), called("1"), returned("1"));
  lastEnds(session, stop("Done."), IDLE, answer("Done."));
});

Deno.test("turn_duration line ends its own turn only", () => {
  const session = run({}, PROMPT, COMPLETED);
  lastEnds(session, submit("<task>"), stop("another answer"), IDLE, COMPLETED);
});

Deno.test("turn_duration line without a hook ends the turn", () => {
  assertEquals(endingOf({}, PROMPT, BUSY, COMPLETED, IDLE), { kind: "answered", stop: {} });
});

Deno.test("idle status from before the Stop hook does not count", () => {
  const answered = () => run({}, PROMPT, answer("hi"));
  const ended = { ...stop("hi"), ranAt: 1000 };
  const at = (updatedAt: number, name = "idle") => ({ ...status(name), updatedAt });
  // On a busy machine the status of the start remains until after the Stop hook of a short turn.
  const early = run({}, PROMPT, answer("hi"), at(900), ended, answer("hi"));
  assertEquals(early.signals, []);
  const late = answered();
  late.receive(ended, { ...at(900), version: "2.1.285" });
  assertEquals(late.state.version, "2.1.285");
  lastEnds(late, at(950, "busy"), at(1030));
  lastEnds(answered(), at(1030), ended);
  // What the model says may be displayed after that.
  lastEnds(answered(), ended, { ...hook("MessageDisplay"), ranAt: 1060 }, at(1030));
});

const ticks = ({ state }: Simulation) => [tickMs(state), tickMs(state, { isWatched: false })];

Deno.test("files are read often at the end of a turn", () => {
  const session = simulate({ conversation: true });
  assertEquals(ticks(session), [50, 200]);
  session.receive(IDLE);
  assertEquals(ticks(session), [500, 500]);
  session.receive(REACHABLE);
  assertEquals(ticks(session), [5000, 5000], "nobody has sent anything yet");
  session.receive(message("hi"), PROMPT, submit("hi"));
  assertEquals(ticks(session), [50, 200]);
  session.receive(stop());
  assertEquals(ticks(session), [5, 5]);
  const kept = stopped();
  kept.receive(UNUSED);
  assertEquals(ticks(kept), [50, 50]);
  kept.receive(sessionEnd("7"));
  assertEquals(ticks(kept), [5, 5]);
});

/** A child that is kept at its end and has announced that, with nothing in the transcript. */
const stopped = (options: SimulationOptions = {}) =>
  run({ keptAtEnd: true, ...options }, IDLE, BUSY, stop("hi"));

Deno.test("kept child exits once its prompt and answer are written", () => {
  const session = stopped();
  assertEquals(session.of("list-shells").length, 1);
  lastEnds(session, UNUSED);
  // On a busy machine the prompt's line can come after those of the answer.
  for (const input of [sessionEnd("7"), called("1"), answer("hi"), PROMPT]) {
    assertEquals(session.answered, []);
    session.receive(input);
  }
  session.receive(EXIT);
  assertEquals([session.ending?.kind, session.answered], ["answered", ["7"]]);
});

Deno.test("kept child exits after 1.4 s without its lines", () => {
  const session = stopped();
  session.receive(UNUSED, sessionEnd("8"));
  assertAfter(1400, session, "answered", [[], ["8"]]);
  assertEquals(session.exit(), undefined, "its last lines may still come");
  session.receive(answer("hi"));
  assertEquals(session.ending?.kind, "answered");
});

Deno.test("child whose turn is written gets SIGTERM at Stop", () => {
  const session = run({ keptAtEnd: true }, IDLE, PROMPT, BUSY, answer("hi"));
  lastEnds(session, stop("hi"));
  session.receive(sessionEnd("1"));
  assertEquals(session.answered, ["1"]);
});

Deno.test("kept child with background work gets SIGTERM after its lines", () => {
  const session = stopped();
  lastEnds(session, { type: "shells", ids: [] }, PROMPT, answer("hi"));
});

Deno.test("conversation's child gets SIGTERM after its last Stop hook", () => {
  const session = run({ keptAtEnd: true, conversation: true });
  const idle = (updatedAt: number) => ({ ...IDLE, updatedAt });
  session.receive(idle(500), submit("x"), CLOSED, { ...stop("hi", {}, "3"), ranAt: 1000 });
  assertEquals([session.answered, session.of("list-shells").length], [["3"], 1]);
  lastEnds(session, UNUSED, idle(900), idle(1030));
  for (const input of [sessionEnd("7"), answer("hi"), PROMPT]) {
    session.receive(input);
    assertEquals(session.answered, input === PROMPT ? ["3", "7"] : ["3"]);
  }
});

Deno.test("SIGTERM waits for idle status where the turn may continue", () => {
  const begun = [IDLE, PROMPT, BUSY];
  const turn = [...begun, answer("hi"), stop("hi"), UNUSED];
  const cases: readonly [SimulationOptions, readonly Given[]][] = [
    [{ keptAtEnd: true, otherStopHooks: true }, turn],
    [{}, turn],
    [{ keptAtEnd: true }, [...begun, FAILURE, UNUSED]],
    [{ keptAtEnd: true }, [...begun, stop("", tasks({ id: "b1", type: "shell" })), UNUSED]],
  ];
  for (const [options, inputs] of cases) assertEquals(run(options, ...inputs).signals, []);
});

Deno.test("child that exits by itself is not kept", () => {
  const session = run({ keptAtEnd: true }, IDLE, PROMPT, BUSY, sessionEnd("1"));
  assertEquals([session.answered, session.signals], [["1"], []]);
});

Deno.test("run with limits waits 1.5 s for the status line", () => {
  // The first cost belongs to another answer.
  const turn = [IDLE, PROMPT, BUSY, COST, answer("hi"), stop("hi"), IDLE];
  lastEnds(run({ asksStatus: true }, ...turn), COST);
  const silent = run({ asksStatus: true }, ...turn);
  assertAfter(1500, silent, "signals", [[], ["SIGTERM"]]);
  lastEnds(stopped({ asksStatus: true }), UNUSED, COST);
});

Deno.test("turn limit ends a run once its tools are written", () => {
  const lines = [PROMPT, called("1"), returned("1"), COMPLETED];
  for (let before = 0; before <= lines.length; before++) {
    const session = run({ maxTurns: 1 }, BUSY, ...lines.slice(0, before), hook("PostToolBatch"));
    lastEnds(session, IDLE, ...lines.slice(before));
    assertEquals(session.exit(), { kind: "max-turns" });
  }
});

Deno.test("turn limit ends a turn whose Stop was blocked", () => {
  const session = run({ maxTurns: 2, otherStopHooks: true }, PROMPT, BUSY, answer("hi"));
  const blocked = userLine("Stop hook feedback:\nNo.", { isMeta: true });
  session.receive(stop("hi"), blocked, called("1"), returned("1"), hook("PostToolBatch"));
  lastEnds(session, IDLE, COMPLETED);
  assertEquals(session.exit(), { kind: "max-turns" });
});

Deno.test("turn limit ends a conversation's turn, not the child", () => {
  const session = rested({ maxTurns: 1 });
  session.receive(message("hello there"), submit("hello there"), BUSY, PROMPT);
  session.receive(hook("PostToolBatch", {}, "batch"), COST);
  for (const input of [IDLE, called("1"), returned("1"), COMPLETED]) {
    assertEquals(session.turns, []);
    session.receive(input);
  }
  assertEquals([session.turns, session.signals], [["max-turns"], []]);
});

Deno.test("Stop with background tasks does not end the run", () => {
  const session = run({}, PROMPT, stop(undefined, tasks({ id: "b1", type: "shell" })), IDLE);
  session.wait(60_000);
  lastEnds(session, submit("<task-notification>"), stop(undefined, tasks()), IDLE);
});

Deno.test("another Stop hook delays the end until idle status", () => {
  lastEnds(run({ otherStopHooks: true }, PROMPT), stop(), BUSY, IDLE);
  for (const last of [IDLE, COMPLETED]) {
    const session = run({ otherStopHooks: true }, BUSY, PROMPT, stop());
    session.wait(300_000);
    lastEnds(session, last, ...(last === COMPLETED ? [IDLE] : []));
  }
});

Deno.test("another Stop hook can make the assistant continue", () => {
  const first = stop(undefined, { n: 1 });
  const session = run({ otherStopHooks: true }, first, hook("PermissionRequest"));
  session.wait(60_000);
  assertEquals(session.signals, []);
  const last = { n: 2, stop_hook_active: true };
  session.receive(stop(undefined, last), IDLE, EXIT);
  assertEquals(session.ending, undefined, "the transcript may lag behind");
  session.wait(2000);
  assertEquals(session.ending, { kind: "answered", stop: last });
});

Deno.test("line about a blocked Stop shows that the turn goes on", () => {
  // On a busy machine the line may be read after the next Stop.
  for (const [stoppedAt, ends] of [[1000, false], [1001, true]] as const) {
    const session = rested({ otherStopHooks: true });
    session.receive(message("hi"), submit("hi"), PROMPT, answer("hm"));
    session.receive({ ...stop("hm"), ranAt: stoppedAt }, blockedStop(1000));
    session.receive({ ...IDLE, updatedAt: 2000 }, COST, COMPLETED);
    assertEquals(session.turns, ends ? ["answered"] : [], `${stoppedAt}`);
  }
});

Deno.test("turn that another Stop hook continues can fail", () => {
  const session = rested({ otherStopHooks: true });
  session.receive(message("hi"), submit("hi"), PROMPT, answer("yes"), stop("yes"));
  session.receive(answer("API Error"), FAILURE, IDLE, COST);
  assertEquals(session.turns, ["failed"]);
});

Deno.test("child that exits while another Stop hook runs has answered", () => {
  const session = run({ otherStopHooks: true }, stop(), EXIT);
  session.wait(2000);
  assertEquals(session.ending?.kind, "answered");
});

Deno.test("conversation with other Stop hooks waits for the turn_duration line", () => {
  const session = rested({ otherStopHooks: true });
  session.receive(message("hi"), submit("hi"), PROMPT, answer("yes"), stop("yes"), COST, IDLE);
  assertEquals(session.turns, []);
  session.receive(COMPLETED);
  assertEquals(session.turns, ["answered"]);
});

Deno.test("goal delays the end until the child is idle", () => {
  const goal = (met: boolean) =>
    line({ type: "attachment", attachment: { type: "goal_status", met } });
  const earlier = (met: boolean) => ({ type: "earlier", entries: [goal(met).entry] }) as const;
  const set = userLine("<local-command-stdout>Goal set: win</local-command-stdout>");
  const cases: readonly [string, readonly Given[], boolean][] = [
    ["/goal win", [PROMPT, set], true],
    ["hello there", [earlier(false), PROMPT], true],
    ["hello there", [earlier(true), PROMPT], false],
  ];
  for (const [prompt, inputs, isDelayed] of cases) {
    const session = run({ prompt }, { ...BUSY, version: VERSION }, ...inputs, stop());
    session.wait(60_000);
    assertEquals(session.signals.length === 0, isDelayed, prompt);
    session.receive(goal(true), IDLE);
    assertEquals(session.signals[0], "SIGTERM");
  }
});

Deno.test("waits for the end of a turn are bounded", () => {
  const text = stop("lost");
  const cases: readonly [number, SimulationOptions, readonly Given[]][] = [
    [1500, {}, [text, IDLE]],
    [1500, { otherStopHooks: true, drainTimeoutMs: 60_000 }, [text, IDLE]],
    [4000, {}, [stop()]],
    [4000, {}, [FAILURE]],
    [10_000, { otherStopHooks: true }, [stop()]],
    [7000, { otherStopHooks: true, drainTimeoutMs: 7000 }, [stop()]],
  ];
  for (const [ms, options, inputs] of cases) {
    assertAfter(ms, run(options, ...inputs), "signals", [[], ["SIGTERM"]]);
  }
});

Deno.test("StopFailure fails the run once the child is idle", () => {
  const session = run({}, PROMPT);
  lastEnds(session, FAILURE, IDLE);
  assertEquals(session.exit(), { kind: "failed", failure: { error: "rate_limit" } });
  lastEnds(simulate(), FAILURE, status("waiting", "dialog open"));
  assertEquals(run({}, FAILURE, EXIT).ending?.kind, "failed");
});

Deno.test("StopFailure of a compaction agent does not end the turn", () => {
  const session = run({}, PROMPT, hook("PreCompact", { trigger: "auto" }));
  session.receive({ ...FAILURE, payload: { ...FAILURE.payload, agent_id: "a" } });
  session.wait(30_000);
  assertEquals(session.signals, []);
  session.receive(
    line({ type: "system", subtype: "compact_boundary", version: "2.1.285" }),
    userLine("So far", { isCompactSummary: true }),
    ...[answer("Done"), stop("Done"), IDLE, EXIT],
  );
  assertEquals(session.ending?.kind, "answered");
});

const KNOWN_BUSY = { ...BUSY, version: VERSION };
/** The line of a command that Claude Code carries out by itself. */
const COMMAND = userLine("<command-name>/compact</command-name>");
/** The lines of such a command's output, in both ways in which Claude Code writes it. */
const outputs = (text: string) => {
  const content = `<local-command-stdout>${text}</local-command-stdout>`;
  return [userLine(content), line({ type: "system", subtype: "local_command", content })];
};

Deno.test("output of a typed command ends its turn", () => {
  for (const output of outputs("Done")) {
    const rows = [
      ["/compact x", [output, IDLE]],
      ["/skill-of-the-user", [IDLE, output]],
      ["/code-review high", [IDLE, output]],
    ] as const;
    for (const [prompt, last] of rows) {
      const session = run({ prompt }, IDLE, KNOWN_BUSY, COMMAND);
      lastEnds(session, ...last);
      assertEquals(session.exit(), { kind: "answered", stop: {} });
    }
  }
  const content = "<command-name>/rename</command-name>";
  const renamed = run({ prompt: "/rename" }, KNOWN_BUSY);
  const own = line({ type: "system", subtype: "local_command", content });
  lastEnds(renamed, own, ...outputs("Session renamed to: It").slice(1), IDLE);
});

Deno.test("typed command ends its turn after its cost", () => {
  for (const options of [{ asksStatus: true }, { conversation: true }] as const) {
    const session = run({ prompt: "/compact", ...options }, REACHABLE, IDLE);
    if (!("asksStatus" in options)) session.receive(message("/compact", { command: "/compact" }));
    session.receive(KNOWN_BUSY, COMMAND, ...outputs("Done").slice(0, 1));
    assertEquals(session.typed, "");
    session.receive(IDLE);
    const isOver = () => session.signals.length + session.turns.length > 0;
    assertEquals([session.typed, isOver()], ["?\x7f", false]);
    session.receive(COST);
    assertEquals(isOver(), true);
  }
});

Deno.test("hook that stops the turn after a tool ends it", () => {
  const halted = line({ type: "attachment", attachment: { type: "hook_stopped_continuation" } });
  const session = run({}, BUSY, PROMPT, called("1"), returned("1"));
  lastEnds(session, halted, COMPLETED, IDLE);
  assertEquals(session.exit(), { kind: "answered", stop: {} });
});

Deno.test("output of a command does not end another turn", () => {
  const rows = [
    ["hello there", "Done"],
    ["/init", "Done"],
    // Its subagent still works.
    ["/skill-of-the-user", "Running in the background as @it"],
  ] as const;
  for (const [prompt, text] of rows) {
    const session = run({ prompt }, KNOWN_BUSY, PROMPT, ...outputs(text), IDLE);
    assertEquals(session.signals, [], prompt);
  }
});

Deno.test("exit before Stop ends the run with the child's status", () => {
  const session = run({}, exit(1));
  assertEquals(session.ending, { kind: "exited", exit: { kind: "exited", code: 1 } });
});

Deno.test("blocked prompt ends its turn once the child is idle", () => {
  const content = "UserPromptSubmit operation blocked by hook:\nno";
  const fields = { type: "system", subtype: "informational", preventContinuation: true, content };
  const after = line({ type: "last-prompt" });
  for (const inputs of [[line(fields), IDLE], [IDLE, line(fields)], [line(fields), after, IDLE]]) {
    const session = simulate();
    lastEnds(session, ...inputs);
    assertEquals(session.exit(), { kind: "blocked", text: content });
  }
  assertEquals(run({}, line(fields), PROMPT, IDLE).signals, [], "another prompt follows");
  const [one, two] = ["one", "two"].map((text) => message(text, { ticket: text }));
  for (const taken of [[], [submit("one")]]) {
    const session = rested();
    for (const input of [one, ...taken, two, line(fields), IDLE]) {
      if (input !== undefined) session.receive(input);
    }
    assertEquals([session.turns, session.tickets], [["blocked"], [["one"]]]);
  }
});

Deno.test("child that becomes idle without a hook ends the run", () => {
  const unknown = line({
    type: "system",
    subtype: "informational",
    content: "Unknown command: /nonsense",
    level: "warning",
  });
  const ending = (prompted: boolean) => ({ kind: "idle", prompted }) as const;
  assertEquals(endingOf({}, PROMPT, BUSY, IDLE), ending(true));
  assertEquals(endingOf({ prompt: "/nonsense" }, IDLE), ending(false));
  assertEquals(endingOf({ prompt: "/" }, IDLE, PROMPT), ending(true));
  const conversation = rested();
  conversation.receive(message("/nonsense", { ticket: "1", command: "/nonsense" }), IDLE);
  conversation.wait(3000);
  assertEquals([conversation.turns, conversation.tickets], [["idle"], [["1"]]]);
  const pasted = run({ prompt: "/nonsense", inject: "paste" }, IDLE);
  pasted.show("❯ /nonsense");
  pasted.receive(line({ type: "last-prompt" }));
  pasted.wait(3000);
  assertEquals(pasted.signals, [], "the child has not said anything");
  pasted.receive(unknown);
  pasted.wait(3000);
  assertEquals(pasted.exit(), ending(false));
});

Deno.test("child that draws before it reports busy is waited for", () => {
  const session = run({}, IDLE, PROMPT);
  for (let draws = 0; draws < 5; draws++) {
    session.wait(2500);
    session.show("…");
  }
  session.receive(BUSY);
  session.wait(10_000);
  assertEquals(session.signals, []);
});

Deno.test("unknown hooks, statuses and lines prove only life", () => {
  const session = run({ startTimeoutMs: 1000 }, hook("SomethingNew"), status("dreaming"));
  session.receive(line({ type: "something-new" }));
  session.wait(100_000);
  assertEquals(session.signals, []);
});

Deno.test("signal after the answer keeps the answer", () => {
  for (const last of [[stop()], [stop(), IDLE]]) {
    const session = run({}, ...last, signal("SIGTERM"));
    assertEquals(session.signals, ["SIGTERM"]);
    session.receive(EXIT);
    session.wait(2000);
    assertEquals(session.ending?.kind, "answered");
  }
});
