import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { anyCharacter } from "../../any_character.ts";
import type { OutputOptions } from "../../../src/conversation/output/output_options.ts";
import { BRIDGED_OUTPUT_TOOL } from "../../../src/claude/transcript/structured_output_tool.ts";
import type { AssistantFrame, StreamEventFrame } from "../../../src/claude/wire/message_frames.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { message } from "../control/caller_inputs.ts";
import { hook, READ } from "../control/inputs.ts";
import { type Line, OVER, prompt, result } from "./lines.ts";
import { fieldsOf } from "./outlines.ts";
import { assertStreamGrammar } from "./live/stream_grammar.ts";
import { FramesRun } from "./runs.ts";

/** Frames in a few words each: events without what their types say, and what they hold. */
const outline = (frames: readonly Frame[]): string =>
  frames.map((frame) => {
    if (frame.type === "assistant") {
      const [block] = (frame as AssistantFrame).message.content;
      return `<${block?.text ?? block?.name ?? block?.type}>`;
    }
    if (frame.type !== "stream_event") return frame.subtype ?? frame.type;
    const { type, index, delta, content_block: block } = (frame as StreamEventFrame).event;
    const name = type.replace("content_block_", "").replace("message_", "message-");
    const { text, thinking, partial_json, stop_reason } = delta ?? {};
    const said = text ?? thinking ?? partial_json ?? stop_reason ?? (block as Line)?.["type"];
    return [name, index, said].filter((each) => each !== undefined).join(":");
  }).join(" ").replaceAll("\n", "|");

/** A run whose turn has begun. */
function begun(options: Partial<OutputOptions> = {}): FramesRun {
  const run = new FramesRun({ partial: true, ...options });
  run.give(hook("SessionStart", { model: "opus[1m]" }));
  run.push(prompt());
  run.pass("init");
  run.take();
  return run;
}

const displays = (run: FramesRun, index: number, delta: string, more: Line = {}) =>
  run.give(
    hook("MessageDisplay", { turn_id: "t", message_id: "d", index, final: false, delta, ...more }),
  );

const usage = { input_tokens: 3, output_tokens: 9, speed: "standard" };
let lines = 0;
const line = (id: string, block: Line, stop_reason: string | null = "end_turn") => ({
  type: "assistant",
  uuid: `line-${++lines}`,
  message: { id, model: "opus", content: [block], stop_reason, usage },
});
const text = (text: string) => ({ type: "text", text });
const THOUGHT = { type: "thinking", thinking: "hm", signature: "s" };
const CALL = { type: "tool_use", id: "c", name: "Bash", input: {} };

const REQUEST = "status message-start";
const END = "message-delta:end_turn message-stop";
const called = (index = 0) => `start:${index}:tool_use delta:${index}:{} <Bash> stop:${index}`;

Deno.test("an answer is printed as it is displayed", () => {
  const run = begun();
  displays(run, 0, "one\n");
  const [status, start, ...rest] = run.take();
  assertEquals(
    outline([status, start, ...rest] as readonly Frame[]),
    `${REQUEST} start:0:text delta:0:one|`,
  );
  displays(run, 1, "two");
  run.push(line("m", text("one\ntwo")));
  const ends = run.take();
  assertEquals(outline(ends), `delta:0:two <one|two> stop:0 ${END}`);
  const { id, model } = (start as StreamEventFrame).event["message"] as AssistantFrame["message"];
  assertEquals([model, start?.["thinking_display"]], ["opus", "updates"]);
  const answer = ends.find(({ type }) => type === "assistant") as AssistantFrame;
  assertEquals(answer.message.id, id, "the frame has the id of the stream");
  const ids = fieldsOf([...rest, ...ends], "stream_event", "api_message_id").flat();
  assertEquals(new Set(ids), new Set([id]));
  const delta = ends.at(-2) as StreamEventFrame;
  assertEquals(delta.event["usage"], { input_tokens: 3, output_tokens: 9 });
});

Deno.test("a late thought has a frame, and no events", () => {
  const run = begun();
  displays(run, 0, "one\n");
  run.push(line("m", THOUGHT, null));
  displays(run, 1, "two", { final: true });
  run.push(line("m", text("one\ntwo")));
  const frames = run.take();
  assertEquals(
    outline(frames),
    `${REQUEST} start:0:text delta:0:one| <thinking> delta:0:two <one|two> stop:0 ${END}`,
  );
  assertStreamGrammar(frames);
});

Deno.test("lines without a hook are streamed, late hooks ignored", () => {
  const run = begun();
  run.give(READ);
  for (const block of [THOUGHT, text("I look"), CALL]) run.push(line("m", block, null));
  displays(run, 0, "I look", { final: true });
  run.push(result("c"));
  displays(run, 0, "done\n", { message_id: "e" });
  displays(run, 1, "so", { message_id: "e", final: true });
  assertEquals(
    outline(run.take()),
    `${REQUEST} start:0:thinking delta:0:hm delta:0 <thinking> stop:0 ` +
      `start:1:text delta:1:I look <I look> stop:1 ${called(2)} ` +
      // The API has not said how this answer ended.
      `message-stop user ${REQUEST} start:0:text delta:0:done| delta:0:so`,
  );
});

Deno.test("a result within an answer is printed there", () => {
  const run = begun();
  const first = line("m", CALL, "tool_use");
  run.push(first, result("c"), line("m", { ...CALL, id: "d" }, "tool_use"));
  assertEquals(
    outline(run.take()),
    `${REQUEST} ${called()} user ${called(1)} message-delta:tool_use message-stop`,
  );
});

const NEXT = `user ${REQUEST} start:0:text delta:0:next|`;

Deno.test("the next answer waits for the results before it", () => {
  const run = begun();
  run.push(line("m", CALL, "tool_use"));
  run.take();
  displays(run, 0, "next\n", { message_id: "e" });
  assertEquals(run.take(), []);
  run.push(result("c"));
  assertEquals(outline(run.take()), NEXT);
});

Deno.test("an answer displayed before the lines of its calls waits", () => {
  const steps: Readonly<Record<string, (run: FramesRun) => void>> = {
    batch: (run) => {
      const payload = { tool_calls: [{ tool_use_id: "c" }] };
      run.give(hook("PostToolBatch", payload));
    },
    display: (run) => displays(run, 0, "next\n"),
    call: (run) => run.push(line("m", CALL, "tool_use")),
    result: (run) => run.push(result("c")),
  };
  const orders = [
    "batch display call result",
    "batch call display result",
    "call batch result display",
    "call result batch display",
    "call batch display result",
  ];
  for (const order of orders) {
    const run = begun();
    for (const step of order.split(" ")) steps[step]?.(run);
    assertEquals(
      outline(run.take()),
      `${REQUEST} ${called()} message-delta:tool_use message-stop ${NEXT}`,
      order,
    );
  }
});

Deno.test("a subagent's calls hold up no answer", () => {
  const run = begun();
  const payload = { agent_id: "a", tool_calls: [{ tool_use_id: "c" }] };
  run.give(hook("PostToolBatch", payload));
  displays(run, 0, "done\n");
  assertEquals(outline(run.take().slice(-1)), "delta:0:done|");
});

Deno.test("a structured answer's result comes before the answer's end", () => {
  const given = line("m", { ...CALL, name: BRIDGED_OUTPUT_TOOL }, "tool_use");
  for (const isAtOnce of [true, false]) {
    const run = begun({ output: true });
    if (isAtOnce) run.push(given, result("c"));
    else for (const line of [given, result("c")]) run.push(line);
    assertEquals(outline(run.take().slice(-4)), "stop:0 message-delta:tool_use user message-stop");
  }
});

Deno.test("an answer after the last one waits for its reason", () => {
  const run = begun();
  run.push(line("m", text("done")));
  run.take();
  displays(run, 0, "done", { final: true });
  displays(run, 0, "next\n", { message_id: "e" });
  assertEquals(run.take(), []);
  run.push(prompt("Go on", { isMeta: true }));
  assertEquals(outline(run.take()), NEXT);
});

Deno.test("an answer of the next turn waits for its beginning", () => {
  const run = begun();
  displays(run, 0, "a");
  run.push(line("m", text("a")));
  run.take();
  displays(run, 0, "b\n", { message_id: "e", turn_id: "u" });
  assertEquals(run.take(), []);
  run.give(READ);
  run.push(line("n", text("b\nc")));
  assertEquals(outline(run.take()), `${REQUEST} start:0:text delta:0:b|c <b|c> stop:0 ${END}`);
});

Deno.test("a late hook of the turn before prints nothing", () => {
  const run = begun({ conversation: true });
  const say = (text: string) => run.give(message(text));
  say("Hi");
  for (const words of ["one", "two", "three", "four", "five"]) run.push(line(words, text(words)));
  run.push(OVER);
  run.endTurn({ kind: "answered", stop: {} }, { recorded: true });
  say("Two");
  run.push(prompt("Two", { uuid: "q" }));
  run.take();
  displays(run, 0, "four", { final: true });
  displays(run, 0, "five", { message_id: "e", final: true });
  assertEquals(run.take(), []);
  displays(run, 0, "next\n", { message_id: "f", turn_id: "u" });
  assertEquals(outline(run.take()), `${REQUEST} start:0:text delta:0:next|`);
});

Deno.test("texts that hooks join are one block and several frames", () => {
  const run = begun();
  displays(run, 0, "one.two\n");
  run.push(line("m", text("one."), null));
  run.push(line("m", text("two\nthree")));
  assertEquals(
    outline(run.take()),
    `${REQUEST} start:0:text delta:0:one.two| <one.> delta:0:three <two|three> stop:0 ${END}`,
  );
});

Deno.test("a broken answer ends, and its error is not streamed", () => {
  const run = begun();
  displays(run, 0, "half\n");
  run.push({ ...line("x", text("Error")), isApiErrorMessage: true });
  const frames = run.take();
  assertEquals(
    outline(frames),
    `${REQUEST} start:0:text delta:0:half| stop:0 message-stop <Error>`,
  );
  assertEquals(frames.find((frame) => "abandoned_blocks" in frame)?.["abandoned_blocks"], {
    api_message_id: (frames[1] as StreamEventFrame).api_message_id,
    from_block_index: 1,
  });
});

Deno.test("a repeated request has one status", () => {
  const run = new FramesRun({ partial: true });
  const retry = { attempt: 1, maxRetries: 10, delayMs: 1000, status: 529 };
  run.give({ type: "retry", retry });
  run.push(prompt());
  run.pass("init");
  displays(run, 0, "a\n");
  assertEquals(outline(run.take()), "init status api_retry message-start start:0:text delta:0:a|");
});

Deno.test("hooks of others and bad payloads print nothing", () => {
  const run = begun();
  const others = [
    { agent_id: "x" },
    { session_id: "other" },
    ...[-1, 0.5, "0", undefined, Infinity].map((index) => ({ index })),
    { message_id: 1 },
    { delta: null },
  ];
  for (const more of others) displays(run, 0, "a", more);
  assertEquals(run.take(), []);
});

/** Pieces of an answer, in the order in which hooks tell of them, and whether its lines have been read before each. */
const ANSWERS = fc.array(
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

Deno.test("joined deltas are the answer, however hooks and lines come", () => {
  fc.assert(
    fc.property(ANSWERS, (drawn) => {
      const run = begun();
      // Where a hook is lost, only their texts tell answers apart.
      const answers = drawn.map(({ texts: [first = "", ...texts], ...rest }, number) => ({
        ...rest,
        texts: [`${number}${first}`, ...texts],
      }));
      for (const [number, answer] of answers.entries()) {
        const { texts, cuts, order, linesAfter, lost, thinks, calls } = answer;
        const whole = texts.join("");
        const ends = [...new Set(cuts.map((cut) => Math.min(cut, whole.length)))]
          .sort((a, b) => a - b);
        const pieces = [0, ...ends].map((from, at) => whole.slice(from, ends[at] ?? whole.length));
        const heard = pieces.map((delta, index) => ({ delta, index }))
          .filter(({ index }) => index !== lost)
          .sort((one, other) => (order[one.index] ?? 0) - (order[other.index] ?? 0));
        const read = () => {
          const id = `m${number}`;
          run.push(
            ...thinks ? [line(id, THOUGHT)] : [],
            ...texts.map((each) => line(id, text(each))),
            ...calls ? [line(id, CALL, "tool_use")] : [],
          );
          if (calls) run.push(result("c"));
        };
        for (const [at, { delta, index }] of heard.entries()) {
          if (at === linesAfter) read();
          displays(run, index, delta, { message_id: `d${number}` });
        }
        if (linesAfter >= heard.length) read();
      }
      run.finish();
      const frames = run.take();
      const deltas = frames.flatMap(({ event }) =>
        (event as StreamEventFrame["event"] | undefined)?.delta?.["text"] ?? []
      );
      assertEquals(deltas.join(""), answers.flatMap(({ texts }) => texts).join(""));
      assertStreamGrammar(frames);
    }),
    { numRuns: 30 },
  );
});
