import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { thinkingEstimate } from "../../../src/conversation/output/live/exact_stream.ts";
import { timesToFirst } from "../../../src/conversation/output/result/build_result.ts";
import {
  firstAnswerTimes,
  forgetRequestsBefore,
  NO_REQUESTS,
  observeRequest,
} from "../../../src/conversation/output/live/answer_state.ts";
import type { OutputOptions } from "../../../src/conversation/output/output_options.ts";
import type { StreamedPart } from "../../../src/conversation/control/input.ts";
import { BRIDGED_OUTPUT_TOOL } from "../../../src/claude/transcript/structured_output_tool.ts";
import type {
  AssistantFrame,
  StreamEvent,
  StreamEventFrame,
} from "../../../src/claude/wire/message_frames.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { answer, attached, type Line, prompt, result } from "./lines.ts";
import { fieldsOf } from "./outlines.ts";
import { begun, FramesRun, type News } from "./runs.ts";

/** Frames in a few words each: the events without what their types say. */
const outline = (frames: readonly Frame[]): string =>
  frames.map((frame) => {
    if (frame.type === "stream_event") {
      const { type, index, delta } = (frame as StreamEventFrame).event;
      const name = type.replace("content_block_", "").replace("message_", "message-");
      return [name, index, delta?.["text"]].filter((each) => each !== undefined).join(":");
    }
    if (frame.type !== "assistant") return frame.subtype ?? frame.type;
    const [block] = (frame as AssistantFrame).message.content;
    return `<${block?.text ?? block?.type}>`;
  }).join(" ");

const stream = (run: FramesRun, request: number, ...parts: readonly StreamedPart[]) =>
  run.give(...parts.map((part): News => ({ type: "stream", request, part })));
const asks = (run: FramesRun, request: number) => stream(run, request, { kind: "request" });
const ends = (run: FramesRun, request: number) => stream(run, request, { kind: "end" });
const events = (run: FramesRun, request: number, ...events: readonly StreamEvent[]) =>
  stream(run, request, ...events.map((event) => ({ kind: "event", event }) as const));
const retries = (run: FramesRun, attempt: number) =>
  run.give({ type: "retry", retry: { attempt, maxRetries: 2, delayMs: 1, status: 529 } });

const start = (id: string): StreamEvent => ({ type: "message_start", message: { id } });
const EMPTY = { type: "text", text: "" };
const block = (index: number, content: Line = EMPTY): StreamEvent => ({
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
const OVER: readonly StreamEvent[] = [
  { type: "message_delta", delta: { stop_reason: "end_turn" } },
  { type: "message_stop" },
];
const CALL = { type: "tool_use", id: "c", name: "Bash", input: {} };

const exact = (options: Partial<OutputOptions> = {}) => begun({ partial: "exact", ...options });
const line = (id: string, content: Line, more: Line = {}) => answer([content], id, more);
const texts = (id: string, text: string) => line(id, { type: "text", text });

Deno.test("an answer's frame comes before its block's end", () => {
  const run = exact();
  asks(run, 1);
  assertEquals(outline(run.take()), "status");
  run.waitUntil(run.now + 30);
  events(run, 1, start("m"), { type: "ping" }, block(0), delta(0, "on"), delta(0, "e"), stop(0));
  events(run, 1, ...OVER);
  ends(run, 1);
  const frames = run.take();
  assertEquals(outline(frames), "message-start start:0 delta:0:on delta:0:e");
  assertEquals(fieldsOf(frames.slice(0, 1), "stream_event", "ttft_ms", "api_message_id"), [
    [30, "m"],
  ]);
  run.push(texts("m", "one"));
  assertEquals(outline(run.take()), "<one> stop:0 message-delta message-stop");
});

Deno.test("the first request lists tools that no line does", () => {
  const run = new FramesRun({ partial: "exact" });
  run.push(prompt(), attached("deferred_tools_delta", { addedNames: ["WebFetch"] }));
  const offer = { tools: ["Bash", "DeferredToolPlaceholder"], fast: true };
  stream(run, 1, { kind: "request", offer });
  run.pass("init");
  assertEquals(fieldsOf(run.take(), "init", "tools"), [[["Bash", "WebFetch"]]]);
});

Deno.test("thoughts are counted before each delta, and timed", () => {
  const run = exact();
  const thought = (thinking: string): StreamEvent => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "thinking_delta", thinking },
  });
  const { now } = run;
  asks(run, 1);
  run.waitUntil(now + 30);
  events(run, 1, start("m"));
  run.waitUntil(now + 40);
  events(run, 1, block(0, { type: "thinking" }), thought("one two "), thought("three"));
  run.waitUntil(now + 60);
  events(run, 1, stop(0), block(1), delta(1, "x"), stop(1), ...OVER);
  ends(run, 1);
  run.push(line("m", { type: "thinking", thinking: "one two three", signature: "" }));
  run.push(texts("m", "x"));
  const frames = run.take();
  assertEquals(
    outline(frames.slice(2, 7)),
    "start:0 thinking_tokens delta:0 thinking_tokens delta:0",
  );
  assertEquals(fieldsOf(frames, "thinking_tokens", "estimated_tokens", "estimated_tokens_delta"), [
    ...[[2, 2], [4, 2]],
  ]);
  assertEquals(run.state.exact?.times, {
    askedAt: now,
    begunAt: now + 30,
    contentAt: now + 40,
    wholeAt: now + 60,
  });
});

Deno.test("limits are printed after an answer when they have changed", () => {
  const run = exact();
  const answers = (request: number, reset: string) => {
    asks(run, request);
    stream(run, request, { kind: "limits", limits: { headers: { reset }, now: 0 } });
    events(run, request, start(`m${request}`), block(0, CALL), stop(0), ...OVER);
    ends(run, request);
    run.push(line(`m${request}`, CALL));
    run.push(result("c"));
    return outline(run.take().slice(-3));
  };
  const told = "message-stop rate_limit_event user";
  assertEquals(answers(1, "5"), told);
  assertEquals(answers(2, "5"), "message-delta message-stop user");
  assertEquals(answers(3, "6"), told);
  // An exhausted limit is printed otherwise, and what is allowed again is news.
  stream(run, 4, { kind: "limits" });
  assertEquals(answers(5, "6"), told);
});

Deno.test("the next answer waits for the results of calls", () => {
  const run = exact();
  asks(run, 1);
  events(run, 1, start("m"), block(0, { type: "thinking" }), stop(0), block(1, CALL), stop(1));
  events(run, 1, ...OVER);
  run.push(line("m", { type: "thinking" }), line("m", CALL));
  asks(run, 2);
  events(run, 2, start("n"), block(0), delta(0, "a"));
  assertEquals(
    outline(run.take()),
    "status message-start start:0 stop:0 start:1 <thinking> <tool_use> " +
      "stop:1 message-delta message-stop",
  );
  run.push(result("c"));
  assertEquals(outline(run.take()), "user status message-start start:0 delta:0:a");
});

Deno.test("a result within an answer is printed there", () => {
  const run = exact();
  const other = { ...CALL, id: "d" };
  asks(run, 1);
  events(run, 1, start("m"), block(0, CALL), stop(0), block(1, other));
  run.take();
  events(run, 1, stop(1), ...OVER);
  run.push(line("m", CALL), result("c"), line("m", other));
  asks(run, 2);
  assertEquals(outline(run.take()), "<tool_use> user <tool_use> stop:1 message-delta message-stop");
  run.push(result("d"));
  assertEquals(outline(run.take()), "user status");
});

Deno.test("a structured answer's result comes before the answer's end", () => {
  const given = { ...CALL, name: BRIDGED_OUTPUT_TOOL };
  const run = exact({ output: true });
  asks(run, 1);
  events(run, 1, start("m"), block(0, given), stop(0), ...OVER);
  run.push(line("m", given));
  run.push(result("c"));
  assertEquals(outline(run.take().slice(-4)), "stop:0 message-delta user message-stop");
});

Deno.test("a broken answer ends where it breaks off", () => {
  const run = exact();
  asks(run, 1);
  events(run, 1, start("m"), block(0), delta(0, "half"));
  ends(run, 1);
  run.push(texts("m", "half"), { ...texts("x", "Error"), isApiErrorMessage: true });
  assertEquals(
    outline(run.take()),
    "status message-start start:0 delta:0:half <half> stop:0 message-stop <Error>",
  );
});

Deno.test("a line of the user ends an answer under way", () => {
  const run = exact();
  asks(run, 1);
  events(run, 1, start("m"), block(0), delta(0, "half"));
  run.push(prompt("[Request interrupted by user]", { uuid: "i" }));
  assertEquals(
    outline(run.take()),
    "status message-start start:0 delta:0:half stop:0 message-stop user",
  );
});

Deno.test("a broken answer does not hold up the next one", () => {
  const run = exact();
  asks(run, 1);
  events(run, 1, start("m"), block(0, CALL));
  ends(run, 1);
  retries(run, 1);
  asks(run, 2);
  events(run, 2, start("n"), block(0));
  assertEquals(
    outline(run.take()),
    "status message-start start:0 stop:0 message-stop api_retry message-start start:0",
  );
});

Deno.test("an answer without a stream has its frame", () => {
  const run = exact();
  asks(run, 1);
  ends(run, 1);
  retries(run, 1);
  asks(run, 2);
  ends(run, 2);
  run.push(texts("m", "whole"));
  assertEquals(outline(run.take()), "status api_retry <whole>");
});

Deno.test("a retry is printed after all that came before it", () => {
  const run = new FramesRun({ partial: "exact" });
  run.push(prompt());
  asks(run, 1);
  events(run, 1, start("m"), block(0, CALL), stop(0), ...OVER);
  ends(run, 1);
  asks(run, 2);
  ends(run, 2);
  retries(run, 1);
  assertEquals(run.take(), []);
  run.pass("init");
  assertEquals(outline(run.take()), "init status message-start start:0");
  run.push(line("m", CALL), result("c"), { ...texts("x", "Error"), isApiErrorMessage: true });
  assertEquals(
    outline(run.take()),
    "<tool_use> stop:0 message-delta message-stop user status api_retry <Error>",
  );
});

Deno.test("an unannounced retry is printed before its answer streams", () => {
  const run = exact();
  asks(run, 1);
  run.give({ type: "fault", fault: { attempt: 1, maxRetries: 2, status: 529 } });
  ends(run, 1);
  asks(run, 2);
  events(run, 2, start("m"));
  retries(run, 1);
  assertEquals(outline(run.take()), "status api_retry message-start");
});

Deno.test("events that are no stream of the API's are ignored", () => {
  const run = exact();
  events(run, 1, delta(0, "a"), { type: "nonsense" }, { type: "message_start", message: 1 });
  ends(run, 7);
  run.push(texts("m", "a"));
  assertEquals(outline(run.take().slice(-1)), "<a>");
});

/** Answers with texts, a call perhaps, and failed attempts before each. */
const ANSWERS = fc.array(
  fc.record({
    words: fc.array(fc.string(), { minLength: 1, maxLength: 4 }),
    tool: fc.boolean(),
    failures: fc.nat({ max: 2 }),
  }),
  { minLength: 1, maxLength: 3 },
);

Deno.test("events keep their order, whenever lines are read", () => {
  fc.assert(
    fc.property(ANSWERS, fc.array(fc.nat({ max: 6 })), (answers, delays) => {
      const run = exact();
      const expected: string[] = [];
      let unread: (() => void)[] = [];
      for (const [number, { words, tool, failures }] of answers.entries()) {
        const id = `m${number}`;
        const call = { ...CALL, id: `c${number}` };
        const all = [
          start(id),
          ...words.flatMap((text, index) => [block(index), delta(index, text), stop(index)]),
          ...tool ? [block(words.length, call), stop(words.length)] : [],
          ...OVER,
        ];
        for (let attempt = 1; attempt <= failures; attempt++) {
          asks(run, number + attempt / 10);
          ends(run, number + attempt / 10);
          retries(run, attempt);
          expected.push(`${attempt}`);
        }
        asks(run, number);
        for (const event of all) {
          if ((delays.pop() ?? 0) === 0) { for (const read of unread.splice(0)) read(); }
          events(run, number, event);
        }
        ends(run, number);
        expected.push(...all.map((event) => JSON.stringify(event)));
        unread = [...unread, () => {
          run.push(...words.map((text) => texts(id, text)), ...tool ? [line(id, call)] : []);
          run.push(result(`c${number}`));
        }];
      }
      for (const read of unread) read();
      run.finish();
      const frames = run.take();
      const told = frames.flatMap(({ type, subtype, event, attempt }) =>
        type === "stream_event"
          ? [JSON.stringify(event)]
          : subtype === "api_retry"
          ? [`${attempt}`]
          : []
      );
      assertEquals(told, expected);
      // Each answer has its frames before its end.
      const counts = [0];
      for (const { type, event } of frames) {
        if (type === "assistant") counts.push((counts.pop() ?? 0) + 1);
        if ((event as StreamEvent | undefined)?.type === "message_stop") counts.push(0);
      }
      assertEquals(counts, [...answers.map(({ words, tool }) => words.length + (tool ? 1 : 0)), 0]);
    }),
    { numRuns: 20 },
  );
});

Deno.test("thoughts are estimated by the API's count, else their length", () => {
  const thought = (thinking: unknown, more: Line = {}) =>
    ({ type: "thinking_delta", thinking, ...more }) as const;
  const signed = (length: number) => ({ type: "signature_delta", signature: "x".repeat(length) });
  const rows: readonly (readonly [number, Line | undefined, number])[] = [
    [0, thought("four or so"), 3],
    [3, thought("", { estimated_tokens: 50 }), 53],
    [3, thought(""), 3],
    // A signature counts for thoughts that were not shown.
    [5, signed(40), 8],
    [8, signed(40), 8],
    [0, signed(4000), 0],
    [9, { type: "text_delta", text: "text" }, 9],
    [9, undefined, 9],
    [9, {}, 9],
    [9, thought(5), 9],
  ];
  for (const [before, delta, estimate] of rows) {
    const added = estimate - before;
    assertEquals(
      thinkingEstimate(before, { type: "content_block_delta", index: 0, ...delta && { delta } }),
      {
        estimate,
        ...added > 0 && { fields: { estimated_tokens: estimate, estimated_tokens_delta: added } },
      },
    );
  }
  assertEquals(thinkingEstimate(9, { type: "content_block_start", index: 1 }), { estimate: 0 });
});

type Heard = readonly [at: number, request: number, part: StreamedPart];
const heardOf = (...parts: readonly Heard[]) =>
  parts.reduce(
    (heard, [at, request, part]) => observeRequest(heard, { type: "stream", at, request, part }),
    NO_REQUESTS,
  );
const ASKS = { kind: "request" } as const;
const event = (type: string) => ({ kind: "event", event: { type } } as const);

Deno.test("an answer's times are those of its first block", () => {
  const answers = (at: number, request: number): readonly Heard[] => [
    [at, request, ASKS],
    [at + 1, request, event("message_start")],
    [at + 2, request, event("content_block_start")],
    [at + 3, request, event("content_block_stop")],
    [at + 8, request, event("content_block_start")],
    [at + 9, request, { kind: "end" }],
  ];
  // The first request fails.
  const heard = heardOf(
    [5, 1, ASKS],
    [6, 1, { kind: "end" }],
    ...answers(10, 2),
    ...answers(30, 3),
  );
  const times = { askedAt: 10, begunAt: 11, contentAt: 12, wholeAt: 13 };
  assertEquals([firstAnswerTimes(heard, 0), firstAnswerTimes(heard, 10)], [times, times]);
  const askedAt = [11, 31, NaN].map((since) => firstAnswerTimes(heard, since)?.askedAt);
  assertEquals(askedAt, [30, undefined, undefined]);
  assertEquals(firstAnswerTimes(forgetRequestsBefore(heard, 20), 0)?.askedAt, 30);
  assertEquals(heardOf([1, 1, event("message_start")], [2, 1, { kind: "limits" }]), NO_REQUESTS);
  const asked = heardOf([1, 1, ASKS]);
  assertEquals(
    observeRequest(asked, { type: "stream", at: 2, request: 1, part: event("x") }),
    asked,
  );
});

Deno.test("timesToFirst() counts from the prompt", () => {
  const times = { askedAt: 100, begunAt: 150, contentAt: 151.4, wholeAt: 200 };
  const { contentAt: _, wholeAt: __, ...early } = times;
  const asked = { ttft_stream_ms: 100, time_to_request_ms: 50 };
  const rows = [
    [times, 1050, { ...asked, ttft_ms: 150, first_content_frame_ms: 101 }],
    [early, 1050, asked],
    [undefined, 1050, {}],
    [times, 1101, {}],
    [times, NaN, {}],
  ] as const;
  for (const [given, promptAt, expected] of rows) {
    assertEquals<unknown>(timesToFirst(given, { startedAt: 1000, promptAt }), expected);
  }
});
