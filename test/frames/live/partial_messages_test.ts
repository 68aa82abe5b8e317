import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { anyCharacter } from "../../any_character.ts";
import type {
  AssistantFrame,
  StreamEvent,
  StreamEventFrame,
} from "../../../src/wire/message_frames.ts";
import type { Frame } from "../../../src/wire/frame.ts";
import type { FramesOptions } from "../../../src/frames/telling/frames_options.ts";
import { BRIDGED_OUTPUT_TOOL } from "../../../src/transcript/structured_output.ts";
import { startTelling, type Telling } from "../telling.ts";
import { assertStreamGrammar } from "./stream_grammar.ts";

const VERSION = "2.1.332";

/** The frames with what matters of them. */
const outline = (frames: readonly Frame[]) =>
  frames.map((frame) => {
    if (frame.type === "stream_event") return outlineOf((frame as StreamEventFrame).event);
    if (frame.type !== "assistant") {
      return frame.subtype === undefined ? frame.type : `${frame.type}/${frame.subtype}`;
    }
    const [block] = (frame as AssistantFrame).message.content;
    return `assistant ${block?.type}(${block?.text ?? block?.name ?? ""})`;
  });

function outlineOf({ type, index, delta, content_block: block }: StreamEvent): string {
  const place = index === undefined ? "" : ` ${index}`;
  const { type: kind } = (block ?? {}) as { readonly type?: string };
  const what = delta?.["text"] ?? delta?.["thinking"] ?? delta?.["signature"] ??
    delta?.["partial_json"] ?? delta?.["stop_reason"] ?? kind;
  return `${type}${place}${what === undefined ? "" : ` ${JSON.stringify(what)}`}`;
}

/** A run whose turn has begun. */
function begun(options: Partial<FramesOptions> = {}): Telling {
  const run = startTelling({ partial: true, ...options });
  run.tell({ type: "hook", event: "SessionStart", payload: { model: "opus[1m]" } });
  run.push({ version: VERSION, type: "user", uuid: "p", message: { content: "Hi" } });
  run.begin();
  run.frames.length = 0;
  return run;
}

const display = (
  { tell }: Telling,
  index: number,
  delta: string,
  more: Readonly<Record<string, unknown>> = {},
) =>
  tell({
    type: "hook",
    event: "MessageDisplay",
    payload: { turn_id: "t", message_id: "d", index, final: false, delta, ...more },
  });

const usage = { input_tokens: 3, output_tokens: 9, speed: "standard" };
let lines = 0;
const answerLine = (id: string, block: object, stop_reason: string | null = "end_turn") => ({
  version: VERSION,
  type: "assistant",
  uuid: `line-${++lines}`,
  message: { id, model: "opus", content: [block], stop_reason, usage },
});
const text = (text: string) => ({ type: "text", text });
const call = { type: "tool_use", id: "c", name: "Bash", input: { command: "ls" } };
const result = {
  version: VERSION,
  type: "user",
  message: { content: [{ type: "tool_result", tool_use_id: "c", content: "x" }] },
};

const REQUEST = ["system/status", "message_start"];
const TEXT_BEGINS = 'content_block_start 0 "text"';

Deno.test("an answer is told as it is written, and its frame before the end of its block", () => {
  const run = begun();
  display(run, 0, "one\n");
  assertEquals(outline(run.frames), [
    ...REQUEST,
    TEXT_BEGINS,
    'content_block_delta 0 "one\\n"',
  ]);
  display(run, 1, "two");
  run.push(answerLine("m", text("one\ntwo")));
  assertEquals(outline(run.frames).slice(4), [
    'content_block_delta 0 "two"',
    "assistant text(one\ntwo)",
    "content_block_stop 0",
    'message_delta "end_turn"',
    "message_stop",
  ]);
  const [, start, ...rest] = run.frames as readonly StreamEventFrame[];
  const { id, model } = start?.event["message"] as AssistantFrame["message"];
  assertEquals([model, start?.["thinking_display"]], ["opus", "updates"]);
  const answer = run.frames.find(({ type }) => type === "assistant") as AssistantFrame;
  assertEquals(answer.message.id, id, "the frame names the answer as its beginning does");
  const ids = rest.filter(({ type }) => type === "stream_event")
    .map(({ api_message_id }) => api_message_id);
  assertEquals(new Set(ids), new Set([id]));
  const end = rest.find(({ event }) => event?.type === "message_delta");
  assertEquals(end?.event["usage"], { input_tokens: 3, output_tokens: 9 });
});

Deno.test("a thought known while its text is streamed has a frame alone", () => {
  const run = begun();
  display(run, 0, "one\n");
  const thought = { type: "thinking", thinking: "hm", signature: "s" };
  run.push(answerLine("m", thought, null));
  display(run, 1, "two", { final: true });
  run.push(answerLine("m", text("one\ntwo")));
  assertEquals(outline(run.frames).slice(3), [
    'content_block_delta 0 "one\\n"',
    "assistant thinking()",
    'content_block_delta 0 "two"',
    "assistant text(one\ntwo)",
    "content_block_stop 0",
    'message_delta "end_turn"',
    "message_stop",
  ]);
  assertStreamGrammar(run.frames);
});

Deno.test("what no hook has told is told from the lines, tools included, and hooks that come later tell nothing", () => {
  const run = begun();
  run.tell({ type: "read" });
  for (const block of [{ type: "thinking", thinking: "hm" }, text("I look"), call]) {
    run.push(answerLine("m", block, null));
  }
  display(run, 0, "I look", { final: true });
  run.push(result);
  display(run, 0, "done\n", { message_id: "e" });
  display(run, 1, "so", { message_id: "e", final: true });
  const message = [
    'content_block_start 0 "thinking"',
    'content_block_delta 0 "hm"',
    "assistant thinking()",
    "content_block_stop 0",
    'content_block_start 1 "text"',
    'content_block_delta 1 "I look"',
    "assistant text(I look)",
    "content_block_stop 1",
    'content_block_start 2 "tool_use"',
    'content_block_delta 2 "{\\"command\\":\\"ls\\"}"',
    "assistant tool_use(Bash)",
    "content_block_stop 2",
  ];
  assertEquals(outline(run.frames), [
    ...REQUEST,
    ...message,
    // The API has not said how this answer ended.
    "message_stop",
    "user",
    ...REQUEST,
    TEXT_BEGINS,
    'content_block_delta 0 "done\\n"',
    'content_block_delta 0 "so"',
  ]);
});

Deno.test("what a call gave that returned while its answer went on stands in the middle of that answer", () => {
  const run = begun();
  const whole = (place: number) => [
    `content_block_start ${place} "tool_use"`,
    `content_block_delta ${place} "{\\"command\\":\\"ls\\"}"`,
    "assistant tool_use(Bash)",
    `content_block_stop ${place}`,
  ];
  run.push(
    answerLine("m", call, "tool_use"),
    result,
    answerLine("m", { ...call, id: "d" }, "tool_use"),
  );
  assertEquals(outline(run.frames), [
    ...REQUEST,
    ...whole(0),
    "user",
    ...whole(1),
    'message_delta "tool_use"',
    "message_stop",
  ]);
});

Deno.test("what hooks tell of the next answer waits for what the model is told before it", () => {
  const run = begun();
  run.push(answerLine("m", call, "tool_use"));
  const told = run.frames.length;
  display(run, 0, "next\n", { message_id: "e" });
  assertEquals(run.frames.length, told);
  run.push(result);
  assertEquals(outline(run.frames.slice(told)), [
    "user",
    ...REQUEST,
    TEXT_BEGINS,
    'content_block_delta 0 "next\\n"',
  ]);
});

Deno.test("an answer displayed before the lines of earlier calls waits for their results", () => {
  const calls = answerLine("m", call, "tool_use");
  const batch = { tool_calls: [{ tool_use_id: "c" }] };
  const expected = [
    ...REQUEST,
    'content_block_start 0 "tool_use"',
    'content_block_delta 0 "{\\"command\\":\\"ls\\"}"',
    "assistant tool_use(Bash)",
    "content_block_stop 0",
    'message_delta "tool_use"',
    "message_stop",
    "user",
    ...REQUEST,
    TEXT_BEGINS,
    'content_block_delta 0 "done\\n"',
  ];
  const orders = [
    ["batch", "display", "call", "result"],
    ["batch", "call", "display", "result"],
    [
      "call",
      "batch",
      "result",
      "display",
    ],
    ["call", "result", "batch", "display"],
    ["call", "batch", "display", "result"],
  ];
  for (const order of orders) {
    const run = begun();
    for (const each of order) {
      if (each === "batch") run.tell({ type: "hook", event: "PostToolBatch", payload: batch });
      else if (each === "display") display(run, 0, "done\n");
      else run.push(each === "call" ? calls : result);
    }
    assertEquals(outline(run.frames), expected, order.join());
  }
});

Deno.test("a batch of a subagent's calls holds up no answer", () => {
  const run = begun();
  const payload = { agent_id: "a", tool_calls: [{ tool_use_id: "c" }] };
  run.tell({ type: "hook", event: "PostToolBatch", payload });
  display(run, 0, "done\n");
  assertEquals(outline(run.frames).slice(-1), ['content_block_delta 0 "done\\n"']);
});

Deno.test("the result of a structured answer comes before the end of the answer that gives it", () => {
  const given = answerLine("m", { ...call, name: BRIDGED_OUTPUT_TOOL }, "tool_use");
  for (const isAtOnce of [true, false]) {
    const run = begun({ output: true });
    if (isAtOnce) run.push(given, result);
    else for (const line of [given, result]) run.push(line);
    assertEquals(outline(run.frames).slice(-4), [
      ...["content_block_stop 0", 'message_delta "tool_use"', "user", "message_stop"],
    ]);
  }
});

Deno.test("what hooks tell after the last answer of a turn waits for why the turn goes on", () => {
  const run = begun();
  run.push(answerLine("m", text("done")));
  const told = run.frames.length;
  display(run, 0, "done", { final: true });
  display(run, 0, "more\n", { message_id: "e" });
  assertEquals(run.frames.length, told);
  run.push({ version: VERSION, type: "user", isMeta: true, message: { content: "Go on" } });
  assertEquals(outline(run.frames.slice(told)), [
    "user",
    ...REQUEST,
    TEXT_BEGINS,
    'content_block_delta 0 "more\\n"',
  ]);
});

Deno.test("what hooks tell of a turn waits for its beginning", () => {
  const run = begun();
  display(run, 0, "a");
  run.push(answerLine("m", text("a")));
  const told = run.frames.length;
  display(run, 0, "b\n", { message_id: "e", turn_id: "u" });
  assertEquals(run.frames.length, told);
  run.tell({ type: "read" });
  run.push(answerLine("n", text("b\nc")));
  assertEquals(outline(run.frames.slice(told)), [
    ...REQUEST,
    TEXT_BEGINS,
    'content_block_delta 0 "b\\nc"',
    "assistant text(b\nc)",
    "content_block_stop 0",
    'message_delta "end_turn"',
    "message_stop",
  ]);
});

Deno.test("texts of one answer that hooks join are one text in the stream, and several frames", () => {
  const run = begun();
  display(run, 0, "one.two\n");
  run.push(answerLine("m", text("one."), null));
  run.push(answerLine("m", text("two\nthree")));
  assertEquals(outline(run.frames).slice(2), [
    TEXT_BEGINS,
    'content_block_delta 0 "one.two\\n"',
    "assistant text(one.)",
    'content_block_delta 0 "three"',
    "assistant text(two\nthree)",
    "content_block_stop 0",
    'message_delta "end_turn"',
    "message_stop",
  ]);
});

Deno.test("an answer that breaks off ends as far as it goes, and what stands in its place is not streamed", () => {
  const run = begun();
  display(run, 0, "half\n");
  run.push({ ...answerLine("x", text("API Error")), isApiErrorMessage: true });
  assertEquals(outline(run.frames).slice(2), [
    TEXT_BEGINS,
    'content_block_delta 0 "half\\n"',
    "content_block_stop 0",
    "message_stop",
    "assistant text(API Error)",
  ]);
  assertEquals(run.frames.find((frame) => "abandoned_blocks" in frame)?.["abandoned_blocks"], {
    api_message_id: (run.frames[1] as StreamEventFrame).api_message_id,
    from_block_index: 1,
  });
});

Deno.test("a request that is made again is one request", () => {
  const run = startTelling({ partial: true });
  const retry = { attempt: 1, maxRetries: 10, delayMs: 1000, status: 529 };
  run.tell({ type: "retry", retry });
  run.push({ version: VERSION, type: "user", uuid: "p", message: { content: "Hi" } });
  run.begin();
  display(run, 0, "a\n");
  assertEquals(outline(run.frames), [
    "system/init",
    "system/status",
    "system/api_retry",
    "message_start",
    TEXT_BEGINS,
    'content_block_delta 0 "a\\n"',
  ]);
});

Deno.test("hooks of subagents, of other sessions, and payloads that are none tell nothing", () => {
  const run = begun();
  display(run, 0, "a", { agent_id: "x" });
  display(run, 0, "a", { session_id: "other" });
  for (const index of [-1, 0.5, "0", undefined, Infinity]) display(run, 0, "a", { index });
  display(run, 0, "a", { message_id: 1 });
  display(run, 0, "a", { delta: null });
  assertEquals(run.frames, []);
});

/** Pieces of an answer, in the order in which they are heard, and whether its lines have been read before each. */
const answers = fc.array(
  fc.record({
    texts: fc.array(fc.string({ unit: anyCharacter, minLength: 1 }), {
      minLength: 1,
      maxLength: 3,
    }),
    cuts: fc.array(fc.nat({ max: 30 }), { maxLength: 4 }),
    order: fc.array(fc.nat({ max: 9 }), { maxLength: 5 }),
    linesAfter: fc.nat({ max: 6 }),
    lost: fc.option(fc.nat({ max: 4 })),
    thinks: fc.boolean(),
    calls: fc.boolean(),
  }),
  { minLength: 1, maxLength: 3 },
);

Deno.test("however hooks and lines come, joined deltas are the answer, and events are well-formed", () => {
  fc.assert(fc.property(answers, (drawn) => {
    const run = begun();
    // Where a hook is lost, only their texts tell answers apart.
    const answers = drawn.map(({ texts: [first = "", ...texts], ...rest }, number) => ({
      ...rest,
      texts: [`${number}${first}`, ...texts],
    }));
    for (const [number, answer] of answers.entries()) {
      const { texts, cuts, order, linesAfter, lost, thinks, calls } = answer;
      const whole = texts.join("");
      const ends = [...new Set(cuts.map((cut) => Math.min(cut, whole.length)))].sort((a, b) =>
        a - b
      );
      const pieces = [0, ...ends].map((from, at) => whole.slice(from, ends[at] ?? whole.length));
      const heard = pieces.map((delta, index) => ({ delta, index }))
        .filter(({ index }) => index !== lost)
        .sort((one, other) => (order[one.index] ?? 0) - (order[other.index] ?? 0));
      const read = () => {
        const id = `m${number}`;
        const thought = { type: "thinking", thinking: "hm", signature: "s" };
        run.push(
          ...thinks ? [answerLine(id, thought)] : [],
          ...texts.map((each) => answerLine(id, text(each))),
          ...calls ? [answerLine(id, call, "tool_use")] : [],
        );
        if (calls) run.push(result);
      };
      for (const [at, { delta, index }] of heard.entries()) {
        if (at === linesAfter) read();
        display(run, index, delta, { message_id: `d${number}` });
      }
      if (linesAfter >= heard.length) read();
    }
    run.finish(VERSION);
    assertEquals(joined(run.frames), answers.flatMap(({ texts }) => texts).join(""));
    assertStreamGrammar(run.frames);
  }));
});

function joined(frames: readonly Frame[]): string {
  return eventsOf(frames).map(({ delta }) => delta?.["text"] ?? "").join("");
}

function eventsOf(frames: readonly Frame[]): readonly StreamEvent[] {
  return frames.filter(({ type }) => type === "stream_event")
    .map((frame) => (frame as StreamEventFrame).event);
}
