import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type {
  AssistantFrame,
  StreamEvent,
  StreamEventFrame,
} from "../../../src/wire/message_frames.ts";
import type { Frame } from "../../../src/wire/frame.ts";
import type { FramesOptions } from "../../../src/frames/telling/frames_options.ts";
import { BRIDGED_OUTPUT_TOOL } from "../../../src/transcript/structured_output.ts";
import type { Input, Untimed } from "../../../src/session/input.ts";
import { startTelling, type Telling } from "../telling.ts";

const VERSION = "2.1.332";

/** The frames with what matters of them. */
const outline = (frames: readonly Frame[]) =>
  frames.map((frame) => {
    if (frame.type === "stream_event") {
      const { type, index, delta } = (frame as StreamEventFrame).event;
      return [type, index, delta?.["text"]].filter((each) => each !== undefined).join(" ");
    }
    if (frame.type !== "assistant") {
      return frame.subtype === undefined ? frame.type : `${frame.type}/${frame.subtype}`;
    }
    const [block] = (frame as AssistantFrame).message.content;
    return `assistant ${block?.text ?? block?.type}`;
  });

/** A run whose turn has begun. */
function begun(options: Partial<FramesOptions> = {}): Telling {
  const run = startTelling({ partial: "exact", ...options });
  run.push({ version: VERSION, type: "user", uuid: "p", message: { content: "Hi" } });
  run.begin();
  run.frames.length = 0;
  return run;
}

const asks = ({ tell }: Telling, request: number, at = 0) =>
  tell({ type: "stream", request, part: { kind: "request" } }, at);
const ends = ({ tell }: Telling, request: number) =>
  tell({ type: "stream", request, part: { kind: "end" } });
const streams = (
  { tell }: Telling,
  request: number,
  ...events: readonly (StreamEvent & { readonly at?: number })[]
) => {
  for (const { at = 0, ...event } of events) {
    tell({ type: "stream", request, part: { kind: "event", event } }, at);
  }
};

const start = (id: string): StreamEvent => ({ type: "message_start", message: { id } });
const block = (index: number, content: object): StreamEvent => ({
  type: "content_block_start",
  index,
  content_block: content,
});
const delta = (index: number, text: string): StreamEvent => ({
  type: "content_block_delta",
  index,
  delta: { type: "text_delta", text },
});
const stop = (index: number): StreamEvent => ({ type: "content_block_stop", index });
const over: readonly StreamEvent[] = [
  { type: "message_delta", delta: { stop_reason: "end_turn" } },
  { type: "message_stop" },
];
const EMPTY = { type: "text", text: "" };
const CALL = { type: "tool_use", id: "c", name: "Bash", input: {} };

const line = (id: string, content: object, more: object = {}) => ({
  version: VERSION,
  type: "assistant",
  message: { id, model: "opus", content: [content], stop_reason: "end_turn" },
  ...more,
});
const result = {
  version: VERSION,
  type: "user",
  message: { content: [{ type: "tool_result", tool_use_id: "c", content: "x" }] },
};

Deno.test("an answer is told event by event, and its frame before the end of its block", () => {
  const run = begun();
  asks(run, 1, 100);
  assertEquals(outline(run.frames), ["system/status"]);
  streams(run, 1, { ...start("m"), at: 130 }, { type: "ping" }, block(0, EMPTY), delta(0, "on"));
  streams(run, 1, delta(0, "e"), stop(0), ...over);
  ends(run, 1);
  const before = [
    "system/status",
    "message_start",
    "content_block_start 0",
    "content_block_delta 0 on",
    "content_block_delta 0 e",
  ];
  assertEquals(outline(run.frames), before);
  run.push(line("m", { type: "text", text: "one" }));
  assertEquals(outline(run.frames), [
    ...before,
    "assistant one",
    "content_block_stop 0",
    "message_delta",
    "message_stop",
  ]);
  assertEquals(run.frames[1]?.["ttft_ms"], 30);
  assertEquals(run.frames[1]?.["api_message_id"], "m");
});

const retry = (attempt: number): Untimed<Input> => ({
  type: "retry",
  retry: { attempt, maxRetries: 2, delayMs: 1, status: 529 },
});

const offers = ({ tell }: Telling, tools: readonly string[]) =>
  tell({ type: "stream", request: 1, part: { kind: "request", offer: { tools, fast: true } } });

Deno.test("the first request tells of tools and fast mode where the child does not write them down", () => {
  const run = startTelling({ partial: "exact" });
  const deferred = { type: "deferred_tools_delta", addedNames: ["WebFetch"] };
  run.push(
    { version: VERSION, type: "user", uuid: "p", message: { content: "Hi" } },
    { version: VERSION, type: "attachment", attachment: deferred },
  );
  offers(run, ["Bash", "DeferredToolPlaceholder"]);
  run.begin();
  assertEquals(run.frames[0]?.["tools"], ["Bash", "WebFetch"]);
});

Deno.test("how much has been thought is told ahead of each thought, and the first of an answer is timed", () => {
  const run = startTelling({ partial: "exact" });
  const timestamp = new Date(40).toISOString();
  run.push({ version: VERSION, type: "user", uuid: "p", message: { content: "Hi" }, timestamp });
  run.begin();
  run.frames.length = 0;
  asks(run, 1, 100);
  const thought = (thinking: string): StreamEvent => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "thinking_delta", thinking },
  });
  streams(run, 1, { ...start("m"), at: 130 }, { ...block(0, { type: "thinking" }), at: 140 });
  streams(run, 1, thought("one two "), thought("three"), { ...stop(0), at: 160 });
  streams(run, 1, { ...block(1, EMPTY), at: 170 }, delta(1, "x"), stop(1), ...over);
  ends(run, 1);
  run.push(line("m", { type: "thinking", thinking: "one two three", signature: "" }));
  run.push(line("m", { type: "text", text: "x" }));
  assertEquals(outline(run.frames).slice(2, 7), [
    "content_block_start 0",
    "system/thinking_tokens",
    "content_block_delta 0",
    "system/thinking_tokens",
    "content_block_delta 0",
  ]);
  const counts = run.frames.filter(({ subtype }) => subtype === "thinking_tokens")
    .map((frame) => [frame["estimated_tokens"], frame["estimated_tokens_delta"]]);
  assertEquals(counts, [[2, 2], [4, 2]]);
  assertEquals(run.state().exact?.times, {
    askedAt: 100,
    begunAt: 130,
    contentAt: 140,
    wholeAt: 160,
  });
});

Deno.test("what the API says of limits is told after an answer, and again where it is something else", () => {
  const run = begun();
  const answers = (request: number, reset: string) => {
    const limits = { headers: { reset }, now: 0 };
    asks(run, request);
    run.tell({ type: "stream", request, part: { kind: "limits", limits } });
    streams(run, request, start(`m${request}`), block(0, CALL), stop(0), ...over);
    ends(run, request);
    run.push(line(`m${request}`, CALL));
    run.push(result);
    return outline(run.frames.splice(0)).filter((name) =>
      /^(?:rate|message_stop|user)/u.test(name)
    );
  };
  const told = ["message_stop", "rate_limit_event", "user"];
  assertEquals(answers(1, "5"), told);
  assertEquals(answers(2, "5"), ["message_stop", "user"]);
  assertEquals(answers(3, "6"), told);
  // A limit that is used up is told of otherwise, and what is allowed again is something else.
  run.tell({ type: "stream", request: 4, part: { kind: "limits" } });
  assertEquals(answers(5, "6"), told);
});

Deno.test("blocks that follow do not wait for the lines of those before, and the next answer waits for what tools gave", () => {
  const run = begun();
  asks(run, 1);
  streams(run, 1, start("m"), block(0, { type: "thinking" }), stop(0), block(1, CALL), stop(1));
  streams(run, 1, ...over);
  run.push(line("m", { type: "thinking" }), line("m", CALL));
  asks(run, 2);
  streams(run, 2, start("n"), block(0, EMPTY), delta(0, "a"));
  assertEquals(outline(run.frames), [
    ...["system/status", "message_start", "content_block_start 0", "content_block_stop 0"],
    ...["content_block_start 1", "assistant thinking", "assistant tool_use"],
    ...["content_block_stop 1", "message_delta", "message_stop"],
  ]);
  run.frames.length = 0;
  run.push(result);
  assertEquals(outline(run.frames), [
    ...["user", "system/status", "message_start", "content_block_start 0"],
    "content_block_delta 0 a",
  ]);
});

Deno.test("what a call gave that returned while its answer went on comes before the rest of that, which is one answer", () => {
  const run = begun();
  const other = { ...CALL, id: "d" };
  asks(run, 1);
  streams(run, 1, start("m"), block(0, CALL), stop(0), block(1, other));
  run.frames.length = 0;
  streams(run, 1, stop(1), ...over);
  run.push(line("m", CALL), result, line("m", other));
  asks(run, 2);
  assertEquals(outline(run.frames), [
    ...["assistant tool_use", "user", "assistant tool_use"],
    ...["content_block_stop 1", "message_delta", "message_stop"],
  ]);
  run.frames.length = 0;
  const [{ content }] = [result.message];
  run.push({ ...result, message: { content: [{ ...content[0], tool_use_id: "d" }] } });
  assertEquals(outline(run.frames), ["user", "system/status"]);
});

Deno.test("the result of a structured answer comes before the end of the answer that gives it", () => {
  const given = { ...CALL, name: BRIDGED_OUTPUT_TOOL };
  const run = begun({ output: true });
  asks(run, 1);
  streams(run, 1, start("m"), block(0, given), stop(0), ...over);
  run.push(line("m", given));
  run.push(result);
  assertEquals(outline(run.frames).slice(-4), [
    ...["content_block_stop 0", "message_delta", "user", "message_stop"],
  ]);
});

Deno.test("an answer that breaks off ends where it does", () => {
  const run = begun();
  asks(run, 1);
  streams(run, 1, start("m"), block(0, EMPTY), delta(0, "half"));
  ends(run, 1);
  run.push(
    line("m", { type: "text", text: "half" }),
    line("x", { type: "text", text: "API Error" }, { isApiErrorMessage: true }),
  );
  assertEquals(outline(run.frames), [
    ...["system/status", "message_start", "content_block_start 0", "content_block_delta 0 half"],
    ...["assistant half", "content_block_stop 0", "message_stop", "assistant API Error"],
  ]);
});

Deno.test("a request that fails, and an answer that nobody streams, have their frames", () => {
  const run = begun();
  asks(run, 1);
  ends(run, 1);
  run.tell(retry(1));
  asks(run, 2);
  ends(run, 2);
  run.push(line("m", { type: "text", text: "whole" }));
  assertEquals(outline(run.frames), ["system/status", "system/api_retry", "assistant whole"]);
});

Deno.test("a request that is made again is told after all that came before it, as late as that may be read", () => {
  const run = startTelling({ partial: "exact" });
  run.push({ version: VERSION, type: "user", uuid: "p", message: { content: "Hi" } });
  asks(run, 1);
  streams(run, 1, start("m"), block(0, CALL), stop(0), ...over);
  ends(run, 1);
  asks(run, 2);
  ends(run, 2);
  run.tell(retry(1));
  assertEquals(run.frames, []);
  run.begin();
  const before = ["system/init", "system/status", "message_start", "content_block_start 0"];
  assertEquals(outline(run.frames), before);
  run.push(line("m", CALL), result, line("x", EMPTY, { isApiErrorMessage: true }));
  assertEquals(outline(run.frames), [
    ...before,
    ...["assistant tool_use", "content_block_stop 0", "message_delta", "message_stop", "user"],
    ...["system/status", "system/api_retry", "assistant "],
  ]);
});

Deno.test("a retry that nothing has announced is told before the answer that streams then", () => {
  const run = begun();
  asks(run, 1);
  run.tell({ type: "fault", fault: { attempt: 1, maxRetries: 2, status: 529 } });
  ends(run, 1);
  asks(run, 2);
  streams(run, 2, start("m"));
  run.tell(retry(1));
  assertEquals(outline(run.frames), ["system/status", "system/api_retry", "message_start"]);
});

Deno.test("an answer that breaks off holds up neither word of the next request nor its stream", () => {
  const run = begun();
  asks(run, 1);
  streams(run, 1, start("m"), block(0, CALL));
  ends(run, 1);
  run.tell(retry(1));
  asks(run, 2);
  streams(run, 2, start("n"), block(0, EMPTY));
  assertEquals(outline(run.frames), [
    ...["system/status", "message_start", "content_block_start 0", "content_block_stop 0"],
    ...["message_stop", "system/api_retry", "message_start", "content_block_start 0"],
  ]);
});

Deno.test("what is no stream of the API's changes nothing", () => {
  const run = begun();
  streams(run, 1, delta(0, "a"), { type: "nonsense" }, { type: "message_start", message: 1 });
  ends(run, 7);
  run.push(line("m", { type: "text", text: "a" }));
  assertEquals(outline(run.frames).at(-1), "assistant a");
});

Deno.test("whenever lines are read, events come in their order, each once, and frames before the end of the answer", () => {
  const answers = fc.array(
    fc.record({
      texts: fc.array(fc.string(), { minLength: 1, maxLength: 4 }),
      tool: fc.boolean(),
      failures: fc.nat({ max: 2 }),
    }),
    { minLength: 1, maxLength: 3 },
  );
  fc.assert(fc.property(answers, fc.array(fc.nat({ max: 6 })), (answers, delays) => {
    const run = begun();
    const expected: string[] = [];
    let late: (() => void)[] = [];
    for (const [number, { texts, tool, failures }] of answers.entries()) {
      const id = `m${number}`;
      const call = { ...CALL, id: `c${number}` };
      const events = [
        start(id),
        ...texts.flatMap((text, index) => [block(index, EMPTY), delta(index, text), stop(index)]),
        ...tool ? [block(texts.length, call), stop(texts.length)] : [],
        ...over,
      ];
      for (let attempt = 1; attempt <= failures; attempt++) {
        asks(run, number + attempt / 10);
        ends(run, number + attempt / 10);
        run.tell(retry(attempt));
        expected.push(`${attempt}`);
      }
      asks(run, number);
      for (const event of events) {
        if ((delays.pop() ?? 0) === 0) { for (const tell of late.splice(0)) tell(); }
        streams(run, number, event);
      }
      ends(run, number);
      expected.push(...events.map((event) => JSON.stringify(event)));
      late = [...late, () => {
        run.push(
          ...texts.map((text) => line(id, { type: "text", text })),
          ...tool ? [line(id, call)] : [],
        );
        run.push({
          ...result,
          message: { content: [{ type: "tool_result", tool_use_id: `c${number}` }] },
        });
      }];
    }
    for (const tell of late) tell();
    run.finish(VERSION);
    const told = run.frames.flatMap((frame) =>
      frame.type === "stream_event"
        ? [JSON.stringify(frame["event"])]
        : frame.subtype === "api_retry"
        ? [`${frame["attempt"]}`]
        : []
    );
    assertEquals(told, expected);
    const kinds = run.frames.map((frame) =>
      frame.type === "stream_event" ? (frame as StreamEventFrame).event.type : frame.type
    );
    const blocks = answers.map(({ texts, tool }) => texts.length + (tool ? 1 : 0));
    const shown = kinds.join(" ").split("message_stop").map((part) =>
      part.split(" ").filter((kind) => kind === "assistant").length
    );
    assertEquals(shown.slice(0, -1), blocks);
  }));
});
