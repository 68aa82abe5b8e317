import { assert, assertEquals, assertThrows } from "@std/assert";
import { fold } from "../../src/conversation/output/advance.ts";
import type { ConversationEffect } from "../../src/conversation/output/conversation.ts";
import { isJsonObject, type JsonObject } from "../../src/json_object.ts";
import type { Input, Untimed } from "../../src/conversation/control/input.ts";
import { type Entry, lineOf } from "../../src/claude/transcript/entry.ts";
import {
  castInputs,
  RECORDED_RUNS,
  type RecordedRun,
} from "../recording/cassette/recorded_runs.ts";
import { Child } from "./child.ts";
import { Choices } from "./choices.ts";
import { VERSION } from "./lines.ts";
import { readScript, type RecordedStep, type Script } from "./recorded_moves.ts";
import type { Gate } from "./schedule.ts";
import { type Timing, TIMINGS } from "./timings.ts";
import { type Channel, type News, World } from "./world.ts";

/** What is compared of no run, by the kinds of inputs and lines, and why. */
const MASKED: Readonly<Record<string, string>> = {
  ...reasonFor("it is the caller's or the driver's", [
    ...["spawned", "message", "closed", "control", "answer", "signal", "deadline", "read"],
  ]),
  ...reasonFor("it answers an effect", ["consulted", "shells"]),
  ...reasonFor("it answers an effect, and only needs a dialog", ["screen"]),
  ...reasonFor("only programs that deliver to the socket look at it", ["reachable"]),
  ...reasonFor("its number depends on the time", ["cost", "terminal"]),
  ...reasonFor("it describes the session", [
    ...["mode", "permission-mode", "session-owner", "atis-latch", "last-prompt", "tools-used"],
    ...["file-history-snapshot", "file-history-delta", "api-request-blob", "api-request-shape"],
    ...["attachment environment", "attachment model", "attachment deferred_tools_delta"],
    ...["attachment agent_listing_delta", "attachment skill_listing", "attachment date"],
    ...["attachment session_context", "attachment credential_org", "attachment instructions"],
    ...["attachment remote_session_change", "attachment prompt_snapshot", "attachment auto_mode"],
    ...["attachment command_permissions", "attachment plan_mode"],
  ]),
};

/** What is not compared of some runs besides, and why. */
const LEFT_OUT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "background-subagents": { user: "it reminds the model of something, once" },
  resumed: { earlier: "the model has no session before" },
  structured: reasonFor("the model has no MCP servers", ["mcp", "mcp-message"]),
};

/** Causes, and what each of them has at most once, and later: the recordings and the model have to agree on that. */
const CAUSES: readonly (readonly [cause: string, effect: string])[] = [
  ["hooks: UserPromptSubmit", "lines: prompt of human"],
  ["hooks: Stop", "lines: system stop_hook_summary"],
  ["hooks: PermissionRequest", "lines: hook_permission_decision"],
  ["hooks: PostToolBatch", "lines: hook_stopped_continuation"],
  ["lines: queue enqueue", "lines: queue dequeue"],
  ["lines: queue dequeue", "lines: prompt of task-notification"],
  ["lines: system stop_hook_summary", "lines: system turn_duration"],
  ["API: fault", "API: retry"],
  ["stream: request", "stream: end"],
];

/** What a child did, in words without ids, texts and times, and where that is seen: the order holds for the same place. */
interface ChildEvent {
  readonly place: string;
  readonly word: string;
}

/** Where lines of the session itself are seen. */
const LINES = "lines";

/** Where the status is seen. */
const STATUS = "status";

/** Where it is seen what the API streams. */
const STREAM = "stream";

/** How long the model waits for its next event at most, in milliseconds: the time until it is woken, and some more. */
const LONGEST_MS = 70_000;

/**
 * What takes its most time, as it did in some recordings: in "stopped" Escape comes after some words, and in "offline"
 * SIGTERM comes before the lines of the turn's end.
 */
const LATE: readonly Timing[] = ["key", "hookEnd"];

/** A world in which everything else takes its least time. */
class QuickWorld extends World {
  readonly #take: (news: News) => void;

  constructor(take: (news: News) => void) {
    super(new Choices([]), take);
    this.#take = take;
  }

  override send(_channel: Channel, _afterMs: number, ...news: readonly News[]): void {
    for (const each of news) this.#take(each);
  }

  override takes(timing: Timing): number {
    const [least, most, busiest] = TIMINGS[timing];
    // Lines are written when that is needed: in "conversation" the next turn takes its prompts from the queue before.
    if (timing === "flush") return busiest;
    return LATE.includes(timing) ? most : least;
  }
}

/**
 * Leads a simulated Claude Code through a recorded run: it is carried on until it has done what was recorded next, and is
 * then given what the program did because of that. Thus it can do nothing for which something is missing that came later.
 */
class Follower {
  readonly #child: Child;
  readonly #script: Script;
  readonly #world: QuickWorld;
  /** What the model has done beyond the recording, by its places. */
  readonly #done = new Map<string, { readonly word: string; readonly news: News }[]>();
  /** The model's ids of hooks, by those in the recording. */
  readonly #hooks = new Map<string, string>();
  /** Subagents of the model, in the order of their start. */
  readonly #agents: string[] = [];
  /** All that the model has done, in its order. */
  readonly events: ChildEvent[] = [];
  /** What has ended tasks in the background. */
  readonly #ended = new Set<Gate>();
  /** The recorded lines that the model has not written yet. */
  readonly #lines: string[];

  constructor(script: Script, lines: readonly string[]) {
    this.#lines = [...lines];
    this.#script = script;
    this.#world = new QuickWorld((news) => this.#receive(news));
    this.#child = new Child(this.#world, script.options, script.moves);
  }

  /** Follows a recording to its end; fails where the model cannot. */
  follow(steps: readonly RecordedStep[]): void {
    const agents = agentsIn(steps);
    const words = new Map<string, string>();
    for (const [step, { input, effects }] of steps.entries()) {
      const event = eventIn(input, agents);
      if (event !== undefined) {
        const last = words.get(event.place);
        words.set(event.place, event.word);
        // The file of the status is read again without a change, and a block is streamed in many pieces.
        const isRepeated = event.word === last &&
          (event.place === STATUS || event.place === STREAM);
        if (!isRepeated) this.#expect(event, input, nextLine(steps, step));
      }
      if (input.type === "screen") this.#expectDialog();
      for (const effect of effects) this.#perform(effect);
    }
    this.#done.delete(STATUS);
    const left = [...this.#done].flatMap(([place, events]) =>
      events.map(({ word }) => `${place}: ${word}`)
    );
    assertEquals(left, [], "the model does more than was recorded");
  }

  #receive(news: News): void {
    if (news.type === "subagent") {
      const { agentId } = news.line.subagent;
      if (!this.#agents.includes(agentId)) this.#agents.push(agentId);
    }
    const event = eventIn(news, this.#agents);
    if (event === undefined) return;
    this.events.push(event);
    if (event.place === LINES) this.#lines.shift();
    const events = this.#done.get(event.place) ?? [];
    events.push({ word: event.word, news });
    this.#done.set(event.place, events);
  }

  /** Carries the model on until it has done what an input tells. */
  #expect({ place, word }: ChildEvent, input: Input, line: Entry | undefined): void {
    // A task ends before it is told of, which changes the status first.
    const end = line && this.#script.ends.get(endedCall(line));
    if (end !== undefined && (place === STATUS || place === LINES)) this.#ended.add(end);
    const news = this.#carryOn(`"${word}" (${place})`, () => {
      const done = this.#done.get(place) ?? [];
      // The file of the status is looked at from time to time, and has then only the last one.
      const found = place === STATUS ? done.findIndex((event) => event.word === word) : 0;
      const [event] = found < 0 ? [] : done.splice(0, found + 1).slice(-1);
      if (event === undefined || event.word === word) return event?.news;
      throw new Error(`"${word}" (${place}) was recorded, the model has "${event.word}"`);
    });
    if (input.type === "hook" && news.type === "hook") {
      this.#hooks.set(input.id ?? "", news.id ?? "");
    }
  }

  /** Carries the model on until it shows a dialog, once it has read all keys. */
  #expectDialog(): void {
    let areRead = false;
    this.#world.schedule.after(this.#world.takes("key"), () => areRead = true);
    this.#carryOn("a dialog", () => areRead ? this.#child.dialog : undefined);
  }

  /** Carries the model on until something is found. */
  #carryOn<Found>(name: string, find: () => Found | undefined): Found {
    const { schedule } = this.#world;
    const latest = schedule.now + LONGEST_MS;
    for (;;) {
      this.#flush();
      for (const end of this.#ended) end.open();
      const found = find();
      if (found !== undefined) return found;
      if (schedule.next > latest) throw new Error(`${name} was recorded, the model waits in vain`);
      schedule.runNext();
    }
  }

  /** Writes the lines that the model has collected, if those were recorded next: others may come before them otherwise. */
  #flush(): void {
    const [first] = this.#child.collected.flatMap((entry) => lineEvent(entry, LINES) ?? []);
    if (first !== undefined && first.word === this.#lines[0]) this.#child.flush();
  }

  #perform(effect: ConversationEffect): void {
    switch (effect.type) {
      case "write":
        return this.#child.type(effect.bytes);
      case "deliver":
        return this.#child.deliver(effect.prompt);
      case "answer":
        return this.#child.answerHook({ ...effect, id: this.#hooks.get(effect.id) ?? "" });
      case "kill":
        return this.#child.signal(effect.signal);
      default:
        return;
    }
  }
}

/**
 * What an input tells that the child did; undefined for what answers an effect, such as a screen, for the bytes of its
 * terminal, and for the runs of its status line, which depend on the time.
 */
function eventIn(input: Untimed<Input>, agents: readonly string[]): ChildEvent | undefined {
  switch (input.type) {
    case "hook": {
      const { event, payload, id } = input;
      const told = [
        ...(id === undefined ? [] : ["waits"]),
        ...(payload["agent_id"] === undefined ? [] : ["for a subagent"]),
        ...listed("tasks", payload["background_tasks"]),
        ...listed("wake-ups", payload["session_crons"]),
        ...(payload["stop_hook_active"] === true ? ["again"] : []),
        ...(payload["final"] === false ? ["not final"] : []),
      ];
      return { place: "hooks", word: [event, ...told].join(", ") };
    }
    case "status":
      return { place: STATUS, word: input.status };
    case "fault":
    case "retry":
      return { place: "API", word: input.type };
    case "transcript":
      return lineEvent(input.entry, LINES);
    case "subagent": {
      const { subagent: { agentId }, entry } = input.line;
      return lineEvent(entry, `lines of subagent ${agents.indexOf(agentId)}`);
    }
    case "stream": {
      const { part } = input;
      return { place: STREAM, word: part.kind === "event" ? `${part.event["type"]}` : part.kind };
    }
    case "shell":
    case "shell-output":
    case "shell-over":
      return { place: "shells", word: input.type };
    case "exit": {
      const { exit } = input;
      return { place: "exit", word: exit.kind === "exited" ? `${exit.code}` : `${exit.name}` };
    }
    default:
      return undefined;
  }
}

/** The next line of the session itself in a recorded run. */
function nextLine(steps: readonly RecordedStep[], from: number): Entry | undefined {
  const next = steps.slice(from).find(({ input }) => eventIn(input, [])?.place === LINES);
  return next?.input.type === "transcript" ? next.input.entry : undefined;
}

/** The call that started the task of whose end a line tells, if it tells of one. */
function endedCall(entry: Entry): string | undefined {
  const { content } = lineOf(entry) as JsonObject;
  return /<tool-use-id>(.*)<\/tool-use-id>/u.exec(`${content}`)?.[1];
}

/** How many there are of something, if any. */
function listed(name: string, values: unknown): readonly string[] {
  return Array.isArray(values) && values.length > 0 ? [`${values.length} ${name}`] : [];
}

/** What a line of a transcript tells; undefined for what describes the session. */
function lineEvent(entry: Entry, place: string): ChildEvent | undefined {
  const line = lineOf(entry) as JsonObject;
  const { type } = line;
  // Claude Code writes these by themselves, before earlier lines or after them.
  if (type === "api-request") return { place: `requests, ${place}`, word: type };
  const word = wordOf(line);
  return word === undefined ? undefined : { place, word };
}

/** A line in a word or two; undefined for one that is not compared (see `MASKED`). */
function wordOf(line: JsonObject): string | undefined {
  const { type, subtype, operation, message, attachment, origin, isMeta } = line;
  const { content, stop_reason: reason } = isJsonObject(message) ? message : {};
  const blocks = Array.isArray(content) ? content.filter(isJsonObject) : [];
  switch (type) {
    case "assistant":
      return [
        ...["assistant", ...blocks.map(({ type, name = "" }) => `${type} ${name}`)],
        ...[`(${reason})`, ...(line["isApiErrorMessage"] ? ["error"] : [])],
      ].join(" ");
    case "user": {
      const [first] = blocks;
      if (first?.["type"] === "tool_result") {
        return first["is_error"] === true ? "result, error" : "result";
      }
      if (content === "a reminder") return undefined;
      if (isMeta === true) return "remark";
      if (first !== undefined) return `${first["text"]}`;
      return `prompt of ${isJsonObject(origin) ? origin["kind"] : "the model"}`;
    }
    case "system":
      return `system ${subtype}`;
    case "queue-operation":
      return `queue ${operation}`;
    case "cost-state":
      return type;
    case "attachment": {
      const { type: kind } = isJsonObject(attachment) ? attachment : {};
      return `${kind}`.startsWith("hook_") ? `${kind}` : undefined;
    }
    default:
      return undefined;
  }
}

/** The subagents of a recorded run, in the order of the calls that started them. */
function agentsIn(steps: readonly RecordedStep[]): readonly string[] {
  const lines = steps.map(({ input }) => input.type === "transcript" ? JSON.stringify(input) : "");
  const agents = new Map(
    steps.flatMap(({ input }) =>
      input.type === "subagent"
        ? [[input.line.subagent.agentId, input.line.subagent.toolUseId] as const]
        : []
    ),
  );
  const start = (id: string | undefined) => lines.findIndex((line) => line.includes(`"${id}"`));
  return [...agents].toSorted(([, one], [, other]) => start(one) - start(other)).map(([id]) => id);
}

/** Gives several things the same reason. */
function reasonFor(reason: string, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, reason]));
}

/** What kind of input or line it is. */
function kindOf(input: Input): string {
  if (input.type !== "transcript" && input.type !== "subagent") return input.type;
  const entry = input.type === "transcript" ? input.entry : input.line.entry;
  const { type, attachment } = lineOf(entry) as JsonObject;
  return isJsonObject(attachment) ? `${type} ${attachment["type"]}` : `${type}`;
}

/** Where an effect comes before its cause, if it does. */
function findEarlyEffect(events: readonly ChildEvent[]): string | undefined {
  const words = events.map(({ place, word }) => `${place}: ${word}`);
  for (const [cause, effect] of CAUSES) {
    if (!words.some((word) => word.startsWith(cause))) continue;
    let open = 0;
    for (const word of words) {
      if (word.startsWith(cause)) open++;
      else if (word.startsWith(effect) && open-- === 0) return `"${effect}" before "${cause}"`;
    }
  }
  return undefined;
}

/** A recorded run, as what happened and what the program did because of it. */
function stepsOf({ cassette: { cast } }: RecordedRun): readonly RecordedStep[] {
  const steps: { readonly input: Input; readonly effects: ConversationEffect[] }[] = [];
  fold(cast.header.claude_print.conversation, castInputs(cast), {
    onInput: (input) => steps.push({ input, effects: [] }),
    onEffect: (effect) => steps.at(-1)?.effects.push(effect),
  });
  return steps;
}

/** The runs, each read only once. */
const RUNS = RECORDED_RUNS.filter(({ name }) => name.startsWith(`${VERSION}/`)).map((run) => {
  let steps: readonly RecordedStep[] | undefined;
  const [, name = ""] = run.name.split("/");
  return {
    name,
    get steps() {
      return steps ??= stepsOf(run);
    },
  };
});

/** Leads the model through a recorded run. */
function follow(steps: readonly RecordedStep[], performed = steps): Follower {
  const lines = steps.flatMap(({ input }) => eventIn(input, []) ?? []).filter(({ place }) =>
    place === LINES
  );
  const follower = new Follower(readScript(steps), lines.map(({ word }) => word));
  follower.follow(performed);
  return follower;
}

for (const run of RUNS) {
  Deno.test(`the simulated child repeats the run "${run.name}"`, () => {
    const { events } = follow(run.steps);
    const agents = agentsIn(run.steps);
    const recorded = run.steps.flatMap(({ input }) => eventIn(input, agents) ?? []);
    assertEquals(findEarlyEffect(recorded), undefined);
    assertEquals(findEarlyEffect(events), undefined);
  });
}

Deno.test("what is not compared of recorded runs is listed", () => {
  assert(RUNS.length >= 52);
  for (const { name, steps } of RUNS) {
    for (const { input } of steps) {
      if (eventIn(input, []) !== undefined) continue;
      const kind = kindOf(input);
      assert(kind in MASKED || kind in (LEFT_OUT[name] ?? {}), `${name}: ${kind}`);
    }
  }
});

for (const type of ["answer", "deliver", "kill"] as const) {
  Deno.test(`the simulated child waits for each missing "${type}"`, () => {
    let waits = 0;
    for (const { name, steps } of RUNS) {
      for (const missing of steps.flatMap(({ effects }) => effects)) {
        if (!isNeeded(missing, type)) continue;
        const performed = steps.map(({ input, effects }) => ({
          input,
          effects: effects.filter((effect) => effect !== missing),
        }));
        assertThrows(() => follow(steps, performed), Error, "was recorded, the model", name);
        waits++;
      }
    }
    assert(waits > 5, `${waits}`);
  });
}

/** Whether it is an effect of a type without which the child cannot go on: it waits for no answer at its end. */
function isNeeded(effect: ConversationEffect, type: "answer" | "deliver" | "kill"): boolean {
  return effect.type === type && !(effect.type === "answer" && effect.id === "end");
}
