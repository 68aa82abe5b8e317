import { assert, assertEquals, assertMatch } from "@std/assert";
import { parseLines } from "../../../src/recording/cassette/read/part_lines.ts";
import { replayCassette } from "../../../src/recording/cassette/replay_cassette.ts";
import {
  createPartScrubber,
  createTerminalBlanker,
  type PartScrubberOptions,
} from "../../../src/recording/cassette/part_scrubber.ts";
import { scrubCast, scrubTape } from "../../../src/recording/cassette/scrub_lines.ts";
import { createRedactor } from "../../../src/recording/redaction/redact.ts";
import { RECORDED_RUNS } from "./recorded_runs.ts";
import { cassetteOf, type RunFiles, scrubbedRun, somebodys } from "./scrub_run.ts";
import { createExchangeScrubber } from "../../../src/recording/relay/scrub_exchange.ts";

const BOTH = { prompts: true, answers: true };

/** The part of a cast line that no scrubbing changes. */
function outline(cast: string): readonly string[] {
  return cast.split("\n").slice(1, -1).map((line) => {
    const [at, code, data] = JSON.parse(line);
    return code === "o" ? `${at} o ${data.length}` : `${at} ${code}`;
  });
}

const NEWEST = RECORDED_RUNS.filter(({ name }) => name.startsWith("2.1.332/"));

Deno.test("a scrubbed run replays equally and names nobody", () => {
  for (const { name, folder } of NEWEST) {
    const files = somebodys(folder);
    assert(/alice|acme/u.test(files.cast), name);
    // This dialog has no list whose caret the cursor stands on, so that a blanked screen cannot be read.
    const blanked = name.endsWith("/dialog-auto-mode-unchecked") ? undefined : BOTH;
    const scrubbed = scrubbedRun(files, blanked);
    assertEquals(/alice|acme/u.exec(scrubbed.cast + scrubbed.tape), null, name);
    assertEquals(outline(scrubbed.cast), outline(files.cast), name);
    assertEquals(replayCassette(cassetteOf(scrubbed)).differences, [], name);
  }
});

Deno.test("a run replays equally without traces alone", () => {
  for (const { name, folder } of RECORDED_RUNS.slice(0, 10)) {
    const scrubbed = scrubbedRun(somebodys(folder));
    assertEquals(/alice|acme/u.exec(scrubbed.cast + scrubbed.tape), null, name);
    assertEquals(replayCassette(cassetteOf(scrubbed)).differences, [], name);
  }
});

Deno.test("scrubbing twice changes nothing more", () => {
  for (const { folder, name } of NEWEST.slice(0, 5)) {
    const once = scrubbedRun(somebodys(folder), BOTH);
    assertEquals(scrubbedRun(once, BOTH), once, name);
  }
});

Deno.test("prompts and answers are blanked independently", () => {
  const run = RECORDED_RUNS.find(({ name }) => name === "2.1.332/conversation");
  const files = somebodys(run?.folder ?? "");
  const { result } = replayCassette(cassetteOf(files));
  assert(typeof result?.result === "string" && result.result.length > 0);
  const blank = (text: string) => text.replace(/[\p{L}\p{N}]/gu, "x");
  const resultOf = (scrubbed: RunFiles) => replayCassette(cassetteOf(scrubbed)).result?.result;
  assertEquals(resultOf(scrubbedRun(files, BOTH)), blank(result.result));
  assertEquals(resultOf(scrubbedRun(files, { prompts: true, answers: false })), result.result);
  const sent = (tape: string) => tape.split("\n").filter((line) => line.includes('"user\\"'));
  const [first = ""] = sent(files.tape);
  const saidIn = (line: string) => JSON.parse(JSON.parse(line).data).message.content[0].text;
  const [scrubbed = ""] = sent(scrubbedRun(files, { prompts: true, answers: false }).tape);
  assertEquals(saidIn(scrubbed), blank(saidIn(first)));
});

const NOTHING = { prompts: false, answers: false };
/** The known traces of a user. */
const KNOWN = { projects: ["/work/acme"], homes: [], users: ["alice"], hosts: [], words: [] };

/** Scrubs lines of a cast, after the header of a recorded one. */
function scrubbedEvents(
  events: readonly (readonly [number, string, unknown])[],
  blanked = NOTHING,
): readonly (readonly [number, string, string])[] {
  const [header = ""] = Deno.readTextFileSync(`${RECORDED_RUNS[0]?.folder}/child.cast`).split("\n");
  const text = events.map(([at, code, data]) =>
    JSON.stringify([at, code, typeof data === "string" ? data : JSON.stringify(data)])
  );
  const lines: string[] = [];
  scrubCast(parseLines([header, ...text].join("\n"), { path: "it" }), {
    path: "it",
    scrubber: createPartScrubber({
      known: KNOWN,
      redactor: createRedactor({ env: {} }),
      blanked,
    }),
    blanked,
    take: ({ text }) => void lines.push(text),
  });
  return lines.slice(1).map((line) => JSON.parse(line));
}

/** Scrubs lines of a tape. Traces stay unless they are known. */
function scrubbedTape(
  tape: readonly unknown[],
  { env = {}, ...options }: Partial<PartScrubberOptions> & { env?: Record<string, string> },
): readonly string[] {
  const text = tape.map((line) => typeof line === "string" ? line : JSON.stringify(line));
  const lines: string[] = [];
  scrubTape(parseLines(text.join("\n"), { path: "it" }), {
    path: "it",
    scrubber: createPartScrubber({
      blanked: NOTHING,
      redactor: createRedactor({ env }),
      ...options,
    }),
    take: ({ text }) => void lines.push(text),
  });
  return lines;
}

Deno.test("output is blanked once an answer may be shown", () => {
  const hook = (event: string, payload = {}) => ({ type: "hook", event, payload });
  const start = (source: string) => hook("SessionStart", { source });
  const rows: readonly (readonly [string, readonly unknown[], string])[] = [
    ["before a session has begun", [], "xxxx"],
    ["in a new session", [start("startup")], "Tips"],
    ["in a resumed session", [start("resume")], "xxxx"],
    ["after a prompt", [start("startup"), hook("UserPromptSubmit")], "xxxx"],
    ["while busy", [start("startup"), { type: "status", status: "busy" }], "xxxx"],
    ["while idle", [start("startup"), { type: "status", status: "idle" }], "Tips"],
    ["after a line", [start("startup"), { type: "transcript", line: { type: "x" } }], "xxxx"],
    [
      "after a stream event",
      [start("startup"), { type: "stream", request: 1, part: { kind: "end" } }],
      "xxxx",
    ],
  ];
  for (const [when, inputs, shown] of rows) {
    // Output after an input is blanked by what is known then.
    const events = [
      ...inputs.map((input) => [1, "h", input] as const),
      [2, "o", "Tips\r\n"] as const,
    ];
    const [, , output] = scrubbedEvents(events, { prompts: false, answers: true }).at(-1) ?? [];
    assertEquals(output, `${shown}\r\n`, when);
  }
});

Deno.test("blanked output keeps its sequences, wherever they are cut", () => {
  const sequences = [
    "[1;2m",
    "7",
    "(B",
    "]8;;http://x\x07",
    "]10;?\x1b\\",
    "Pq1\x07",
    "Xa\x1b\x1b\\",
    "[?~",
  ];
  const titles = ["]0;It's 1\x07", "]2;Me\x1b\\"];
  const shown = [...sequences, ...titles].map((sequence) => `Hi \x1b${sequence}`).join("") + "Hi";
  const blanked = shown.replace(/Hi/gu, "xx").replace("It's 1", "xx'x x").replace("Me", "xx");
  assertEquals(createTerminalBlanker()(shown), blanked);
  assertEquals([...shown].map(createTerminalBlanker()).join(""), blanked);
});

Deno.test("a path is scrubbed across pieces, colours and rows", () => {
  const pieces = [
    "at /wo",
    "rk/a\x1b[1",
    "mcm\x1b[0me/x.ts\r\n│ /home/b",
    "o │\r\n│ b/q",
    " │\x1b]0;alice\x07",
  ];
  const events = scrubbedEvents(pieces.map((piece, at) => [at, "o", piece]));
  assertEquals(events.map(([, , text]) => text), [
    "at /wo",
    "rk/x\x1b[1",
    "mxx\x1b[0mx/x.ts\r\n│ /home/x",
    "x │\r\n│ x/x",
    " │\x1b]0;xxxxx\x07",
  ]);
});

Deno.test("a path is scrubbed across deltas", () => {
  const delta = (index: number, field: string, text: string) => ({
    type: "stream",
    request: 1,
    part: {
      kind: "event",
      event: {
        type: "content_block_delta",
        index,
        delta: { type: `${field}_delta`, [field]: text },
      },
    },
  });
  const parts = ["in /wo", "rk/ac", "me/a.ts and /home/a", "nna/secret, so"];
  const blanked = ["in /wo", "rk/xx", "xx/a.ts and /home/x", "xxx/xxxxxx, so"];
  const fields = ["text", "thinking", "partial_json"];
  const make = (texts: readonly string[]) =>
    texts.flatMap((text, at) => [
      ...fields.map((field, index) => [at, "h", delta(index, field, text)] as const),
      [at, "h", { type: "shell-output", id: "b1", text }] as const,
    ]);
  const stop = {
    type: "stream",
    request: 1,
    part: { kind: "event", event: { type: "content_block_stop", index: 0 } },
  };
  const events = scrubbedEvents([...make(parts), [9, "h", stop], [
    9,
    "h",
    delta(0, "text", "/home/a"),
  ]]);
  assertEquals(
    events.slice(0, -2).map(([at, , text]) => [at, JSON.parse(text)]),
    make(blanked).map(([at, , value]) => [at, value]),
  );
  assertMatch(events.at(-1)?.[2] ?? "", /"\/home\/x"/u);
});

Deno.test("keys, screens, markers and unknown events keep their shape", () => {
  const screen = { lines: ["/home/bo", "b/x  Yes"], cursor: { row: 0, col: 0 } };
  const events = scrubbedEvents([
    [1, "i", "\x1b[200~/home/bob\r/work/acme/a\x1b[201~\x1b[A\r"],
    [2, "h", { type: "screen", screen }],
    [3, "m", "alice"],
    [4, "z", "of alice"],
    [5, "r", "80x24"],
  ]);
  assertEquals(events.map(([, code, text]) => [code, text]), [
    ["i", "\x1b[200~/home/xxx\r/work/xxxx/a\x1b[201~\x1b[A\r"],
    [
      "h",
      JSON.stringify({ type: "screen", screen: { ...screen, lines: ["/home/xx", "x/x  Yes"] } }),
    ],
    ["m", "xxxxx"],
    ["z", "of xxxxx"],
    ["r", "80x24"],
  ]);
});

Deno.test("a scrubbed tape keeps its format and unknown fields", () => {
  const tape = [
    {
      dir: "write",
      data: '{"type":"user","message":{"role":"user","content":"/work/acme"}}\n',
      more: 1,
    },
    { dir: "write", data: '{ "spaced": 1 }\n' },
    '{ "type": "system", "n": 12345678901234567890 }',
    { dir: "write", data: "no JSON of alice\n" },
    { dir: "write", data: "", exit: { code: 1, stderr: "alice may not" } },
    { dir: "read", frame: { type: "system", cwd: "/work/acme" }, at: 5 },
    { type: "assistant", text: "alice é" },
  ];
  const lines = scrubbedTape(tape, { known: KNOWN, env: { API_TOKEN: "spaced-out-token" } });
  assertEquals(lines, [
    String
      .raw`{"dir":"write","data":"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"/work/xxxx\"}}\n","more":1}`,
    String.raw`{"dir":"write","data":"{ \"spaced\": 1 }\n"}`,
    '{ "type": "system", "n": 12345678901234567890 }',
    String.raw`{"dir":"write","data":"no JSON of xxxxx\n"}`,
    '{"dir":"write","data":"","exit":{"code":1,"stderr":"xxxxx may not"}}',
    '{"dir":"read","frame":{"type":"system","cwd":"/work/xxxx"},"at":5}',
    String.raw`{"type":"assistant","text":"xxxxx \u00e9"}`,
  ]);
});

const WORDS = /Look (?:around|left|right)|(?:Look|Left|Right)\. |There are|Nothing/u;

Deno.test("words of subagents are blanked, and the run replays", () => {
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

/** The events of a call of a subagent, in pieces of this many characters. */
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

Deno.test("a subagent's prompt is blanked across deltas", () => {
  const scrubbed = (events: readonly unknown[]) => {
    const frames = events.map((event) => ({
      dir: "read",
      frame: { type: "stream_event", session_id: "s", event },
    }));
    return scrubbedTape(frames, { blanked: { prompts: true, answers: false } })
      .map((line) => JSON.parse(line).frame.event);
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

Deno.test("a scrubbed call leads to the subagent's scrubbed request", () => {
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
