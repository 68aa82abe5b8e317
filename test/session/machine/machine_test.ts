import { assert, assertEquals } from "@std/assert";
import { denial, STOP } from "../../../src/session/hook_answers.ts";
import { denialWords } from "../../../src/transcript/turn/denial_words.ts";
import { tickMs } from "../../../src/session/turn/waits.ts";
import { simulate, type Simulation } from "../simulation.ts";
import {
  answer,
  called,
  COMPLETED,
  INTERRUPTED,
  line,
  PROMPT,
  returned,
} from "../../transcript/lines.ts";

const EXIT = { type: "exit", exit: { kind: "exited", code: 143 } } as const;
const stop = (
  payload: Record<string, unknown> = {},
) => ({ type: "hook", event: "Stop", payload } as const);
const status = (
  name: string,
  waitingFor?: string,
) => ({
  type: "status",
  status: name,
  ...(waitingFor === undefined ? {} : { waitingFor }),
} as const);
Deno.test("Stop ends the turn, SIGTERM the idle child, its exit the session", () => {
  const session = simulate();
  session.hear(PROMPT);
  session.hear(status("busy"));
  session.hear(answer("hi"));
  session.hear(stop({ last_assistant_message: "hi" }));
  assertEquals(session.signals(), []);
  session.hear(status("idle"));
  assertEquals(session.signals(), ["SIGTERM"]);
  assertEquals(session.ending(), undefined);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "answered", stop: { last_assistant_message: "hi" } });
});

const sessionEnd = (id: string) => ({
  type: "hook",
  event: "SessionEnd",
  payload: { reason: "other" },
  id,
} as const);
const UNUSED = { type: "shells", ids: [], unused: true } as const;
/** Which hooks have been answered. */
const answered = ({ effects }: Simulation) =>
  effects.flatMap((effect) => effect.type === "answer" ? [effect.id] : []);
/** A child whose turn is under way, and which is kept at its end. */
const begun = (options: Parameters<typeof simulate>[0] = {}) => {
  const session = simulate({ keptAtEnd: true, ...options });
  session.hear(status("idle"));
  session.hear(PROMPT);
  session.hear(status("busy"));
  return session;
};
/** The same once its end has been announced, with nothing of it in the transcript. */
const stopped = (options: Parameters<typeof simulate>[0] = {}) => {
  const session = simulate({ keptAtEnd: true, ...options });
  session.hear(status("idle"));
  session.hear(status("busy"));
  session.hear(stop({ last_assistant_message: "hi" }));
  assertEquals(session.signals(), []);
  return session;
};

Deno.test("a child is told to go at Stop, and kept until its lines are there", () => {
  const session = stopped();
  assert(session.effects.some(({ type }) => type === "list-shells"));
  session.hear(UNUSED);
  assertEquals(session.signals(), ["SIGTERM"]);
  session.hear(sessionEnd("7"));
  assertEquals(tickMs(session.state()), 5);
  session.hear(called("1"));
  assertEquals(answered(session), []);
  // On a busy machine the prompt's line may come after those of the answer.
  session.hear(answer("hi"));
  assertEquals(answered(session), []);
  session.hear(PROMPT);
  assertEquals(answered(session), ["7"]);
  session.hear(EXIT);
  assertEquals(session.ending()?.kind, "answered");
  assertEquals(answered(session), ["7"]);

  const slow = stopped();
  slow.hear(UNUSED);
  slow.hear(sessionEnd("8"));
  slow.wait(1399);
  assertEquals(answered(slow), []);
  slow.wait(1);
  assertEquals(answered(slow), ["8"]);
  slow.hear(EXIT);
  assertEquals(slow.ending(), undefined);
  slow.hear(answer("hi"));
  assertEquals(slow.ending()?.kind, "answered");
});

Deno.test("a child whose turn is on record is told to go at Stop, and not kept", () => {
  const early = begun();
  early.hear(answer("hi"));
  assertEquals(early.signals(), []);
  early.hear(stop({ last_assistant_message: "hi" }));
  assertEquals(early.signals(), ["SIGTERM"]);
  early.hear(sessionEnd("1"));
  assertEquals(answered(early), ["1"]);
});

Deno.test("the child of a conversation is told to go once it has seen the end of its last Stop hook, and kept", () => {
  const session = simulate({ keptAtEnd: true, conversation: true });
  session.hear({ ...status("idle"), updatedAt: 500 });
  session.hear({ type: "hook", event: "UserPromptSubmit", payload: {} });
  session.hear({ type: "closed" });
  session.hear({ ...stop({ last_assistant_message: "hi" }), id: "3", ranAt: 1000 });
  assertEquals(answered(session), ["3"]);
  assert(session.effects.some(({ type }) => type === "list-shells"));
  session.hear(UNUSED);
  session.hear({ ...status("idle"), updatedAt: 900 });
  assertEquals(session.signals(), []);
  session.hear({ ...status("idle"), updatedAt: 1030 });
  assertEquals(session.signals(), ["SIGTERM"]);
  session.hear(sessionEnd("7"));
  for (const line of [answer("hi"), PROMPT]) {
    assertEquals(answered(session), ["3"]);
    session.hear(line);
  }
  assertEquals(answered(session), ["3", "7"]);
});

Deno.test("a child is told to go once its turn is on record where something may have ended in the background", () => {
  const late = stopped();
  late.hear({ type: "shells", ids: [] });
  late.hear(PROMPT);
  assertEquals(late.signals(), []);
  late.hear(answer("hi"));
  assertEquals(late.signals(), ["SIGTERM"]);
  const background = begun();
  background.hear(stop({ background_tasks: [{ id: "b1", type: "shell" }] }));
  background.hear(UNUSED);
  assertEquals(background.signals(), []);
});

Deno.test("a child is not told to go before it is idle where the turn may go on, failed, or nothing keeps it", () => {
  const others = [begun({ otherStopHooks: true }), simulate()];
  for (const other of others) {
    other.hear(PROMPT);
    other.hear(answer("hi"));
    other.hear(stop({ last_assistant_message: "hi" }));
    other.hear(UNUSED);
    assertEquals(other.signals(), []);
  }
  const failed = begun();
  failed.hear({ type: "hook", event: "StopFailure", payload: {} });
  failed.hear(UNUSED);
  assertEquals(failed.signals(), []);
});

Deno.test("a session that ends in the midst of a conversation is not kept", () => {
  const session = begun();
  session.hear(sessionEnd("1"));
  assertEquals(answered(session), ["1"]);
  assertEquals(session.signals(), []);
});

const TOLD = { type: "cost", totalUsd: 1, apiDurationMs: 1 } as const;

Deno.test("where results tell of limits, a turn is over once the status line has been heard, or not in time", () => {
  for (const version of ["2.1.285", "2.1.332"]) {
    const begun = () => {
      const session = simulate({ asksStatus: true });
      session.hear({ ...status("idle"), version });
      session.hear(PROMPT);
      session.hear(status("busy"));
      // What it told before is of another answer.
      session.hear(TOLD);
      session.hear(answer("hi"));
      session.hear(stop({ last_assistant_message: "hi" }));
      session.hear(status("idle"));
      assertEquals(session.signals(), [], version);
      return session;
    };
    const told = begun();
    told.hear(TOLD);
    assertEquals(told.signals(), ["SIGTERM"], version);
    const silent = begun();
    silent.wait(1500);
    assertEquals(silent.signals(), ["SIGTERM"], version);
  }
});

Deno.test("a child is told to go at Stop as soon as the status line has been heard", () => {
  const session = stopped({ asksStatus: true });
  session.hear(UNUSED);
  assertEquals(session.signals(), []);
  session.hear(TOLD);
  assertEquals(session.signals(), ["SIGTERM"]);
});

Deno.test("a turn is over at its limit once the child is idle and all is on record, in any order", () => {
  const lines = [PROMPT, called("1"), returned("1"), COMPLETED];
  for (let before = 0; before <= lines.length; before++) {
    const session = simulate({ maxTurns: 1 });
    session.hear(status("busy"));
    const batch = { type: "hook", event: "PostToolBatch", payload: {} } as const;
    for (const input of [...lines.slice(0, before), batch]) session.hear(input);
    for (const input of [status("idle"), ...lines.slice(before)]) {
      assertEquals(session.signals(), [], `${before}`);
      session.hear(input);
    }
    assertEquals(session.signals(), ["SIGTERM"], `${before}`);
    assertEquals(session.effects.some((effect) => effect.type === "kill" && effect.tree), false);
    session.hear(EXIT);
    assertEquals(session.ending(), { kind: "max-turns" });
  }
});

Deno.test("in a conversation, too, a turn is over at its limit once its tools are on record", () => {
  const session = simulate({ conversation: true, version: "2.1.332", maxTurns: 1 });
  const turns = () => session.effects.filter(({ type }) => type === "turn").length;
  session.hear({ type: "reachable" });
  session.hear(status("idle"));
  session.hear({ type: "message", message: { text: "hello there", way: "rendezvous" } });
  session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "hello there" } });
  session.hear(status("busy"));
  session.hear(PROMPT);
  session.hear({ type: "hook", event: "PostToolBatch", payload: {}, id: "batch" });
  session.hear(TOLD);
  for (const input of [status("idle"), called("1"), returned("1")]) {
    session.hear(input);
    assertEquals(turns(), 0);
  }
  session.hear(COMPLETED);
  assertEquals(turns(), 1);
  assertEquals(session.signals(), []);
});

Deno.test("Stop with tasks in the background is not the end, nor is being idle meanwhile", () => {
  const session = simulate();
  session.hear(PROMPT);
  session.hear(stop({ background_tasks: [{ id: "b1", type: "shell", status: "running" }] }));
  session.hear(status("idle"));
  session.wait(60_000);
  assertEquals(session.signals(), []);
  session.hear({
    type: "hook",
    event: "UserPromptSubmit",
    payload: { prompt: "<task-notification>" },
  });
  session.hear(stop({ background_tasks: [] }));
  session.hear(status("idle"));
  assertEquals(session.signals(), ["SIGTERM"]);
});

Deno.test("with other Stop hooks about, Stop counts once the child is idle", () => {
  const session = simulate({ otherStopHooks: true });
  session.hear(PROMPT);
  session.hear(stop());
  session.hear(status("busy"));
  assertEquals(session.signals(), []);
  session.hear(status("idle"));
  assertEquals(session.signals(), ["SIGTERM"]);
});

Deno.test("other Stop hooks are waited for as long as the child is busy with them", () => {
  const completed = line({ type: "system", subtype: "turn_duration" });
  for (const last of [status("idle"), completed]) {
    const session = simulate({ otherStopHooks: true });
    session.hear(status("busy"));
    session.hear(PROMPT);
    session.hear(stop());
    session.wait(300_000);
    assertEquals(session.signals(), []);
    session.hear(last);
    session.wait(10_000);
    assertEquals(session.signals()[0], "SIGTERM");
  }
});

Deno.test("a Stop counts once the child is idle as long as the session has a goal", () => {
  const goal = (met: boolean) => ({ type: "attachment", attachment: { type: "goal_status", met } });
  const earlier = (
    met: boolean,
  ) => ({ type: "earlier", entries: [line(goal(met)).entry] } as const);
  const set = simulate({ prompt: "/goal win" });
  const resumed = simulate();
  resumed.hear(earlier(false));
  const reached = simulate();
  reached.hear(earlier(true));
  for (const session of [set, resumed, reached]) {
    session.hear({ ...status("busy"), version: "2.1.332" });
    session.hear(PROMPT);
    if (session === set) {
      const content = "<local-command-stdout>Goal set: win</local-command-stdout>";
      session.hear(line({ type: "user", message: { content } }));
    }
    session.hear(stop());
    session.wait(60_000);
    assertEquals(session.signals().length > 0, session === reached);
    session.hear(line(goal(true)));
    session.hear(status("idle"));
    assertEquals(session.signals()[0], "SIGTERM");
  }
});

Deno.test("another Stop hook that makes the assistant go on takes the Stop back", () => {
  const session = simulate({ otherStopHooks: true });
  session.hear(stop({ n: 1 }));
  session.hear({ type: "hook", event: "PermissionRequest", payload: {} });
  session.wait(60_000);
  assertEquals(session.signals(), []);
  session.hear(stop({ n: 2, stop_hook_active: true }));
  session.hear(status("idle"));
  session.hear(EXIT);
  assertEquals(session.ending(), undefined, "the transcript may still have something to say");
  session.wait(2000);
  assertEquals(session.ending(), { kind: "answered", stop: { n: 2, stop_hook_active: true } });
});

Deno.test("a turn ends once the child is idle and its prompt and answer are on record, in any order", () => {
  const idle = status("idle");
  const text = answer("It is on record.");
  const orders = [[idle, PROMPT, text], [idle, text, PROMPT], [PROMPT, idle, text]] as const;
  for (const order of [...orders, ...orders.map((inputs) => inputs.toReversed())]) {
    for (const name of ["Stop", "StopFailure"]) {
      const session = simulate();
      session.hear(status("busy"));
      session.hear(answer("I shall look."));
      session.hear({
        type: "hook",
        event: name,
        payload: { last_assistant_message: "I shall look.\n\nIt is on record." },
      });
      for (const input of order) {
        assertEquals(session.signals(), []);
        session.hear(input);
      }
      assertEquals(session.signals(), ["SIGTERM"]);
    }
  }
});

Deno.test("what was said ahead of a tool's result is not on record as the answer that says the same", () => {
  const session = simulate();
  session.hear(status("busy"));
  for (const input of [PROMPT, answer("Done."), called("1"), returned("1")]) session.hear(input);
  session.hear({ type: "hook", event: "Stop", payload: { last_assistant_message: "Done." } });
  session.hear(status("idle"));
  assertEquals(session.signals(), []);
  session.hear(answer("Done."));
  assertEquals(session.signals(), ["SIGTERM"]);
});

Deno.test("a turn whose end is on record ended, whatever its answer was, and no turn before it counts", () => {
  const session = simulate();
  session.hear(PROMPT);
  session.hear(COMPLETED);
  session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "<task>" } });
  session.hear(stop({ last_assistant_message: "told otherwise" }));
  session.hear(status("idle"));
  assertEquals(session.signals(), []);
  session.hear(COMPLETED);
  assertEquals(session.signals(), ["SIGTERM"]);
});

Deno.test("a child was idle at the end of its turn only after the hook that announced it", () => {
  const answered = () => {
    const session = simulate();
    for (const input of [PROMPT, answer("hi")]) session.hear(input);
    return session;
  };
  const ended = { ...stop({ last_assistant_message: "hi" }), ranAt: 1000 };
  const idle = (updatedAt: number) => ({ ...status("idle"), updatedAt });

  // On a busy machine the status of the start is there until after the Stop hook of a short turn.
  const early = answered();
  early.hear(idle(900));
  early.hear(ended);
  assertEquals(early.signals(), []);
  early.hear(answer("hi"));
  assertEquals(early.signals(), []);
  const late = answered();
  late.hear(ended);
  late.hear({ ...idle(900), version: "2.1.285" });
  assertEquals([late.signals(), late.state().version], [[], "2.1.285"]);
  late.hear({ ...status("busy"), updatedAt: 950 });
  assertEquals(late.signals(), []);
  late.hear(idle(1030));
  assertEquals(late.signals(), ["SIGTERM"]);

  const readBefore = answered();
  readBefore.hear(idle(1030));
  readBefore.hear(ended);
  assertEquals(readBefore.signals(), ["SIGTERM"]);
});

Deno.test("files are looked at often while only the idle status is missing, and seldom between turns", () => {
  const session = simulate({ conversation: true });
  assertEquals(tickMs(session.state()), 50);
  session.hear(status("idle"));
  assertEquals(tickMs(session.state()), 500);
  session.hear({ type: "message", message: { text: "hi", way: "rendezvous" } });
  session.hear({ type: "reachable" });
  session.hear(PROMPT);
  session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "hi" } });
  assertEquals(tickMs(session.state()), 50);
  session.hear(stop());
  assertEquals(tickMs(session.state()), 5);
});

Deno.test("files are looked at seldom while nobody hears of a turn before its end, and as often as ever at its end", () => {
  const isHeard = false;
  const session = simulate({ keptAtEnd: true });
  assertEquals(tickMs(session.state(), { isHeard }), 200);
  session.hear(status("idle"));
  session.hear(status("busy"));
  assertEquals([200, 50], [tickMs(session.state(), { isHeard }), tickMs(session.state())]);
  session.hear(stop({ last_assistant_message: "hi" }));
  session.hear(UNUSED);
  assertEquals(tickMs(session.state(), { isHeard }), 50);
  session.hear(sessionEnd("7"));
  assertEquals(tickMs(session.state(), { isHeard }), 5);
});

Deno.test("an idle child whose turn does not get on record is not waited for long", () => {
  const session = simulate({ otherStopHooks: true, drainTimeoutMs: 60_000 });
  session.hear(stop({ last_assistant_message: "lost" }));
  session.wait(20_000);
  session.hear(status("idle"));
  session.wait(1499);
  assertEquals(session.signals(), []);
  session.wait(1);
  assertEquals(session.signals(), ["SIGTERM"]);
});

Deno.test("a turn of a conversation is over once what other Stop hooks have said is on record, and its end behind it", () => {
  const session = simulate({ conversation: true, version: "2.1.332", otherStopHooks: true });
  const turns = () => session.effects.filter(({ type }) => type === "turn").length;
  session.hear(status("idle"));
  session.hear({ type: "message", message: { text: "hi", way: "rendezvous" } });
  session.hear({ type: "reachable" });
  session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "hi" } });
  session.hear(PROMPT);
  session.hear(answer("yes"));
  session.hear(stop({ last_assistant_message: "yes" }));
  session.hear({ type: "cost", totalUsd: 1, apiDurationMs: 1 });
  session.hear(status("idle"));
  assertEquals(turns(), 0);
  session.hear(line({ type: "system", subtype: "turn_duration" }));
  assertEquals(turns(), 1);
});

Deno.test("a Stop whose idle status never comes is taken for the end after a while", () => {
  const session = simulate({ otherStopHooks: true });
  session.hear(stop());
  session.wait(10_000);
  assertEquals(session.signals(), ["SIGTERM"]);
});

const FAILURE = { type: "hook", event: "StopFailure", payload: { error: "rate_limit" } } as const;

Deno.test("StopFailure ends the turn once the child is idle", () => {
  const session = simulate();
  session.hear(PROMPT);
  session.hear(FAILURE);
  assertEquals(session.signals(), []);
  session.hear(status("idle"));
  assertEquals(session.signals(), ["SIGTERM"]);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "failed", failure: { error: "rate_limit" } });
});

Deno.test("StopFailure of an agent beside the turn ends nothing, and its summary is no prompt", () => {
  const session = simulate();
  session.hear(PROMPT);
  session.hear({ type: "hook", event: "PreCompact", payload: { trigger: "auto" } });
  session.hear({ ...FAILURE, payload: { ...FAILURE.payload, agent_id: "a" } });
  session.wait(30_000);
  assertEquals(session.signals(), []);
  session.hear(line({ type: "system", subtype: "compact_boundary", version: "2.1.285" }));
  session.hear(line({ type: "user", isCompactSummary: true, message: { content: "So far" } }));
  session.hear(answer("Done"));
  session.hear(stop({ last_assistant_message: "Done" }));
  session.hear(status("idle"));
  session.hear(EXIT);
  assertEquals(session.ending()?.kind, "answered");
});

/** The lines that Claude Code leaves of a command that it has carried out by itself. */
const COMMAND = line({
  type: "user",
  message: { content: "<command-name>/compact</command-name>" },
});
const outputs = (text: string) => {
  const content = `<local-command-stdout>${text}</local-command-stdout>`;
  return [
    line({ type: "user", message: { content } }),
    line({ type: "system", subtype: "local_command", content }),
  ];
};

Deno.test("the output of a typed /compact or skill ends the turn once the child is idle, without a hook", () => {
  for (const output of outputs("Done")) {
    const early = simulate({ prompt: "/compact x" });
    const late = simulate({ prompt: "/skill-of-the-user" });
    const review = simulate({ prompt: "/code-review high" });
    for (const session of [early, late, review]) {
      session.hear({ ...status("idle"), version: "2.1.332" });
      session.hear(status("busy"));
      session.hear(COMMAND);
    }
    early.hear(output);
    assertEquals(early.signals(), []);
    early.hear(status("idle"));
    for (const session of [late, review]) {
      session.hear(status("idle"));
      assertEquals(session.signals(), []);
      session.hear(output);
    }
    for (const session of [early, late, review]) {
      assertEquals(session.signals(), ["SIGTERM"]);
      session.hear(EXIT);
      assertEquals(session.ending(), { kind: "answered", stop: {} });
    }
  }
});

Deno.test("a command of which the line is one of Claude Code's own is a turn, too", () => {
  const content = "<command-name>/rename</command-name>";
  const session = simulate({ prompt: "/rename" });
  session.hear({ ...status("busy"), version: "2.1.332" });
  session.hear(line({ type: "system", subtype: "local_command", content }));
  for (const output of outputs("Session renamed to: It").slice(1)) session.hear(output);
  session.hear(status("idle"));
  assertEquals(session.signals(), ["SIGTERM"]);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "answered", stop: {} });
});

Deno.test("the output of a command ends no other turn", () => {
  for (
    const [prompt, said] of [
      ["hello there", "Done"],
      ["/init", "Done"],
      // Its subagent is at work yet.
      ["/skill-of-the-user", "Running in the background as @it"],
    ] as const
  ) {
    const session = simulate({ prompt });
    session.hear({ ...status("busy"), version: "2.1.332" });
    session.hear(PROMPT);
    for (const output of outputs(said)) session.hear(output);
    session.hear(status("idle"));
    assertEquals(session.signals(), []);
  }
});

Deno.test("StopFailure ends the turn though a menu waits on the screen", () => {
  const session = simulate();
  session.hear(FAILURE);
  session.hear(status("waiting", "dialog open"));
  assertEquals(session.signals(), ["SIGTERM"]);
});

Deno.test("a child that does not become idle after the end was announced is not waited for long", () => {
  for (const announcement of [stop(), FAILURE]) {
    const session = simulate();
    session.hear(announcement);
    session.wait(3999);
    assertEquals(session.signals(), []);
    session.wait(1);
    assertEquals(session.signals(), ["SIGTERM"]);
  }
});

Deno.test("a child that ends right after StopFailure has failed", () => {
  const session = simulate();
  session.hear(FAILURE);
  session.hear(EXIT);
  assertEquals(session.ending()?.kind, "failed");
});

Deno.test("a child that ends before Stop ends the session with its status", () => {
  const session = simulate();
  session.hear({ type: "exit", exit: { kind: "exited", code: 1 } });
  assertEquals(session.ending(), { kind: "exited", exit: { kind: "exited", code: 1 } });
});

Deno.test("a child that ends right after a Stop that was still settling has answered", () => {
  const session = simulate({ otherStopHooks: true });
  session.hear(stop({ n: 1 }));
  session.hear(EXIT);
  session.wait(2000);
  assertEquals(session.ending()?.kind, "answered");
});

Deno.test("a child that never says anything is given up at the start deadline", () => {
  const session = simulate({ startTimeoutMs: 5000 });
  session.wait(4999);
  assertEquals(session.signals(), []);
  session.wait(1);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "not-started", silent: true });
});

Deno.test("a turn under way knows no start deadline, only the wall clock", () => {
  const session = simulate({ startTimeoutMs: 5000, timeoutMs: 100_000 });
  session.hear(status("busy"));
  session.wait(99_999);
  assertEquals(session.typed(), "");
  session.wait(1);
  assertEquals(session.typed(), ".\x1b");
  session.hear(INTERRUPTED);
  assertEquals(session.signals(), ["SIGTERM tree"]);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "timeout" });
});

Deno.test("a turn under way is stopped with Escape, and its text so far waited for", () => {
  const session = simulate();
  session.hear(status("busy"));
  session.hear({ type: "signal", signal: "SIGINT" });
  // A prompt stopped before its first words would go back into an empty input box.
  assertEquals([session.typed(), session.signals()], [".\x1b", []]);
  // The child ends its tools at Escape, and what they have started cannot be found afterwards.
  const acts = session.effects.map(({ type }) => type);
  assert(acts.includes("note-tools") && acts.indexOf("note-tools") < acts.lastIndexOf("write"));
  session.hear(status("idle"));
  session.wait(999);
  assertEquals(session.signals(), []);
  session.hear(INTERRUPTED);
  assertEquals(session.signals(), ["SIGTERM tree"]);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "interrupted", signal: "SIGINT" });
});

Deno.test("a signal that claude -p does not tell the model of leaves the prompt alone, and does not wait long", () => {
  const session = simulate();
  session.hear(status("busy"));
  session.hear({ type: "signal", signal: "SIGTERM" });
  assertEquals(session.typed(), "\x1b");
  session.hear(status("idle"));
  session.wait(299);
  assertEquals(session.signals(), []);
  session.wait(1);
  assertEquals(session.signals(), ["SIGTERM tree"]);
});

Deno.test("a child that does not heed Escape is gone within 3 s of the first signal", () => {
  const session = simulate();
  session.hear(status("busy"));
  session.wait(60_000);
  const at = session.now();
  session.hear({ type: "signal", signal: "SIGTERM" });
  session.wait(3000);
  assertEquals(session.signals().slice(0, 3), ["SIGTERM tree", "SIGTERM", "SIGKILL tree"]);
  const killed = session.effects.findIndex((effect) =>
    effect.type === "kill" && effect.signal === "SIGKILL"
  );
  assert(killed > 0 && session.now() === at + 3000);
});

Deno.test("a second signal during Escape kills at once", () => {
  const session = simulate();
  session.hear(status("busy"));
  session.hear({ type: "signal", signal: "SIGINT" });
  session.hear({ type: "signal", signal: "SIGINT" });
  assertEquals(session.signals(), ["SIGKILL tree"]);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "interrupted", signal: "SIGINT" });
});

Deno.test("an answer that was complete before Escape ends the run all the same", () => {
  const session = simulate();
  session.hear(status("busy"));
  session.hear({ type: "signal", signal: "SIGINT" });
  session.hear(stop());
  assertEquals(session.signals(), ["SIGTERM tree"]);
});

Deno.test("silence ends a turn, but neither bytes, a running tool nor a task in the background do", () => {
  const session = simulate({ idleTimeoutMs: 1000 });
  session.hear(status("busy"));
  for (let time = 0; time < 5; time++) {
    session.wait(900);
    session.show(".");
  }
  session.hear(called("t1", "t2"));
  session.wait(3_000_000);
  session.hear(returned("t1"));
  session.wait(500_000);
  assertEquals(session.typed(), "");
  session.hear(returned("t2"));
  session.hear(stop({ background_tasks: [{ id: "b" }] }));
  session.wait(50_000);
  assertEquals(session.typed(), "");
  session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "hello there" } });
  session.wait(2000);
  assertEquals(session.typed(), ".\x1b");
  session.wait(1000);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "silent" });
});

Deno.test("silence does not count while this program was stopped", () => {
  const session = simulate({ idleTimeoutMs: 1000 });
  session.hear(status("busy"));
  session.wait(900);
  // What was stopped for so long has its deadlines put off by the driver; the clock went on.
  session.sleep(60_000);
  session.wait(900);
  assertEquals(session.typed(), ".\x1b");
  const lively = simulate({ idleTimeoutMs: 1000 });
  lively.hear(status("busy"));
  lively.wait(900);
  lively.sleep(60_000);
  lively.wait(90);
  assertEquals(lively.typed(), "");
  lively.show(".");
  lively.wait(990);
  assertEquals(lively.typed(), "");
});

Deno.test("a paste that could not be looked for while this program was stopped is not missed longer for it", () => {
  const session = simulate({ inject: "paste", deliveryTimeoutMs: 300_000 });
  session.hear(status("idle"));
  session.draw("❯ ");
  session.wait(4000);
  session.sleep(60_000);
  session.wait(4000);
  assertEquals(session.signals(), []);
  session.draw("❯ hello there");
  session.wait(1000);
  assertEquals(session.typed(), "\x1b[200~hello there\x1b[201~\r");
});

Deno.test("each limit names its own stage", () => {
  const mute = simulate({ startTimeoutMs: 1000 });
  mute.wait(1000);
  mute.hear(EXIT);
  assertEquals(mute.ending(), { kind: "not-started", silent: true });
  const unready = simulate({ startTimeoutMs: 1000 });
  unready.wait(900);
  unready.show("a first byte starts the limit anew");
  unready.wait(999);
  assertEquals(unready.signals(), []);
  unready.wait(1);
  unready.hear(EXIT);
  assertEquals(unready.ending(), { kind: "not-started", silent: false });
  const deaf = simulate({ startTimeoutMs: 1000, deliveryTimeoutMs: 5000 });
  deaf.hear(status("idle"));
  deaf.wait(5000);
  deaf.hear(EXIT);
  assertEquals(deaf.ending(), { kind: "not-taken" });
  const stubborn = simulate({ exitTimeoutMs: 700 });
  stubborn.hear(PROMPT);
  stubborn.hear(answer("hi"));
  stubborn.hear(stop({ last_assistant_message: "hi" }));
  stubborn.hear(status("idle"));
  stubborn.wait(699);
  assertEquals(stubborn.signals(), ["SIGTERM"]);
  stubborn.wait(1);
  assertEquals(stubborn.signals(), ["SIGTERM", "SIGKILL tree"]);
  const busy = simulate({ otherStopHooks: true, drainTimeoutMs: 7000 });
  busy.hear(stop());
  busy.wait(6999);
  assertEquals(busy.signals(), []);
  busy.wait(1);
  assertEquals(busy.signals(), ["SIGTERM"]);
});

Deno.test("an end that only the transcript tells is an answer", () => {
  const session = simulate();
  session.hear(PROMPT);
  session.hear(status("busy"));
  session.hear(COMPLETED);
  session.hear(status("idle"));
  session.wait(3000);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "answered", stop: {} });
});

Deno.test("a new size of the user's terminal is passed on to the child's", () => {
  const session = simulate();
  session.hear({ type: "resized", size: { rows: 24, cols: 80 } });
  assertEquals(session.effects.at(-1), { type: "resize", size: { rows: 24, cols: 80 } });
});

Deno.test("a child that ignores SIGTERM is reminded, then killed, and one that hangs in the kernel is given up", () => {
  const session = simulate();
  session.hear(PROMPT);
  session.hear(answer("hi"));
  session.hear(stop({ last_assistant_message: "hi" }));
  session.hear(status("idle"));
  session.wait(999);
  assertEquals(session.signals(), ["SIGTERM"]);
  session.wait(4000);
  const reminded = Array.from({ length: 1 + 4 }, () => "SIGTERM");
  assertEquals(session.signals(), reminded);
  session.wait(1);
  assertEquals(session.signals(), [...reminded, "SIGKILL tree"]);
  session.wait(60_000);
  assertEquals(session.ending()?.kind, "answered");
});

Deno.test("a child that has not written its answer down is waited for longer, but not for ever", () => {
  const late = stopped({ exitTimeoutMs: 5000 });
  late.hear(UNUSED);
  late.wait(34_999);
  assertEquals(new Set(late.signals()), new Set(["SIGTERM"]));
  late.wait(1);
  assertEquals(late.signals().at(-1), "SIGKILL tree");

  const written = stopped({ exitTimeoutMs: 5000 });
  written.hear(UNUSED);
  written.wait(12_000);
  for (const each of [PROMPT, answer("hi")]) written.hear(each);
  assertEquals(written.signals().at(-1), "SIGTERM");
  written.wait(1000);
  assertEquals(written.signals().at(-1), "SIGKILL tree");

  const stoppedBySomebody = stopped({ exitTimeoutMs: 5000 });
  stoppedBySomebody.hear(UNUSED);
  for (const last of ["SIGTERM", "SIGKILL tree"]) {
    stoppedBySomebody.wait(last === "SIGTERM" ? 4000 : 3000);
    stoppedBySomebody.hear({ type: "signal", signal: "SIGINT" });
    assertEquals(stoppedBySomebody.signals().at(-1), last);
  }
});

Deno.test("the first signal stops the child and its tools, the second kills them", () => {
  const session = simulate();
  session.hear({ type: "signal", signal: "SIGINT" });
  assertEquals(session.signals(), ["SIGTERM tree"]);
  session.hear({ type: "signal", signal: "SIGINT" });
  assertEquals(session.signals(), ["SIGTERM tree", "SIGKILL tree"]);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "interrupted", signal: "SIGINT" });
});

Deno.test("a signal after the answer does not lose it", () => {
  for (const last of [[stop()], [stop(), status("idle")]]) {
    const session = simulate();
    for (const input of last) session.hear(input);
    session.hear({ type: "signal", signal: "SIGTERM" });
    assertEquals(session.signals(), ["SIGTERM"]);
    session.hear(EXIT);
    session.wait(2000);
    assertEquals(session.ending()?.kind, "answered");
  }
});

Deno.test("a prompted child that is idle without a hook has ended its turn", () => {
  const session = simulate();
  session.hear(PROMPT);
  session.hear(status("busy"));
  session.wait(10_000);
  session.hear(status("idle"));
  session.wait(3000);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "idle", prompted: true });
});

Deno.test("a prompt that a hook has blocked ends its turn, though the child was never seen to be busy", () => {
  const content = "UserPromptSubmit operation blocked by hook:\nno";
  const blocked = line({
    type: "system",
    subtype: "informational",
    preventContinuation: true,
    content,
  });
  for (const told of [[blocked, status("idle")], [status("idle"), blocked]]) {
    const session = simulate();
    for (const input of told) session.hear(input);
    assertEquals(session.signals(), ["SIGTERM"]);
    session.hear(EXIT);
    assertEquals(session.ending(), { kind: "blocked", text: content });
  }
});

Deno.test("a command that Claude Code carries out by itself ends when the child is idle", () => {
  const session = simulate({ prompt: "/nonsense" });
  session.hear(status("idle"));
  session.wait(3000);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "idle", prompted: false });
});

Deno.test("a pasted command that Claude Code does not know ends once the transcript says so", () => {
  const unknown = line({
    type: "system",
    subtype: "informational",
    content: "Unknown command: /nonsense",
    level: "warning",
  });
  const session = simulate({ prompt: "/nonsense", inject: "paste", deliveryTimeoutMs: 300_000 });
  session.hear(status("idle"));
  session.show("❯ /nonsense");
  session.hear(unknown);
  session.wait(3000);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "idle", prompted: false });
});

Deno.test("a prompt that is in the transcript of a child that stayed idle is no turn", () => {
  const session = simulate({ prompt: "/" });
  session.hear(status("idle"));
  session.wait(100);
  session.hear(PROMPT);
  session.wait(3000);
  session.hear(EXIT);
  assertEquals(session.ending()?.kind, "idle");
});

Deno.test("a child that draws, its prompt in the transcript, is only late to say that it is busy", () => {
  const session = simulate();
  session.hear(status("idle"));
  session.hear(PROMPT);
  for (let draws = 0; draws < 5; draws++) {
    session.wait(2500);
    session.show("…");
  }
  assertEquals(session.signals(), []);
  session.hear(status("busy"));
  session.wait(10_000);
  assertEquals(session.signals(), []);
});

Deno.test("an idle child whose start hooks take long keeps the time the delivery deadline gives", () => {
  const session = simulate({ startTimeoutMs: 10_000, deliveryTimeoutMs: 60_000 });
  session.hear(status("idle"));
  session.wait(50_000);
  assertEquals(session.signals(), []);
  session.hear(status("busy"));
  session.wait(50_000);
  assertEquals(session.signals(), []);
});

Deno.test("a dialog is answered one key at a time, each after a look", () => {
  const session = simulate();
  session.draw("Security guide", "", "   Yes, I trust this folder", " ❯ No, exit", "");
  session.show("…");
  session.wait(600);
  assertEquals(session.typed(), "\x1b[A");
  session.draw("Security guide", "", " ❯ Yes, I trust this folder", "   No, exit", "");
  session.wait(300);
  assertEquals(session.typed(), "\x1b[A\r");
  session.draw("❯ ");
  session.hear(status("busy"));
  session.wait(10_000);
  assertEquals(session.typed(), "\x1b[A\r");
});

Deno.test("a child that starts slowly is looked at once it has been quiet for longer than it was at first", () => {
  const session = simulate();
  session.draw("Security guide", "", "   Yes, I trust this folder", " ❯ No, exit", "");
  session.wait(2000);
  session.show("…");
  session.wait(3900);
  session.show("…");
  session.wait(3900);
  assertEquals(session.effects.filter(({ type }) => type === "look"), []);
  session.wait(100);
  assertEquals(session.typed(), "\x1b[A");
});

Deno.test("a child that starts slowly is looked at long before its time for that is up", () => {
  const session = simulate({ startTimeoutMs: 12_000 });
  session.draw("Security guide", "", "   Yes, I trust this folder", " ❯ No, exit", "");
  session.wait(8000);
  session.show("…");
  session.wait(1000);
  assertEquals(session.typed(), "\x1b[A");
});

Deno.test("a dialog that does not react ends the run after a bounded number of keys", () => {
  const session = simulate();
  session.draw("Security guide", "", "   Yes, I trust this folder", " ❯ No, exit", "");
  session.show("…");
  session.wait(60_000);
  session.hear(EXIT);
  assertEquals(session.ending()?.kind, "dialog");
  assertEquals(session.typed(), "\x1b[A".repeat(20));
});

Deno.test("an unknown dialog ends the run without a key", () => {
  const session = simulate();
  session.draw("Shall we?", "", " ❯ 1. Now", "   2. Later", "");
  session.show("…");
  session.wait(600 + 3000 + 300);
  session.hear(EXIT);
  assertEquals(session.ending()?.kind, "dialog");
  assertEquals(session.typed(), "");
});

Deno.test("a child that waits on a screen without choices ends the run", () => {
  const session = simulate();
  session.hear(status("busy"));
  session.draw("Something covers the input box");
  session.hear(status("waiting", "dialog open"));
  session.wait(10_000);
  session.hear(EXIT);
  assertEquals(session.ending()?.kind, "dialog");
});

Deno.test("a list in an answer is no dialog while the child is busy", () => {
  const session = simulate();
  session.hear(status("busy"));
  session.draw("Pick one:", "", " ❯ 1. Now", "   2. Later", "");
  session.show("…");
  session.wait(100_000);
  assertEquals(session.signals(), []);
});

Deno.test("a paste waits for the input box, its echo and the proof of its delivery", () => {
  const session = simulate({ inject: "paste" });
  session.show("\x1b[?2004h");
  assertEquals(session.typed(), "", "dialogs of the start have that mode too");
  session.hear(status("idle"));
  assertEquals(session.typed(), "\x1b[200~hello there\x1b[201~");
  session.show("❯ hello");
  session.show(" there");
  assertEquals(session.typed(), "\x1b[200~hello there\x1b[201~\r");
  session.wait(600);
  assertEquals(session.typed(), "\x1b[200~hello there\x1b[201~\r\r");
  session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "hello there" } });
  session.wait(10_000);
  assertEquals(session.typed(), "\x1b[200~hello there\x1b[201~\r\r");
  session.hear(stop());
  session.hear(EXIT);
  session.wait(2000);
  assertEquals(session.ending()?.kind, "answered");
});

/** A conversation at rest that is sent texts, and images for `true`. */
function sendImages(blocks: readonly (string | true)[]) {
  const session = simulate({ conversation: true, imagesDir: "/run/images" });
  session.hear({ type: "status", status: "idle" });
  const content = blocks.map((block) =>
    block === true
      ? { type: "image", source: { type: "base64", data: "iVBORw0KGgo=" } }
      : { type: "text", text: block }
  );
  const text = blocks.filter((block) => block !== true).join("\n");
  session.hear({ type: "message", message: { text, content, way: "paste", images: true } });
  return session;
}

Deno.test("images are pasted by their paths, in their places, each once the one before is seen", () => {
  const session = sendImages(["Compare", true, true, "now\n"]);
  const pasted = (text: string) => `\x1b[200~${text}\x1b[201~`;
  let typed = pasted("Compare\n");
  assertEquals(session.typed(), typed);
  session.show("❯ Compare");
  typed += pasted("/run/images/1.png");
  assertEquals(session.typed(), typed);
  session.show("[Image");
  assertEquals(session.typed(), typed);
  session.show(" #3]");
  typed += pasted("/run/images/2.png");
  assertEquals(session.typed(), typed, "a session counts on");
  session.show("❯ Compare [Image #3]");
  assertEquals(session.typed(), typed, "it is the image before");
  session.show("[Image #4]");
  typed += pasted("\nnow");
  assertEquals(session.typed(), typed);
  session.show("now");
  assertEquals(session.typed(), `${typed}\r`);
  assertEquals(
    session.effects.flatMap((effect) => effect.type === "place-image" ? [effect.path] : []),
    ["/run/images/1.png", "/run/images/2.png"],
  );
  const prompt = "Compare\n[Image #3] [Image #4] \nnow";
  session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt } });
  session.hear({ type: "status", status: "busy" });
  session.wait(1000);
  assertEquals(session.state().taken.length, 1);
});

Deno.test("an image that is never shown ends the child by name, without Enter", () => {
  const session = sendImages([true]);
  session.draw("❯ /run/images/1.png");
  session.wait(20_000);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "undelivered", image: true });
  assertEquals(session.typed().includes("\r"), false);
});

Deno.test("a Stop before the paste was submitted belongs to something else", () => {
  const session = simulate({ inject: "paste" });
  session.hear(stop());
  session.hear(status("idle"));
  session.hear(stop());
  assertEquals(session.signals(), []);
});

Deno.test("a paste whose echo was missed is found on the screen", () => {
  const session = simulate({ inject: "paste" });
  session.hear(status("idle"));
  session.draw("❯ ");
  session.wait(3000);
  session.draw("❯ hello there");
  session.wait(3000);
  assertEquals(session.typed(), "\x1b[200~hello there\x1b[201~\r");
});

Deno.test("a paste that never shows ends the run without Enter", () => {
  for (const [deliveryTimeoutMs, ms] of [[300_000, 15_000], [8000, 8000]] as const) {
    const session = simulate({ inject: "paste", deliveryTimeoutMs });
    session.hear(status("idle"));
    session.draw("❯ ");
    session.wait(ms);
    session.hear(EXIT);
    assertEquals(session.ending(), { kind: "undelivered" });
    assertEquals(session.typed().includes("\r"), false);
  }
});

/** A conversation whose first message is pasted, and a dialog of the start that Claude Code shows before its input box. */
function pastedAtStart(...dialog: readonly string[]) {
  const session = simulate({ conversation: true, startTimeoutMs: 20_000 });
  session.hear({
    type: "message",
    message: { text: "/touchy", way: "paste", command: "/touchy" },
  });
  session.draw(...dialog);
  session.show("\x1b[?2004h");
  return session;
}

const WARNING = [
  "Settings Warning",
  "the rest of the file is in effect",
  " ❯ 1. Continue",
  "   2. Fix with Claude",
] as const;

Deno.test("the first message of a conversation is not pasted into a dialog of the start", () => {
  const session = pastedAtStart(...WARNING);
  session.wait(1000);
  assertEquals(session.typed(), "\r", "the dialog is answered");
  session.draw("❯ ");
  session.hear({ type: "hook", event: "SessionStart", payload: {} });
  assertEquals(session.typed(), "\r");
  session.hear(status("idle"));
  assertEquals(session.typed(), "\r\x1b[200~/touchy\x1b[201~");
  session.show("❯ /touchy");
  assertEquals(session.typed(), "\r\x1b[200~/touchy\x1b[201~\r");
});

Deno.test("a conversation whose first message is pasted ends by name where a start never comes to its end", () => {
  const open = pastedAtStart("Terms have changed", " ❯ 1. Accept", "   2. Decline");
  open.wait(5000);
  open.hear(EXIT);
  assertEquals(open.ending()?.kind, "dialog");
  const closed = pastedAtStart(...WARNING);
  closed.wait(1000);
  closed.draw("");
  closed.wait(20_000);
  closed.hear(EXIT);
  assertEquals(closed.ending(), { kind: "not-started", silent: false });
  assertEquals([open.typed(), closed.typed()], ["", "\r"]);
});

Deno.test("a paste is still looked for once a dialog in front of it is gone", () => {
  for (const shown of [true, false]) {
    const session = simulate({ inject: "paste" });
    session.hear(status("idle"));
    session.draw("Do you want to proceed?", " ❯ 1. Yes", "   2. No");
    session.hear(status("waiting"));
    session.wait(4000);
    session.draw(shown ? "❯ hello there" : "❯ ");
    session.hear(status("idle"));
    session.wait(20_000);
    session.hear(EXIT);
    assertEquals(session.typed().startsWith("\x1b[200~hello there\x1b[201~\r"), shown);
    assertEquals(session.ending()?.kind === "undelivered", !shown);
  }
});

Deno.test("a prompt that was taken as another text ends the run", () => {
  for (const inject of ["stdin", "paste"] as const) {
    // A path begins as a command does.
    for (
      const [prompt, taken] of [["x\u200by", "xy"], ["/etc/\u200bhosts", "/etc/hosts"]] as const
    ) {
      const session = simulate({ inject, prompt });
      session.hear(status("idle"));
      session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt: taken } });
      session.hear(EXIT);
      assertEquals(session.ending(), { kind: "undelivered", taken });
    }
  }
});

Deno.test("unknown hooks, statuses and transcript lines change nothing but prove life", () => {
  const session = simulate({ startTimeoutMs: 1000 });
  session.hear({ type: "hook", event: "SomethingNew", payload: {} });
  session.hear(status("dreaming"));
  session.hear(line({ type: "something-new" }));
  session.wait(100_000);
  assertEquals(session.signals(), []);
});

Deno.test("a dialog is looked at, though the line that tells of its turn is read after it", () => {
  for (const sign of [PROMPT, { type: "hook", event: "UserPromptSubmit", payload: {} } as const]) {
    const session = simulate();
    session.hear(status("idle"));
    session.hear(status("waiting", "permission prompt"));
    session.hear(sign);
    session.draw("Allow this?", "❯ 1. Yes", "  2. No");
    session.wait(10_000);
    assert(session.effects.some(({ type }) => type === "look"));
    assertEquals(session.signals().length > 0 || session.typed() !== "", true);
  }
});

const asks = (event: string, payload: Record<string, unknown> = {}, id = "7") =>
  ({ type: "hook", event, payload, id }) as const;

const answers = (session: Simulation) =>
  session.effects.filter((effect) => effect.type === "answer").map(({ id, reply }) => [id, reply]);

Deno.test("whoever needs a permission is refused, whatever becomes of the turn", () => {
  const session = simulate();
  session.hear(status("busy"));
  const call = { tool_name: "Write", tool_input: { file_path: "a.txt" }, cwd: "/p" };
  session.hear(asks("PermissionRequest", call));
  const words =
    "Claude requested permissions to write to /p/a.txt, but you haven't granted it yet.";
  assertEquals(answers(session), [["7", denial(words)]]);
  session.hear({ type: "signal", signal: "SIGTERM" });
  session.hear(asks("PermissionRequest", {}, "8"));
  session.hear(INTERRUPTED);
  session.hear(asks("PermissionRequest", {}, "9"));
  assertEquals(answers(session).map(([id]) => id), ["7", "8", "9"]);
});

Deno.test("where nobody is ever there to permit anything, the model is told so", () => {
  const session = simulate({ unattended: true });
  session.hear(status("busy"));
  session.hear(asks("PermissionRequest", { tool_name: 1, tool_input: "x" }));
  const said = denialWords({ tool: "a tool", input: {}, cwd: "/" }, { unattended: true });
  assertEquals(answers(session), [["7", denial(said)]]);
});

Deno.test("a turn is stopped after as many requests as it may make", () => {
  const session = simulate({ maxTurns: 2 });
  session.hear(status("busy"));
  const batch = (payload = {}) => session.hear(asks("PostToolBatch", payload));
  batch();
  batch({ agent_id: "a1" });
  session.hear(stop({ background_tasks: [{ id: "b" }] }));
  batch();
  assertEquals(answers(session).map(([, reply]) => reply), [undefined, undefined, undefined]);
  batch();
  assertEquals(answers(session).at(-1), ["7", STOP]);
  for (const input of [PROMPT, COMPLETED, status("idle")]) session.hear(input);
  assertEquals(session.signals(), ["SIGTERM"]);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "max-turns" });
});

Deno.test("requests that another child has made for the same turn count", () => {
  const session = simulate({ maxTurns: 2, requestsMade: 1 });
  session.hear(status("busy"));
  session.hear(asks("PostToolBatch"));
  assertEquals(answers(session).at(-1), ["7", STOP]);
});

Deno.test("the first request waits longer for MCP servers that are bridged, and not for ever", () => {
  const late = simulate({ mcpServers: 2, bridged: ["ours"] });
  late.hear(asks("SessionStart"));
  late.wait(3000);
  late.hear({ type: "mcp", begun: 2, done: 0, settled: {} });
  late.wait(5000);
  assertEquals(answers(late), []);
  late.hear({ type: "mcp", begun: 2, done: 1, settled: { ours: "connected" } });
  late.wait(40);
  // A child that answers a second time has run its timers, and has the server's tools.
  const asked = () => late.effects.filter(({ type }) => type === "mcp-message").length;
  const pong = {
    type: "mcp-message",
    server: "ours",
    message: { jsonrpc: "2.0", id: "claude-print-ping", result: {} },
  } as const;
  assertEquals([asked(), answers(late)], [1, []]);
  late.hear(pong);
  assertEquals([asked(), answers(late)], [2, []]);
  late.hear(pong);
  late.hear(pong);
  assertEquals([asked(), answers(late)], [2, [["7", undefined]]]);
  const silent = simulate({ mcpServers: 1, bridged: ["ours"] });
  silent.hear(asks("SessionStart"));
  silent.hear({ type: "mcp", begun: 1, done: 1, settled: { ours: "connected" } });
  silent.wait(5039);
  assertEquals(answers(silent), []);
  silent.wait(1);
  assertEquals(answers(silent), [["7", undefined]]);
  const never = simulate({ mcpServers: 1, bridged: ["ours"], deliveryTimeoutMs: 60_000 });
  never.hear(asks("SessionStart"));
  never.wait(2000);
  never.wait(27_999);
  assertEquals(answers(never), []);
  never.wait(1);
  assertEquals(answers(never), [["7", undefined]]);
});

Deno.test("the first request waits as long as servers of the command line take to connect", () => {
  const slow = simulate({ mcpServers: 2, awaited: ["theirs"] });
  slow.hear(asks("SessionStart"));
  slow.hear({ type: "mcp", begun: 2, done: 0, settled: {} });
  slow.wait(2000);
  slow.wait(10_000);
  slow.hear({ type: "mcp", begun: 2, done: 1, settled: { theirs: "failed" } });
  assertEquals(answers(slow), []);
  slow.wait(200);
  assertEquals(answers(slow), [["7", undefined]]);
  const never = simulate({ mcpServers: 1, awaited: ["theirs"], deliveryTimeoutMs: 60_000 });
  never.hear(asks("SessionStart"));
  never.hear({ type: "mcp", begun: 1, done: 0, settled: {} });
  never.wait(2000);
  never.wait(27_999);
  assertEquals(answers(never), []);
  never.wait(1);
  assertEquals(answers(never), [["7", undefined]]);
  // One that a policy forbids is not connected to.
  const forbidden = simulate({ mcpServers: 1, awaited: ["theirs"] });
  forbidden.hear(asks("SessionStart"));
  forbidden.wait(2000);
  assertEquals(answers(forbidden), [["7", undefined]]);
});

Deno.test("the first request waits for MCP servers, and not for ever", () => {
  const connecting = simulate({ mcpServers: 2 });
  // On a busy machine the status is read before the hook is.
  connecting.hear(status("idle"));
  connecting.hear(status("busy"));
  connecting.hear(asks("SessionStart"));
  connecting.hear({ type: "mcp", begun: 1, done: 1 });
  connecting.wait(1000);
  connecting.hear({ type: "mcp", begun: 2, done: 2 });
  connecting.wait(199);
  assertEquals(answers(connecting), []);
  connecting.wait(1);
  assertEquals(answers(connecting), [["7", undefined]]);
  const hanging = simulate({ mcpServers: 1 });
  hanging.hear(asks("SessionStart"));
  hanging.wait(1999);
  assertEquals(answers(hanging), []);
  hanging.wait(1);
  assertEquals(answers(hanging), [["7", undefined]]);
  hanging.hear({ type: "mcp", begun: 1, done: 1 });
  hanging.wait(5000);
  assertEquals(answers(hanging).length, 1);
  // What a compaction or another session starts is not the first request.
  hanging.hear(asks("SessionStart", {}, "8"));
  assertEquals(answers(hanging).length, 2);
});

Deno.test("hooks that cannot tell what they have to end the turn, unless its end is known", () => {
  const session = simulate();
  session.hear(status("busy"));
  session.hear({ type: "unheard" });
  session.hear({ type: "unheard" });
  session.hear(INTERRUPTED);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "unheard" });
  const told = simulate();
  told.hear(status("busy"));
  told.hear(stop());
  told.hear({ type: "unheard" });
  told.hear(EXIT);
  told.wait(2000);
  assertEquals(told.ending()?.kind, "answered");
});

Deno.test("a dialog that does not react is not given the time to start anew", () => {
  const session = simulate({ startTimeoutMs: 4000 });
  session.draw("Security guide", "", "   Yes, I trust this folder", " ❯ No, exit", "");
  session.show("…");
  session.wait(12_000);
  session.hear(EXIT);
  assertEquals(session.ending()?.kind, "not-started");
});

Deno.test("no other hook has a turn go on that has made as many requests as it may", () => {
  const session = simulate({ maxTurns: 2, otherStopHooks: true });
  session.hear(status("busy"));
  const end = (payload = {}) => session.hear({ ...stop(payload), id: "stop" });
  end();
  assertEquals(answers(session).at(-1), ["stop", undefined], "one more request is left");
  end({ stop_hook_active: true });
  assertEquals(answers(session).at(-1), ["stop", STOP]);
  // What the other hook has wanted is written behind the answer.
  session.hear(PROMPT);
  session.hear(answer("done"));
  session.hear(status("idle"));
  assertEquals(session.signals(), []);
  session.hear(COMPLETED);
  assertEquals(session.signals(), ["SIGTERM"]);
  const alone = simulate({ maxTurns: 1 });
  alone.hear(status("busy"));
  alone.hear({ ...stop(), id: "stop" });
  assertEquals(answers(alone).at(-1), ["stop", undefined], "there is no other hook");
  const tools = simulate({ maxTurns: 2 });
  tools.hear(status("busy"));
  tools.hear({ ...stop(), id: "stop" });
  tools.hear(asks("PostToolBatch"));
  assertEquals(answers(tools).at(-1)?.[1], STOP, "a turn that a hook had go on counts on");
});

Deno.test("the id that the transcript has of a message is told to which the caller gave another one", () => {
  const session = simulate({ conversation: true });
  const names = () => session.effects.filter(({ type }) => type === "named");
  const prompt = (text: string, uuid: string) =>
    line({ type: "user", uuid, message: { content: text } });
  const say = (text: string, uuid?: string, more = {}) => {
    const id = uuid === undefined ? {} : { uuid };
    const message = { text, way: "rendezvous" as const, ...id, ...more };
    session.hear({ type: "message", message });
  };
  session.hear(status("idle"));
  session.hear({ type: "reachable" });
  say("one", "given-1");
  session.hear(prompt("one", "line-1"));
  session.hear(prompt("one", "line-2"));
  assertEquals(names(), [{ type: "named", line: "line-1", given: "given-1" }]);
  say("two", "given-2");
  const joined = { type: "queued_command", prompt: "two", source_uuid: "queued-2" };
  session.hear(line({ type: "attachment", uuid: "line-3", attachment: joined }));
  assertEquals(names().slice(1), [{ type: "named", line: "queued-2", given: "given-2" }]);
  say("three");
  session.hear(prompt("three", "line-4"));
  say("four", "line-5");
  session.hear(prompt("four", "line-5"));
  say("five", "");
  session.hear(prompt("five", "line-6"));
  say("six", "line-4");
  session.hear(prompt("six", "line-7"));
  say("seven", "earlier-line", { namesake: true });
  session.hear(prompt("seven", "line-8"));
  assertEquals(names().length, 2, "an id that another line has is not a message's");
});
