import { assert, assertEquals } from "@std/assert";
import { advance } from "../../../src/conversation/output/advance.ts";
import type { DeadlineName, Input } from "../../../src/conversation/control/input.ts";
import { untakenMessages } from "../../../src/conversation/control/taken_prompts.ts";
import { message, request } from "../control/caller_inputs.ts";
import { COST, exit, hook, REACHABLE, READ, status, stop, submit } from "../control/inputs.ts";
import { entryOf, type Line, OVER, prompt as promptLine, REQUEST, text } from "./lines.ts";
import { ConversationRun, type News, VERSION } from "./runs.ts";

/** Limits of what a user may let take long: nothing after an interrupt may wait for them. */
const LONG: readonly DeadlineName[] = ["timeout", "delivery", "silence"];
/** How long anything may take after the last that the child tells, in milliseconds. */
const SOON_MS = 20_000;

const written = (line: Line): News => ({
  type: "transcript",
  entry: entryOf({ version: VERSION, ...line }),
});
const prompt = (content: string, more: Line = {}) =>
  written(promptLine(content, { uuid: content, ...more }));
const said = (words: string) => written(text(words));

const REQUESTED = written(REQUEST);
const COMPLETED = written(OVER);
const INTERRUPTED = written(promptLine("[Request interrupted by user]", { uuid: undefined }));
const INTERRUPT = request("interrupt");
const DRAWN: News = { type: "terminal", bytes: new TextEncoder().encode(".") };

/** A conversation whose child goes when it is told to. */
class StoppedRun extends ConversationRun {
  /** How many characters have been typed before what matters. */
  #typedBefore = 0;

  constructor(...news: readonly News[]) {
    super({ session: { conversation: true, version: VERSION }, frames: { conversation: true } });
    this.hear(...news);
  }

  protected override step(input: Input): void {
    const kills = this.of("kill").length;
    super.step(input);
    if (this.of("kill").length > kills) this.give(exit(143));
  }

  /** Gives inputs; each line is read by itself. */
  hear(...news: readonly News[]): this {
    for (const each of news) {
      this.give(each);
      if (each.type === "transcript") this.give(READ);
    }
    return this;
  }

  /** Lets time pass until there are so many results, the end, or nothing that is due in time. */
  wait(ms: number, results = Infinity): this {
    const until = this.now + ms;
    while (this.results.length < results && this.end === undefined) {
      const next = this.armed.next(until, LONG);
      if (next === undefined) break;
      this.now = next.due;
      this.armed.fire(next.name, this.now);
      this.step({ type: "deadline", name: next.name, at: this.now });
    }
    this.now = Math.max(this.now, until);
    return this;
  }

  #allTyped(): string {
    return this.of("write").map(({ bytes }) => new TextDecoder().decode(bytes)).join("");
  }

  get typed(): string {
    return this.#allTyped().slice(this.#typedBefore);
  }

  forgetTyped(): this {
    this.#typedBefore = this.#allTyped().length;
    return this;
  }

  /** The results so far: their texts or subtypes. */
  get results(): readonly unknown[] {
    return this.frames.flatMap(({ type, result, subtype }) =>
      type === "result" ? [result ?? subtype] : []
    );
  }

  get end() {
    return this.of("end")[0]?.ending;
  }

  get phase() {
    return this.state.session.phase;
  }
}

const START = [
  { type: "spawned" },
  REACHABLE,
  hook("SessionStart", { model: "m" }),
  status("idle"),
] as const satisfies readonly News[];
const taken = (text: string) => [submit(text), status("busy"), prompt(text)];

/** A child that rests after a turn. */
function rested(): StoppedRun {
  const turn = [message("One"), ...taken("One"), said("first"), COMPLETED, stop("first")];
  const run = new StoppedRun(...START, ...turn, status("idle"), COST);
  assertEquals([run.results, run.phase], [["first"], "resting"]);
  return run.forgetTyped();
}

/** A child whose turn never ends by itself, with a message in its queue, that was told to stop. */
function stopped(): StoppedRun {
  const run = rested().hear(
    message("Two"),
    ...taken("Two"),
    REQUESTED,
    message("Three"),
    INTERRUPT,
  );
  assertEquals([run.typed, run.state.session.sent.length], [".\x1b", 1]);
  return run;
}

const ABORTED = "error_during_execution";
const STATUSES = [["idle"], ["busy", "idle"], ["idle", "busy", "idle"]]
  .map((names) => names.map((name) => status(name)));

type Streams = readonly (readonly News[])[];

/** How many orders are tried of streams that have more. */
const TRIED = 20;

/** Orders in which streams can be heard, each with its own order: all of them, or an even sample. */
function ordersOf(streams: Streams): readonly (readonly News[])[] {
  const all = [...allOrders(streams)];
  const step = Math.max(1, all.length / TRIED);
  return all.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}

function* allOrders(streams: Streams): Generator<readonly News[]> {
  if (streams.every(({ length }) => length === 0)) yield [];
  for (const [at, [first, ...rest]] of streams.entries()) {
    if (first === undefined) continue;
    for (const others of allOrders(streams.with(at, rest))) yield [first, ...others];
  }
}

const names = (heard: readonly News[]) =>
  heard.map((news) =>
    news.type === "hook"
      ? news.event
      : news.type === "status"
      ? news.status
      : news.type === "transcript"
      ? JSON.stringify(news.entry).slice(0, 90)
      : news.type
  ).join(", ");

/** Tries streams in many orders, each from a state of its own. */
function tryOrders(
  begin: () => StoppedRun,
  streams: Streams,
  check: (run: StoppedRun, order: string) => void,
): void {
  for (const order of ordersOf(streams)) check(begin().hear(...order), names(order));
}

Deno.test("a message after a stopped turn has its turn", () => {
  for (const stallMs of [0, 25_000]) {
    const stalled = () => {
      const run = stopped().wait(stallMs);
      assertEquals(run.typed, ".\x1b", "a child that has not read Escape gets no other");
      return run.hear(DRAWN);
    };
    for (const statuses of stallMs === 0 ? STATUSES : STATUSES.slice(0, 1)) {
      const streams = [
        [submit("Three"), stop("third")],
        [INTERRUPTED, prompt("Three"), said("third"), COMPLETED],
        statuses,
      ];
      tryOrders(stalled, streams, (run, order) => {
        assertEquals(run.wait(SOON_MS, 3).results, ["first", ABORTED, "third"], order);
        assertEquals([run.typed.slice(0, 3), run.phase], [".\x1b\x7f", "resting"], order);
      });
    }
  }
});

Deno.test("a lost message goes to the next child", () => {
  const popped = written({ type: "queue-operation", operation: "popAll", content: "Three" });
  const fates = [
    [[submit("Three")], [INTERRUPTED]],
    [[], [INTERRUPTED]],
    [[], [popped, INTERRUPTED]],
  ];
  for (const fate of fates) {
    for (const statuses of STATUSES) {
      tryOrders(stopped, [...fate, statuses, [DRAWN]], (run, order) => {
        assertEquals(run.wait(SOON_MS).results, ["first", ABORTED], order);
        assertEquals(run.end, { kind: "renewed", changes: {}, lost: true }, order);
        assertEquals(untakenMessages(run.state.session).map(({ text }) => text), ["Three"]);
      });
    }
  }
});

Deno.test("a lost message that is stopped too ends soon", () => {
  for (const hooks of [[], [submit("Three")]]) {
    for (const statuses of STATUSES) {
      tryOrders(stopped, [hooks, [INTERRUPTED], statuses], (run, order) => {
        run.hear(INTERRUPT).wait(SOON_MS, 3);
        assertEquals([run.results, run.phase], [["first", ABORTED, ABORTED], "resting"], order);
      });
    }
  }
});

Deno.test("an Escape that hits the next turn stops it", () => {
  for (const statuses of STATUSES) {
    const streams = [
      [submit("Three")],
      [INTERRUPTED, prompt("Three"), INTERRUPTED],
      statuses,
      [DRAWN],
    ];
    tryOrders(stopped, streams, (run, order) => {
      assertEquals(run.wait(SOON_MS, 3).results, ["first", ABORTED, ABORTED], order);
    });
  }
});

Deno.test("an early interrupt waits for the prompt's line", () => {
  for (const stallMs of [0, 25_000]) {
    for (const begin of ordersOf([[submit("Two")], [status("busy")], [prompt("Two")]])) {
      const begun = () => {
        const run = rested().hear(message("Two"), INTERRUPT).wait(stallMs);
        assertEquals([run.typed, run.results], ["", ["first"]]);
        run.hear(...begin);
        assertEquals([run.typed, run.results], [".\x1b", ["first"]], names(begin));
        return run;
      };
      tryOrders(begun, [[DRAWN], [INTERRUPTED], [status("idle")]], (run, order) => {
        run.wait(SOON_MS, 2);
        assertEquals([run.results, run.phase], [["first", ABORTED], "resting"], order);
      });
    }
  }
});

/** A child that rests after more turns that were stopped, of which it has written nothing down. */
function unwritten(...texts: readonly string[]): StoppedRun {
  const run = rested();
  for (const [at, text] of texts.entries()) {
    run.hear(message(text), submit(text), status("busy"), INTERRUPT).wait(SOON_MS / 2);
    run.hear(DRAWN, status("idle")).wait(SOON_MS, at + 2);
    assertEquals([run.results.at(-1), run.phase], [ABORTED, "resting"]);
  }
  return run;
}

Deno.test("a stopped turn written late has one result", () => {
  for (const texts of [["Two"], ["Two", "Another"]]) {
    const late = texts.flatMap((text) => [prompt(text), INTERRUPTED]);
    const streams = [
      [submit("Three"), stop("third")],
      [...late, prompt("Three"), said("third"), COMPLETED],
      [status("busy"), status("idle")],
    ];
    const results = ["first", ...texts.map(() => ABORTED), "third"];
    tryOrders(() => unwritten(...texts).hear(message("Three")), streams, (run, order) => {
      run.wait(SOON_MS, results.length);
      assertEquals([run.results, run.phase], [results, "resting"], order);
    });
  }
});

Deno.test("two late messages of a stopped turn count once", () => {
  const run = rested().hear(message("Two"), message("Another"), submit("Two"), submit("Another"));
  run.hear(status("busy"), INTERRUPT).wait(SOON_MS / 2);
  run.hear(DRAWN, status("idle")).wait(SOON_MS, 2);
  run.hear(message("Three"), submit("Three"), prompt("Two"), prompt("Another"), INTERRUPTED);
  run.hear(
    prompt("Three"),
    said("third"),
    COMPLETED,
    stop("third"),
    status("busy"),
    status("idle"),
  );
  assertEquals(run.wait(SOON_MS, 3).results, ["first", ABORTED, "third"]);
  assertEquals(run.state.frames.results, 3);
});

Deno.test("a stop during the prompt's hook ends only its message", () => {
  const ticketed = (text: string) => message(text, { ticket: text });
  for (const before of [[], ["first"]]) {
    // Claude Code 2.1.330 writes nothing of a prompt whose hooks were running when Escape was pressed.
    const begin = () => {
      const run = before.length === 0 ? new StoppedRun(...START) : rested();
      run.hear(ticketed("Two"), submit("Two"), status("busy"), ticketed("Three"), INTERRUPT);
      return run.wait(SOON_MS / 2).hear(DRAWN);
    };
    const streams = [
      [submit("Three"), prompt("Three"), said("third"), stop("third"), COMPLETED],
      [status("idle"), status("busy"), status("idle")],
    ];
    tryOrders(begin, streams, (run, order) => {
      assertEquals(run.wait(SOON_MS, 3).results, [...before, ABORTED, "third"], order);
      const tickets = run.of("report").map(({ report }) => report.tickets ?? []);
      assertEquals(tickets.slice(before.length), [["Two"], ["Three"]], order);
    });
  }
});

Deno.test("a late mark stops no other turn", () => {
  const run = rested().hear(message("Two"), ...taken("Two"), INTERRUPT, DRAWN, status("idle"));
  assertEquals(run.wait(SOON_MS).results, ["first", ABORTED]);
  run.hear(message("Three"), submit("Three"), status("busy"), INTERRUPT, INTERRUPTED);
  assertEquals([run.results.length, run.phase], [2, "aborting"]);
  run.hear(prompt("Three"), DRAWN, INTERRUPTED, status("idle"));
  assertEquals(run.results, ["first", ABORTED, ABORTED]);
  assertEquals(run.typed, ".\x1b\x7f.\x1b\x7f");
});

Deno.test("a repeated message after a stop has a turn", () => {
  const run = unwritten("Two");
  const timestamp = new Date(run.state.frames.options.startedAt + run.now + 1).toISOString();
  run.hear(
    message("Two"),
    submit("Two"),
    status("busy"),
    prompt("Two", { uuid: "again", timestamp }),
  );
  run.hear(said("second"), COMPLETED, stop("second"), status("idle"));
  assertEquals(run.wait(SOON_MS, 3).results, ["first", ABORTED, "second"]);
});

Deno.test("cancelling the queue keeps the child's messages", () => {
  const later = message("Four", { priority: "later" });
  const run = new StoppedRun(
    ...START,
    message("One"),
    ...taken("One"),
    REQUESTED,
    message("Three"),
    later,
  );
  run.hear(request("interrupt", { cancel_queued: true }), DRAWN, INTERRUPTED, ...taken("Three"));
  run.hear(message("Five"), said("third"), COMPLETED, stop("third"), status("idle"));
  assertEquals(run.wait(SOON_MS, 2).results, [ABORTED, "third"]);
});

Deno.test("a busy child's command is stopped", () => {
  const compact = message("/compact", { command: "/compact" });
  const pressed = () => {
    const run = rested().hear(compact, INTERRUPT).wait(SOON_MS / 2);
    assertEquals(run.typed, "");
    run.hear(status("busy")).wait(SOON_MS / 2);
    assertEquals(run.typed, ".\x1b");
    return run;
  };
  const silent = pressed().hear(DRAWN, status("idle")).wait(SOON_MS);
  assertEquals([silent.results, silent.phase], [["first", ABORTED], "resting"]);
  // What the child says of it is no answer, and no failure.
  const name = "<command-name>/compact</command-name>\n<command-args></command-args>";
  const content = "<local-command-stdout>Compaction canceled.</local-command-stdout>";
  const output = written({ type: "system", subtype: "local_command", uuid: "o", content });
  const told = pressed().hear(DRAWN, prompt(name), output, status("idle"));
  assertEquals(told.wait(SOON_MS).results, ["first", ""]);
});

/** Tells of a turn that is stopped. */
function stopping(run: StoppedRun, text: string): StoppedRun {
  const before = run.typed.length;
  run.hear(...taken(text));
  assertEquals(run.typed.slice(before), ".\x1b");
  return run.hear(DRAWN, INTERRUPTED, status("idle"));
}

Deno.test("an interrupt before the start stops its message alone", () => {
  const said = [message("One"), INTERRUPT, message("Two"), INTERRUPT];
  for (let before = 0; before < START.length; before++) {
    const news = [...START.slice(0, before), ...said, ...START.slice(before)];
    const run = stopping(new StoppedRun(...news), "One").wait(SOON_MS, 1);
    assertEquals([run.results, run.phase], [[ABORTED], "entered"]);
    assertEquals(run.state.session.sent.map(({ text }) => text), ["Two"]);
    assertEquals(run.hear(...taken("Two")).typed, ".\x1b\x7f");
  }
});

Deno.test("a message that waits for the next child is stopped", () => {
  // The child has not gone yet.
  const { session } = [request("set_max_thinking_tokens"), message("Two"), INTERRUPT].reduce(
    (state, news) => advance(state, { ...news, at: 0 } as Input).state,
    rested().state,
  );
  assertEquals(session.ending?.kind, "renewed");
  const untaken = untakenMessages(session);
  const next = new StoppedRun(
    ...untaken.map((message): News => ({ type: "message", message })),
    ...START,
  );
  assertEquals(stopping(next, "Two").results, [ABORTED]);
});

Deno.test("messages before the start have results though the session ends", () => {
  const run = new StoppedRun(message("One"), message("Two"), request("end_session"), ...START);
  stopping(run, "One").wait(SOON_MS, 1);
  assertEquals([run.results, run.state.session.sent, run.end?.kind], [[ABORTED], [], "aborted"]);
});

Deno.test("a child that ignores interrupts is ended", () => {
  for (const further of [[], [DRAWN]]) {
    const run = stopped();
    for (let round = 0; round < 10; round++) run.hear(...further).wait(SOON_MS);
    assertEquals(run.end?.kind, "unstoppable");
    assert(run.results.length > 1);
  }
});
