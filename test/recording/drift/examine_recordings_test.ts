import { assert, assertEquals, assertThrows } from "@std/assert";
import { encodeShapes, measureShapes } from "../../../fixtures/measure_shapes.ts";
import type { TapeEntry } from "../../../src/recording/cassette/cassette_format.ts";
import { findCassettes } from "../../../src/recording/cassette/read/find_cassettes.ts";
import { CliError } from "../../../src/cli_error.ts";
import {
  compareRuns,
  compareWithRecording,
  repeatablePrompts,
  type RepeatedRun,
} from "../../../src/recording/drift/repeated_run.ts";
import { examineRecordings } from "../../../src/recording/drift/examine_recordings.ts";
import { Findings } from "../../../src/recording/drift/findings.ts";
import { findSdks, sdkAt } from "../../../src/recording/drift/installed_sdks.ts";
import { knownShapes, requiredFields } from "../../../src/recording/drift/known_shapes.ts";
import { addExchange } from "../../../src/recording/relay/exchange_folder.ts";
import { keyOf } from "../../../src/recording/relay/match_requests.ts";
import type { AnyFrame } from "../../../src/claude/wire/any_frame.ts";
import { readCassette } from "../cassette/recorded_runs.ts";

const RECORDINGS = new URL("../../../fixtures/recordings/", import.meta.url).pathname;
const RUNS = `${RECORDINGS}runs/2.1.332/`;
const RUN = `${RUNS}tools`;

Deno.test("known_shapes.json holds the shapes of all recordings: deno task shapes", () => {
  const path = new URL("../../../src/recording/drift/known_shapes.json", import.meta.url);
  assertEquals(Deno.readTextFileSync(path), encodeShapes(measureShapes()));
});

Deno.test("an older version needs only the fields of all", () => {
  const known = knownShapes();
  const piece = { sort: "frame", name: "system/init", fields: [] } as const;
  const newest = requiredFields(known, piece, known.version);
  const old = requiredFields(known, piece, "2.1.285");
  for (const version of ["99.0.0", undefined]) {
    assertEquals(requiredFields(known, piece, version), newest);
  }
  assertEquals(requiredFields(known, piece, "2.1.330"), old);
  assertEquals([newest.has("original_cwd"), old.has("original_cwd")], [true, false]);
  assertEquals([newest.has("cwd"), old.has("cwd")], [true, true]);
});

function look(...paths: readonly string[]) {
  const findings = new Findings();
  const checked = examineRecordings(findCassettes(paths), { known: knownShapes(), findings });
  return { checked, findings: findings.sorted() };
}

/** Runs a test with a new folder, and removes the folder. */
function inFolder(test: (folder: string) => void): void {
  const folder = Deno.makeTempDirSync();
  try {
    test(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Copies a recorded run into a folder; returns a function that edits its files. */
function copyRun(folder: string) {
  for (const name of ["child.cast", "tape.jsonl", "meta.json"]) {
    Deno.copyFileSync(`${RUN}/${name}`, `${folder}/${name}`);
  }
  return (name: string, change: (text: string) => string) => {
    const path = `${folder}/${name}`;
    Deno.writeTextFileSync(path, change(Deno.readTextFileSync(path)));
  };
}

/** Adds an exchange to a folder of a cassette's exchanges. */
function makeExchange(
  api: string,
  {
    answer,
    version,
    path = "/v1/messages?beta=true",
    status = 200,
    type = "text/event-stream",
    whole = true,
  }: {
    readonly answer: string;
    readonly path?: string;
    readonly version?: string;
    readonly status?: number;
    readonly type?: string;
    readonly whole?: boolean;
  },
): void {
  const bytes = new TextEncoder();
  const body = bytes.encode(`{"system":"cc_version=${version}.d3d;"}`);
  const request = { method: "POST", path, body };
  const response = {
    status,
    headers: [["content-type", type]] as const,
    chunks: [{ ms: 0, bytes: bytes.encode(answer) }],
    whole,
  };
  addExchange(api, { exchange: { at: 0, request, response }, key: keyOf(request) });
}

Deno.test("the recordings of this project are known", () => {
  const { checked, findings } = look(
    ...["runs", "sdk", "readme"].map((name) => `${RECORDINGS}${name}`),
  );
  assertEquals(findings, []);
  assert(checked.recordings > 20 && checked.frames > 200 && checked.events > 2000);
  assert([...checked.versions.keys()].includes("2.1.285"));
});

Deno.test("damaged lines are reported, and the others are examined", () => {
  inFolder((folder) => {
    const edit = copyRun(folder);
    edit("tape.jsonl", (text) => `{"dir":"read"}\nnonsense\n${text}{"dir":"re`);
    edit("child.cast", (text) => `${text}[1,2]\n${"[".repeat(2000)}\n`);
    const { checked, findings } = look(folder);
    assertEquals(checked.frames, look(RUN).checked.frames);
    const found = findings.map(({ check, where, what, first }) =>
      `${check} | ${where} | ${what} | ${first.path.slice(folder.length + 1)}`
    );
    const rejected = [
      "line of the cast | it is nested too deeply | child.cast",
      "line of the cast | it is no event of a cast | child.cast",
      "line of the tape | it is neither a frame nor a line of the caller | tape.jsonl",
      "line of the tape | it is not JSON | tape.jsonl",
      "line of the tape | it was cut short | tape.jsonl",
    ];
    assertEquals(found, rejected.map((line) => `frame rejected | ${line}`).toSorted());
    const [foreign] = findings.filter(({ what }) => what === "it is not JSON");
    assertEquals(foreign?.first.line, 2);
  });
});

Deno.test("a foreign cast and a later format are not read", () => {
  inFolder((folder) => {
    const edit = copyRun(folder);
    edit("child.cast", (text) => `{"version":2,"width":80,"height":24}\n${text}`);
    const foreign = look(folder);
    assertEquals(foreign.findings.map(({ what }) => what), ["it was not recorded by claude-print"]);
    assertEquals(foreign.checked.events, 0);
    edit("meta.json", () => '{"format":99}');
    const later = look(folder);
    assertEquals(later.checked.recordings, 0);
    assertEquals(later.findings.map(({ check, where }) => [check, where]), [
      ["frame rejected", "file"],
    ]);
  });
});

Deno.test("tapes of other programs are examined, empty ones are ignored", () => {
  inFolder((folder) => {
    Deno.writeTextFileSync(`${folder}/a.jsonl`, '{"type":"news"}\n');
    Deno.writeTextFileSync(`${folder}/b.jsonl`, "");
    const { checked, findings } = look(folder);
    assertEquals(checked.recordings, 1);
    assertEquals(findings.map(({ check, what }) => [check, what]), [["type unknown", "news"]]);
  });
});

Deno.test("responses of the API are examined in other recordings' absence", () => {
  const events = [
    { type: "message_start", message: {} },
    { type: "content_block_start", index: 0, content_block: { type: "hologram" } },
    { type: "content_block_delta", index: 0, delta: { type: "hologram_delta" } },
    { type: "content_block_stop", index: 0, mood: "fine" },
    { type: "message_delta", delta: {} },
    { type: "message_stop" },
  ];
  inFolder((folder) => {
    makeExchange(`${folder}/streamed/api`, {
      answer: events.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join(""),
      version: "2.1.332",
    });
    makeExchange(`${folder}/at-once/api`, {
      answer: '{"type":"message","content":[{"type":"hologram"}]}',
      type: "application/json",
    });
    makeExchange(`${folder}/failed/api`, { answer: '{"type":"news"}', status: 400 });
    makeExchange(`${folder}/failed/api`, { answer: '{"type":"news"}', path: "/v1/files" });
    const { checked, findings } = look(folder);
    const { recordings, answers, empty, versions } = checked;
    assertEquals([recordings, answers, empty], [2, 2, [`${folder}/failed`]]);
    assertEquals([...versions], [["", 1], ["2.1.332", 1]]);
    const ofStreams = findings.filter(({ where }) => !/ of (?:assistant|a message)/u.test(where));
    assertEquals(ofStreams.map(({ check, where, what, count }) => [check, where, what, count]), [
      ["type unknown", "event", "content_block_delta/hologram_delta", 1],
      ["block dropped", "block", "hologram", 2],
      ["field new", "event content_block_stop", "mood", 1],
      ["field gone", "event message_delta", "usage", 1],
    ]);
  });
});

Deno.test("an invalid response is reported unless it breaks off", () => {
  const unreadable = "answer of the API | it cannot be read as JSON";
  const ping = 'data: {"type":"ping"}\n\n';
  for (
    const [exchange, expected] of [
      [{ answer: ping }, []],
      [{ answer: `${ping}data: {"type":\n\n` }, [unreadable]],
      [{ answer: `${ping}data: {"type":`, whole: false }, []],
      [{ answer: "<html>", type: "application/json" }, [unreadable]],
    ] as const
  ) {
    inFolder((folder) => {
      makeExchange(`${folder}/api`, exchange);
      const { checked, findings } = look(folder);
      assertEquals(checked.answers, 1);
      assertEquals(findings.map(({ where, what }) => `${where} | ${what}`), [...expected]);
    });
  }
});

Deno.test("equal findings are counted, and their number is limited", () => {
  const findings = new Findings();
  const place = { path: "tape.jsonl", line: 1 };
  const found = { check: "type unknown", where: "frame", what: "x" } as const;
  for (const line of [7, 8, 9]) findings.add(found, { place: { ...place, line } });
  findings.add({ ...found, what: "é".repeat(10_000) }, { place });
  findings.add(found, { place, by: "an SDK" });
  const [one, long, other] = findings.sorted();
  assertEquals([other?.by, one?.count, one?.first.line], ["an SDK", 3, 7]);
  assertEquals(long?.what, `${"é".repeat(200)}…`);
  for (let at = 0; at < 2000; at++) findings.add({ ...found, what: `${at}` }, { place });
  assertEquals([findings.sorted().length, findings.left], [1000, 1003]);
});

Deno.test("findings are sorted by their check", () => {
  const checks = [
    "frame rejected",
    "type unknown",
    "block dropped",
    "field new",
    "field gone",
    "dialog unknown",
    "probe unknown",
    "hook event new",
    "answered otherwise",
  ] as const;
  const findings = new Findings();
  for (const check of checks.toReversed()) {
    findings.add({ check, where: "frame", what: "x" }, { place: { path: "a", line: 1 } });
  }
  assertEquals(findings.sorted().map(({ check }) => check), [...checks]);
});

Deno.test("foundSdks() finds Agent SDKs in PATH and node_modules", () => {
  inFolder((folder) => {
    const sdk = "@anthropic-ai/claude-agent-sdk";
    for (const dir of ["venv/bin", "bin", `node_modules/${sdk}`, "sub"]) {
      Deno.mkdirSync(`${folder}/${dir}`, { recursive: true });
    }
    const find = (env: Readonly<Record<string, string>>) => findSdks({ env, cwd: `${folder}/sub` });
    const PATH = `relative:${folder}/bin`;
    assertEquals(find({ PATH }), []);
    for (const dir of ["venv/bin", "bin"]) Deno.writeTextFileSync(`${folder}/${dir}/python3`, "");
    const python = (dir: string) => ({
      kind: "python",
      python: `${folder}/${dir}/python3`,
      isNamed: false,
    });
    assertEquals<unknown>(find({ PATH }), [python("bin")]);
    const VIRTUAL_ENV = `${folder}/venv`;
    Deno.writeTextFileSync(`${folder}/node_modules/${sdk}/sdk.d.ts`, "export {};");
    const typescript = (version: string) => ({
      kind: "typescript",
      name: `${sdk} ${version}`,
      declarations: "export {};",
    });
    assertEquals<unknown>(find({ PATH, VIRTUAL_ENV }), [
      python("venv/bin"),
      typescript("of an unknown version"),
    ]);
    Deno.writeTextFileSync(`${folder}/node_modules/${sdk}/package.json`, '{"version":"0.3.1"}');
    assertEquals<unknown>(find({}), [typescript("0.3.1")]);
    const named = (path: string) => sdkAt(`${folder}/${path}`);
    for (const path of ["venv", "venv/bin/python3"]) {
      assertEquals<unknown>(named(path), { ...python("venv/bin"), isNamed: true });
    }
    assertEquals<unknown>(named(`node_modules/${sdk}`), typescript("0.3.1"));
    assertThrows(() => named("sub"), CliError, "Cannot find an Agent SDK");
  });
});

const talk = (name: string, ...allowed: readonly string[]) =>
  repeatablePrompts(readCassette(`${RUNS}${name}`), { allowed });

/** The prompts of a cassette whose caller wrote these lines, or why it cannot be run again. */
function why(...lines: readonly unknown[]): unknown {
  const cassette = readCassette(`${RUNS}conversation`);
  const written = lines.map((line): TapeEntry => ({
    at: 0,
    dir: "write",
    data: typeof line === "string" ? line : JSON.stringify(line),
  }));
  const read = cassette.tape.filter(({ dir }) => dir === "read");
  const talk = repeatablePrompts({ ...cassette, tape: [...written, ...read] }, { allowed: [] });
  return "why" in talk ? talk.why : talk.prompts;
}

Deno.test("prompts and options of a run are found", () => {
  assertEquals(talk("answer"), {
    prompts: ["Greet me. [[think hm]] [[say Hello there.]]"],
    isConversation: false,
    model: "claude-opus-5-5",
    hasKey: false,
  });
  const limited = talk("max-turns", "Bash");
  assert(!("why" in limited));
  assertEquals(limited.maxTurns, 2);
  const conversation = talk("conversation");
  assert(!("why" in conversation));
  assertEquals(conversation.prompts.length, 5);
  assertEquals(conversation.isConversation, true);
});

Deno.test("a run that cannot be repeated says why", () => {
  assertEquals(talk("tools"), { why: "it calls Bash, which --allowedTools does not name" });
  assert(!("why" in talk("tools", "Bash")));
  assertEquals(talk("timeout", "Bash"), { why: "it ended with timeout" });
  const user = (content: unknown) => ({ type: "user", message: { role: "user", content } });
  assertEquals(why(user("one"), user([{ type: "text", text: "two" }])), ["one", "two"]);
  assertEquals(why({ type: "control_request", request: { subtype: "initialize" } }, user("a")), [
    "a",
  ]);
  assertEquals(why("{"), "a line of its caller cannot be read");
  assertEquals(
    why(user("a"), { type: "control_request", request: { subtype: "interrupt" } }),
    "its caller sent more than texts: control_request interrupt",
  );
  assertEquals(why(user([{ type: "image" }])), "its caller sent more than texts: user");
  assertEquals(
    why({ type: "control_request", request: { subtype: "initialize" } }),
    "its caller said nothing",
  );
});

Deno.test("differences of a repeated run are reported", () => {
  const frames: readonly AnyFrame[] = [
    { type: "system", subtype: "init" },
    { type: "rate_limit_event" },
    { type: "assistant" },
    { type: "result", subtype: "success", is_error: false, num_turns: 1, result: "a", uuid: "1" },
  ];
  const otherwise = (...again: readonly AnyFrame[]) =>
    compareWithRecording(frames, { frames: again }).map(({ where, what }) => `${where} | ${what}`);
  const [init, , answer, result] = frames as readonly [AnyFrame, AnyFrame, AnyFrame, AnyFrame];
  assertEquals(otherwise(init, answer, { ...result, uuid: "2" }), []);
  assertEquals(
    otherwise(init, { type: "news" }, { ...result, result: "b".repeat(500), num_turns: 2 }),
    [
      "frames | assistant does not come",
      "frames | news comes",
      "result of turn 1 | num_turns: 2 instead of 1",
      `result of turn 1 | result: ${"b".repeat(79)}… instead of a`,
    ],
  );
  assertEquals(otherwise(init, answer), ["results | 0 instead of 1"]);
});

Deno.test("two runs are compared by requests and exit code", () => {
  const run: RepeatedRun = {
    frames: [{ type: "result", subtype: "success", result: "a" }],
    requests: [{
      model: "m",
      max_tokens: 5,
      fallbacks: [{ model: "n" }],
      metadata: { user_id: "1" },
      system: "one",
      tools: [{ name: "Bash", description: "one" }, { name: "Task" }, null, {}],
      messages: [null, { role: "user", content: [{ type: "text", text: "one" }, null] }],
    }],
    exitCode: 0,
  };
  const [request = {}] = run.requests;
  const differences = (now: Partial<RepeatedRun>) =>
    compareRuns(run, { ...run, ...now }).map(({ where, what }) => `${where} | ${what}`);
  const texts = {
    metadata: { user_id: "2" },
    system: "two",
    tools: [{ name: "Bash", description: "two" }, { name: "Task" }],
    messages: [{ role: "user", content: [{ type: "text", text: "two" }] }],
  };
  assertEquals(differences({ requests: [{ ...request, ...texts }] }), []);
  const { fallbacks: _fallbacks, ...without } = request;
  const result = { type: "tool_result", is_error: true };
  assertEquals(
    differences({
      requests: [{
        ...without,
        max_tokens: 6,
        tools: [{ name: "Agent" }, { name: "Bash" }],
        messages: [{ role: "user", content: "one" }, { role: "user", content: [result] }],
      }],
    }),
    [
      "requests | max_tokens: 6 instead of 5",
      'requests | fallbacks: nothing instead of [{"model":"n"}]',
      "requests | without tool Task",
      "requests | with tool Agent",
      "requests | messages of request 1: user (text), user (tool_result with an error) instead of user (text)",
    ],
  );
  assertEquals(differences({ requests: [{ ...request, messages: 1 }] }), [
    "requests | messages of request 1: none instead of user (text)",
  ]);
  assertEquals(differences({ requests: [] }), ["requests | 0 instead of 1"]);
  assertEquals(differences({ exitCode: 1, failure: "why" }), ["exit code | 1 instead of 0: why"]);
  assertEquals(differences({ missed: "more" }), ["api | more"]);
  assertEquals(differences({ exitCode: 2, frames: [], requests: [], problem: "no claude" }), [
    "exit code | 2 instead of 0",
    "run | no claude",
  ]);
});
