import { assert, assertEquals } from "@std/assert";
import { replayCassette } from "../../../src/cassette/replay/replay_cassette.ts";
import { createPartScrubber } from "../../../src/cassette/scrub/part_scrubber.ts";
import { scrubTape } from "../../../src/cassette/scrub/scrub_tape.ts";
import { parseLines } from "../../../src/cassette/read/parse_lines.ts";
import { createRedactor } from "../../../src/redaction/redact.ts";
import { createExchangeScrubber } from "../../../src/relay/exchanges/scrub_alike.ts";
import { RECORDED_RUNS } from "../recorded_runs.ts";
import { cassetteOf, scrubbedRun, somebodys } from "./scrub_run.ts";

const WORDS = /Look (?:around|left|right)|(?:Look|Left|Right)\. |There are|Nothing/u;

Deno.test("nothing of what subagents were asked and said is left, and the run replays", () => {
  for (const { name, folder } of RECORDED_RUNS.filter(({ name }) => /subagents?$/u.test(name))) {
    const files = somebodys(folder);
    assert(WORDS.test(files.cast) && WORDS.test(files.tape), name);
    const scrubbed = scrubbedRun(files, { prompts: true, answers: true });
    assertEquals(WORDS.exec(scrubbed.cast), null, name);
    assertEquals(WORDS.exec(scrubbed.tape), null, name);
    for (const [prompts, answers] of [[true, true], [true, false], [false, true]] as const) {
      const { differences } = replayCassette(cassetteOf(scrubbedRun(files, { prompts, answers })));
      assertEquals(differences, [], name);
    }
  }
});

const INPUT = { description: "Find Zoe", prompt: "Ask <b>Zoe</b>\nwhy.", run: "Zoe" };
const BLANK = { description: "xxxx xxx", prompt: "xxx <b>xxx</b>\nxxx.", run: "Zoe" };
const START = { type: "tool_use", id: "toolu_1", name: "Agent", input: {} };

/** The events with which a call of a subagent is told, in pieces of so many characters. */
function eventsOf(size: number) {
  const json = JSON.stringify(INPUT);
  const pieces = json.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? [];
  return [
    { type: "content_block_start", index: 1, content_block: START },
    ...pieces.map((partial_json) => ({
      type: "content_block_delta",
      index: 1,
      delta: { type: "input_json_delta", partial_json },
    })),
    { type: "content_block_stop", index: 1 },
  ];
}

const joined = (events: readonly { readonly delta?: { readonly partial_json: string } }[]) =>
  JSON.parse(events.map(({ delta }) => delta?.partial_json ?? "").join(""));

Deno.test("a subagent's prompt that is told in deltas is blanked on a tape, and so is the rest of one that is too long", () => {
  const scrubbed = (events: readonly unknown[]) => {
    const lines: string[] = [];
    const frames = events.map((event) => ({
      dir: "read",
      frame: { type: "stream_event", session_id: "s", event },
    }));
    scrubTape(parseLines(frames.map((frame) => JSON.stringify(frame)).join("\n"), { path: "it" }), {
      path: "it",
      scrubber: createPartScrubber({
        redactor: createRedactor({ env: {} }),
        said: { prompts: true, answers: false },
      }),
      take: ({ text }) => void lines.push(text),
    });
    return lines.map((line) => JSON.parse(line).frame.event);
  };
  for (const size of [1, 7, 1000]) {
    const events = eventsOf(size);
    const told = scrubbed(events);
    assertEquals(joined(told), BLANK);
    assertEquals(told.length, events.length);
  }
  const [start, , stop] = eventsOf(1000);
  const long = scrubbed([
    start,
    ...Array.from({ length: 300 }, (_, at) => ({
      type: "content_block_delta",
      index: 1,
      delta: {
        type: "input_json_delta",
        partial_json: `${at === 0 ? '{"prompt":"' : ""}${"Zoe\\n".repeat(100)}`,
      },
    })),
    stop,
  ]);
  assertEquals(long.length, 302);
  assertEquals(/Zoe/u.exec(JSON.stringify(long)), null);
});

const encoder = new TextEncoder();
const decoder = new TextDecoder();

Deno.test("requests of a subagent are found again when its prompt comes from a scrubbed answer", () => {
  const parts = ["traces", "prompts", "answers"] as const;
  const bodyOf = (prompt: string) => ({
    messages: [{ role: "user", content: [{ type: "text", text: prompt }] }],
  });
  const request = (body: unknown) => ({
    method: "POST",
    path: "/v1/messages",
    body: encoder.encode(JSON.stringify(body)),
  });
  const stream = eventsOf(3).map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const { response } = createExchangeScrubber({ parts, known: {} }).exchange({
    at: 0,
    request: request({}),
    response: {
      status: 200,
      headers: [["content-type", "text/event-stream"]],
      chunks: [{ ms: 0, bytes: encoder.encode(stream) }],
      whole: true,
    },
  });
  const told = decoder.decode(response.chunks[0]?.bytes).match(/(?<=data: ).*/gu) ?? [];
  const input = joined(told.map((data) => JSON.parse(data)));
  assertEquals(input, BLANK);
  const asked = (body: unknown) =>
    decoder.decode(createExchangeScrubber({ parts, known: {} }).request(request(body)).body);
  assertEquals(asked(bodyOf(input.prompt)), asked(bodyOf(INPUT.prompt)));
  const resultOf = (given: unknown, said: string, took: number) => ({
    messages: [
      { role: "assistant", content: [{ ...START, input: given }] },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: `[Subagent hand-back]\n  ${said}\n<usage>duration_ms: ${took}</usage>`,
        }],
      },
    ],
  });
  assertEquals(
    asked(resultOf(input, "xxx xxxx.", 1191)),
    asked(resultOf(INPUT, "Zoe left.", 1191)),
  );
});
