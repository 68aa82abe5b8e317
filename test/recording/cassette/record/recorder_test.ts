import { Buffer } from "node:buffer";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { collectCassette } from "../../../../fixtures/collected_cassette.ts";
import { type Cassette, framesOn } from "../../../../src/recording/cassette/cassette_format.ts";
import { firstMessage } from "../../../../src/recording/cassette/cast_steps.ts";
import { Recorder } from "../../../../src/recording/cassette/record/recorder.ts";
import { encodeCast, encodeTape } from "../../../../fixtures/encode_whole.ts";
import { toRecordedInput } from "../../../../src/recording/cassette/recorded_input.ts";
import { replayCast } from "../../../../src/recording/cassette/replay_cast.ts";
import { createRedactor } from "../../../../src/recording/redaction/redact.ts";
import type { Input } from "../../../../src/conversation/control/input.ts";
import { isJsonObject, type JsonObject } from "../../../../src/json_object.ts";
import type { Frame } from "../../../../src/claude/wire/frame.ts";
import { readEntry } from "../../../../src/claude/transcript/entry.ts";
import { readRecording } from "../../../conversation/control/recording.ts";
import { conversationOptions } from "../../../conversation/output/conversation_options.ts";
import { recordSession } from "../record_session.ts";
import { createTextStreams } from "../../../../src/recording/cassette/record/streamed_text.ts";
import { redactTerminal } from "../../../../src/recording/cassette/record/redact_terminal.ts";
import fc from "fast-check";
import type { ResultFrame } from "../../../../src/claude/wire/result_frame.ts";

const encoder = new TextEncoder();
const SECRET = "sk-ant-api03-0123456789abcdefghij";
const redactor = createRedactor({ env: { DOOR_PASSWORD: "swordfish-42" } });

const output = ({ cast }: Cassette): string =>
  cast.events.filter(({ code }) => code === "o").map(({ data }) => data).join("");

const inputs = ({ cast }: Cassette): readonly unknown[] =>
  cast.events.filter(({ code }) => code === "h").map(({ data }) => JSON.parse(data));

const written = ({ cast, tape }: Cassette): string => encodeCast(cast) + encodeTape(tape);

/** Output in chunks that end at the given bytes. */
function chunks(text: string, ends: readonly number[]): readonly Input[] {
  const bytes = encoder.encode(text);
  const cuts = [...new Set(ends.map((end) => end % bytes.length))].sort((a, b) => a - b);
  return [0, ...cuts].map((from, index): Input => ({
    at: index + 1,
    type: "terminal",
    bytes: bytes.slice(from, cuts[index]),
  }));
}

Deno.test("a recording keeps inputs, times and effects", () => {
  const all = readRecording("2.1.332/dialog-settings-warning");
  const recorded = recordSession(all);
  const { header, events } = recorded.cast;
  assertEquals([header.version, header.width, header.height], [2, 220, 50]);
  assertEquals(header.timestamp, 1_700_000_000);
  assertEquals(header.env, { TERM: "xterm-256color" });
  const [message, closed, ...rest] = inputs(recorded);
  assertEquals([message, closed], [
    { type: "message", message: { text: "hello there", way: "stdin" } },
    { type: "closed" },
  ]);
  const others = all.filter(({ type }) => type !== "terminal");
  assertEquals(
    rest,
    others.map((input) => toRecordedInput(input as Parameters<typeof toRecordedInput>[0])),
  );
  assertEquals(
    events.filter(({ code }) => code === "h").map(({ at }) => at),
    [0, 0, ...others.map(({ at }) => at)],
  );
  assertEquals(events.findLast(({ code }) => code === "x")?.data, "143");
  const typed = events.filter(({ code }) => code === "i").map(({ data }) => data);
  assertEquals(typed.filter((keys) => keys !== "\x1b[?6c"), ["\x1b[B", "\r", "\r"]);
  assertEquals(
    events.filter(({ code }) => code === "m").map(({ data }) => data),
    ["prompt taken", "turn over", "exit"],
  );
});

Deno.test("a recorder passes on the version before the first input", () => {
  const { sink, cassette } = collectCassette();
  const versions: string[] = [];
  const recording = new Recorder({
    conversation: conversationOptions(),
    output: { format: "text", verbose: false },
    term: "",
    redactor,
    sink: { ...sink, version: (version) => void versions.push(version) },
  });
  recording.addCallerLine("{}");
  for (const claude_version of ["unknown", "2.1.330"]) {
    const frame = { type: "result", subtype: "success", claude_version } as ResultFrame;
    recording.addEffect({ type: "frame", frame });
  }
  recording.end();
  assertEquals([cassette(), versions], [undefined, ["2.1.330"]]);
});

Deno.test("a recorder keeps characters whole, wherever a chunk ends", () => {
  const text = "é日本👩‍💻\x1b[1m●\ufeff";
  fc.assert(fc.property(fc.array(fc.nat()), (ends) => {
    assertEquals(output(recordSession(chunks(text, ends))), text);
  }));
});

Deno.test("a secret is redacted wherever output is cut", () => {
  const rows = Buffer.from("user:swordfish-42").toString("base64").replace(/.{12}/u, "$&\r\n");
  // Fewer than four characters of a secret do not wait: they reveal nothing. A secret that waits for another one may be
  // redacted in two pieces.
  const outputs = [
    [
      `Key: ${SECRET} and swordfish-42.\r\n`,
      /^Key: s?k?-?(?:\[redacted\]){1,2} and s?w?o?\[redacted\]\.\r\n$/u,
    ],
    [`Basic ${rows} .\r\n`, /^Basic dXNlcjp.{0,3}(?:\[redacted\]){1,2}\r\nI= \.\r\n$/u],
  ] as const;
  for (const [text, redacted] of outputs) {
    fc.assert(fc.property(fc.array(fc.nat()), (ends) => {
      assertMatch(output(recordSession(chunks(text, ends), { redactor })), redacted);
    }));
  }
});

Deno.test("secrets are redacted in prompt, keys, hooks, screens and frames", () => {
  const prompt = `Is ${SECRET} a key?`;
  const screen = {
    lines: [`Is sword`, `fish-42 the password?`, `{"api_key": "${SECRET}"}`, "❯ 1. Yes", "  2. No"],
    cursor: { row: 4, col: 1 },
  };
  const recorded = recordSession([
    { at: 1, type: "spawned" },
    { at: 2, type: "status", status: "idle" },
    {
      at: 3,
      type: "hook",
      event: "UserPromptSubmit",
      payload: { prompt, nested: [{ access_token: "abcdefgh12" }], [SECRET]: 1 },
    },
    { at: 4, type: "status", status: "waiting" },
    { at: 5, type: "screen", screen },
    { at: 4000, type: "screen", screen },
    { at: 4001, type: "exit", exit: { kind: "exited", code: 143 } },
  ], {
    redactor,
    message: { way: "paste", text: prompt },
    frames: [{
      type: "assistant",
      message: { id: "m", model: "m", content: [{ type: "text", text: `It is ${SECRET}` }] },
      parent_tool_use_id: null,
      session_id: "s",
    }],
  });
  const text = written(recorded);
  for (const secret of [SECRET, "0123456789abcdef", "fish-42", "abcdefgh12"]) {
    assert(!text.includes(secret), `${secret} in ${text}`);
  }
  assertEquals(firstMessage(recorded.cast)?.text, "Is [redacted] a key?");
  assertEquals(
    recorded.cast.events.find(({ code }) => code === "i")?.data,
    "\x1b[200~Is [redacted] a key?\x1b[201~",
  );
  const [, , , , , , shown] = inputs(recorded) as { screen: typeof screen }[];
  assertEquals(shown?.screen.lines, [
    "Is [redacted]",
    " the password?",
    '{"api_key": "[redacted]"}',
    "❯ 1. Yes",
    "  2. No",
  ]);
  const { ending, differences } = replayCast(recorded.cast);
  assertEquals([ending?.kind, differences], ["dialog", []]);
});

Deno.test("a secret is redacted across pieces of shell output", () => {
  const line = (type: string, more: object): Input => ({
    at: 1,
    type: "transcript",
    entry: readEntry({ type, uuid: type, version: "2.1.330", ...more }) ??
      { type: "other", line: {} },
  });
  const input = { command: "env" };
  const content = [{ type: "tool_use", id: "t", name: "Bash", input }];
  const [before, behind] = [SECRET.slice(0, 12), SECRET.slice(12)];
  const recorded = recordSession([
    { at: 0, type: "spawned" },
    line("user", { message: { content: "Go" } }),
    line("api-request", { querySource: "repl_main_thread" }),
    line("assistant", { message: { id: "m", model: "m", content } }),
    { at: 1, type: "read" },
    { at: 1, type: "shell", id: "b1", command: `env ${SECRET}`, running: true },
    ...[`KEY=${before}`, behind.slice(0, 5), `${behind.slice(5)}\n`].map((text): Input => (
      { at: 2, type: "shell-output", id: "b1", text }
    )),
    { at: 3, type: "shell-over", id: "b1" },
    { at: 4, type: "exit", exit: { kind: "exited", code: 0 } },
    { at: 5, type: "deadline", name: "record" },
  ], { redactor, shellOutput: "joined" });
  assert(!written(recorded).includes(before) && !written(recorded).includes(behind.slice(5)));
  const texts = ["KEY=[redacted]", "[redacted]", "\n", ""];
  assertEquals(
    framesOn(recorded.tape).flatMap(({ frame }) => "text" in frame ? [frame.text] : []),
    texts,
  );
  const { frames, differences } = replayCast(recorded.cast);
  assertEquals(frames.flatMap((frame) => "text" in frame ? [frame.text] : []), texts);
  assertEquals(differences, []);
});

Deno.test("a secret is redacted across deltas of answers and calls", () => {
  const pieces = [`It is ${SECRET.slice(0, 9)}`, SECRET.slice(9, 20), `${SECRET.slice(20)} there`];
  const redacted = ["It is [redacted]", "[redacted]", " there"];
  const events = pieces.flatMap((text, at) => [
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    {
      type: "content_block_delta",
      index: 1,
      delta: { type: "input_json_delta", partial_json: text },
    },
    ...(at === 2 ? [{ type: "content_block_stop", index: 0 }] : []),
  ]);
  const recorded = recordSession([
    { at: 0, type: "spawned" },
    ...events.map((event): Input => (
      { at: 1, type: "stream", request: 1, part: { kind: "event", event } }
    )),
    { at: 2, type: "exit", exit: { kind: "exited", code: 0 } },
  ], {
    redactor,
    frames: events.map((event) => ({
      type: "stream_event",
      event,
      session_id: "1",
      parent_tool_use_id: null,
      uuid: "1",
    } as unknown as Frame)),
  });
  assert(!written(recorded).includes(SECRET.slice(9, 20)));
  const deltas = (values: readonly unknown[]) =>
    values.flatMap((value) => {
      const { part, event = part?.event } = value as {
        readonly part?: { readonly event: JsonObject };
        readonly event?: JsonObject;
      };
      return isJsonObject(event?.["delta"]) ? [event["delta"]] : [];
    });
  const expected = redacted.flatMap((text) => [
    { type: "text_delta", text },
    { type: "input_json_delta", partial_json: text },
  ]);
  assertEquals(deltas(inputs(recorded)), expected);
  assertEquals(deltas(framesOn(recorded.tape).map(({ frame }) => frame)), expected);
});

/** Output that makes a search without limits take forever, made by repeating a unit. */
const ENDLESS: readonly (readonly [unit: string, before: string, behind: string])[] = [
  ["a.", "", ""],
  ["eyJaaaaaaaa-", "", ""],
  ["-----BEGIN PRIVATE KEY-----\n", "", ""],
  ["\x1b[0", "", ""],
  ["[redacted]sk-ant-12345678 ", "", ""],
  // The text after a secret looks like the secret itself.
  [
    "x",
    "-----BEGIN PRIVATE KEY-----",
    `-----END PRIVATE KEY-----b${"x".repeat(25_000)}\nsk-ant-12345678`,
  ],
];

Deno.test("secrets are redacted in hostile output", () => {
  for (const [unit, before, behind] of ENDLESS) {
    const text = before + unit.repeat(50_000 / unit.length) + `${behind}\n${SECRET}`;
    const pieces = text.match(/[^]{1,200}/gu) ?? [];
    const recorded = recordSession([
      { at: 0, type: "spawned" },
      ...pieces.map((piece, at): Input => ({ at, type: "terminal", bytes: encoder.encode(piece) })),
      { at: pieces.length, type: "hook", event: "Stop", payload: { text } },
      { at: pieces.length, type: "exit", exit: { kind: "exited", code: 0 } },
    ], { redactor });
    assert(!written(recorded).includes("0123456789abc"), unit);
  }
});

Deno.test("a recording without secrets is unchanged", () => {
  for (const name of ["2.1.285/answer", "2.1.285/dialog-settings-warning", "2.1.332/paste"]) {
    const all = readRecording(name);
    assertEquals(recordSession(all, { redactor }), recordSession(all));
  }
});

/** Text streams whose pieces are known once they are settled, and the names of those that were begun. */
function streams() {
  const begun: (string | undefined)[] = [];
  const settled: string[] = [];
  const held = createTextStreams((tool) => {
    begun.push(tool);
    return (text) => ({ redacted: undefined, settle: () => void settled.push(text) });
  });
  return { ...held, begun, settled };
}

function streamEvent(streamEvent: Readonly<Record<string, unknown>>) {
  return { type: "stream_event", session_id: "s", parent_tool_use_id: "p", event: streamEvent };
}

Deno.test("a streamed text ends with its block", () => {
  const { take, observe, begun, settled } = streams();
  const stream = "frame s p 1 partial_json";
  const block = { type: "tool_use", name: "Bash" };
  observe(streamEvent({ type: "content_block_start", index: 1, content_block: block }));
  take({ stream, text: "one" });
  take({ stream: "frame s p 2 text", text: "other" });
  take({ stream, text: "two" });
  observe(streamEvent({ type: "content_block_stop", index: 1 }));
  take({ stream, text: "three" });
  assertEquals([begun, settled], [["Bash", undefined, undefined], ["two"]]);
});

Deno.test("the oldest of many unfinished texts are settled", () => {
  const { take, begun, settled } = streams();
  for (let number = 0; number < 3000; number++) take({ stream: `${number}`, text: `${number}` });
  assertEquals([begun.length, settled.length, settled.at(-1)], [3000, 1000, "999"]);
  take({ stream: "1000", text: "more" });
  assertEquals(begun.length, 3000);
});

const redacted = (...pieces: readonly string[]) => redactTerminal(pieces, redactor.text);

Deno.test("a secret between colours, rows and cursor moves is redacted", () => {
  const rows = [
    [
      ["\x1b[1msk-ant-\x1b[31mapi03-0123\x1b[0m456789abcdefghij \x1b[2mis it"],
      ["\x1b[1m[redacted]\x1b[31m\x1b[0m \x1b[2mis it"],
    ],
    // The rows of a box.
    [
      ["│ sword", "\x1b[20G│\r\n\x1b[2m│ \x1b[22mfish-42 │"],
      ["│ [redacted]", "\x1b[20G│\r\n\x1b[2m│ \x1b[22m │"],
    ],
    [["sword\x1b[5;1Hfish-42"], ["[redacted]\x1b[5;1H"]],
    [
      ["Authorization:\x1b[1CBearer\x1b[22Gabcdef0123456789abcdef"],
      ["Authorization:\x1b[1CBearer\x1b[22G[redacted]"],
    ],
    // A title.
    [[`\x1b]0;Using ${SECRET}\x07ok`], ["\x1b]0;Using [redacted]\x07ok"]],
  ] as const;
  for (const [pieces, expected] of rows) assertEquals(redacted(...pieces), expected);
});

Deno.test("a secret is redacted wherever terminal output is cut", () => {
  const text = `\x1b[1mThe key\x1b[9G${SECRET}\x1b[22m!`;
  for (let cut = 1; cut < text.length; cut++) {
    const pieces = redacted(text.slice(0, cut), text.slice(cut));
    assert(!pieces.join("").includes("0123456789"), `cut at ${cut}`);
    assertEquals(pieces.length, 2);
  }
});

Deno.test("output without secrets is unchanged", () => {
  const pieces = [
    "\x1b[?25l\x1b[38;5;174m ▐▛███▜▌\x1b[39m",
    "\x1b7\x1b[r\x1b8\r\n\x1b]0;title\x07 plain",
  ];
  assertEquals(redacted(...pieces), pieces);
});

Deno.test("cursor moves do not blow up the searched text", () => {
  const lengths: number[] = [];
  const output = "\x1b[80C\x1b[9;9H".repeat(1000);
  redactTerminal([output], (text) => {
    lengths.push(text.length);
    return text;
  });
  assertEquals(lengths.every((length) => length <= output.length), true);
});
