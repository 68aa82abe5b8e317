import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { basename } from "node:path";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { storeLearntProfile } from "../../../src/claude/program/learnt_profiles.ts";
import { type Cassette, framesOn } from "../../../src/recording/cassette/cassette_format.ts";
import { firstMessage } from "../../../src/recording/cassette/cast_steps.ts";
import { replayCassette } from "../../../src/recording/cassette/replay_cassette.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { createOutputWriter } from "../../../src/claude/wire/output_writer.ts";
import { readCassette } from "../../recording/cassette/recorded_runs.ts";
import { someProfile } from "../../claude/versions/some_profile.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { type ProgramOutput, startProgram } from "../../start_program.ts";
import { normalized } from "../../conversation/output/normalized.ts";
import { StandIn } from "../stand_in.ts";
import { CONVERSATION, STREAM_FORMAT, userMessage } from "../../caller_lines.ts";

const TOOL: Partial<Scenario> = {
  turns: [[{ text: "I look.", tools: [{ name: "Bash", input: { command: "pwd" } }] }, {
    text: "Found it.",
  }]],
};
const folderOf = (claude: StandIn): string => `${claude.home.path}/cassette`;

/** Runs a command on the recording. */
async function cassette(
  claude: StandIn,
  action: "replay" | "info",
  flags: readonly string[] = [],
): Promise<ProgramOutput> {
  return await startProgram([...CLAUDE_PRINT, "cassette", action, ...flags, folderOf(claude)], {
    env: claude.home.env,
    cwd: claude.home.project,
  }).ended;
}

/** Reads the cassette, which has to replay to the output of the run. */
function recorded(
  claude: StandIn,
  run: Pick<ProgramOutput, "stdout">,
): Cassette {
  const read = readCassette(folderOf(claude));
  const { frames, output, differences } = replayCassette(read);
  let stdout = "";
  const writer = createOutputWriter(output?.format ?? "stream-json", {
    verbose: output?.verbose ?? false,
    write: (text) => stdout += text,
  });
  for (const { frame } of frames) writer.frame(frame as Frame);
  writer.end();
  assertEquals([differences, stdout], [[], run.stdout]);
  return read;
}

/** Output without the ids of one run. */
function comparable(stdout: string): unknown {
  const text = stdout.replaceAll(/(?:msg|toolu|req)_\w+/g, "id");
  try {
    return text.trimEnd().split("\n").map((line) => normalized(JSON.parse(line)));
  } catch {
    return text;
  }
}

/** Runs without and with --record, compares the output, and returns the tape. */
async function tapeOf(format: string): Promise<unknown> {
  const args = ["--output-format", format, ...format === "stream-json" ? ["--verbose"] : []];
  await using claude = await StandIn.set(TOOL);
  const plain = await claude.printInProcess([...args, "look"]);
  const run = await claude.printInProcess([...args, "--record", folderOf(claude), "look"]);
  assertEquals([run.code, run.stderr], [0, ""], format);
  assertEquals(comparable(run.stdout), comparable(plain.stdout), format);
  const { meta, tape } = recorded(claude, run);
  assertEquals(meta?.claude_code, "2.1.332");
  const frames = framesOn(tape).map(({ frame }) => frame);
  assertEquals(frames.at(-1)?.type, "result", format);
  if (format === "stream-json") {
    assertEquals<unknown>(frames, run.frames);
    const replayed = await cassette(claude, "replay");
    assertEquals([replayed.code, replayed.stderr, replayed.stdout], [0, "", run.stdout]);
  }
  if (format === "json") assertEquals(frames.at(-1)?.["uuid"], run.result["uuid"]);
  // The status line gives limits and the size of the context, and a run in text has none.
  const text = frames.map(({ claude_limits: _, ...frame }) =>
    JSON.stringify(frame, (name, value) => name === "contextWindow" ? 0 : value)
  ).join("\n");
  return comparable(text.replaceAll(basename(claude.home.path), "home"));
}

Deno.test("the tape is the same in every format", async () => {
  const expected = await tapeOf("stream-json");
  for (const format of ["text", "json"]) assertEquals(await tapeOf(format), expected, format);
});

Deno.test("a failed run is recorded up to its end", async () => {
  await using claude = await StandIn.set({ crash: { at: "prompt", code: 7, screen: "Oops\r\n" } });
  const run = await claude.printInProcess(["--record", folderOf(claude), "hello"]);
  assertEquals(run.code, 2);
  const { cast, tape } = recorded(claude, run);
  assertEquals(cast.events.findLast(({ code }) => code === "x")?.data, "7");
  assertStringIncludes(
    cast.events.filter(({ code }) => code === "o").map(({ data }) => data).join(""),
    "Oops",
  );
  assertEquals(framesOn(tape).at(-1)?.frame["subtype"], "internal_error");
});

Deno.test("a run ended by SIGKILL is recorded without secrets", async () => {
  const key = "qwertz-4711-asdfgh";
  await using claude = await StandIn.set({
    hang: "stream",
    turns: [[{ text: `Half an answer with ${key} and its end` }]],
  });
  const run = claude.start([...STREAM_FORMAT, "--record", folderOf(claude), "hello"], {
    killed: true,
    env: { ANTHROPIC_API_KEY: key },
    onStdout: () => run.kill("SIGKILL"),
  });
  const { stdout } = await run.ended;
  const { meta, cast, tape } = readCassette(folderOf(claude));
  assertEquals(framesOn(tape).map(({ frame }) => frame), [JSON.parse(stdout)]);
  assertEquals([meta?.format, meta?.claude_code], [1, "2.1.332"]);
  assertEquals(firstMessage(cast)?.text, "hello");
  assert(cast.events.some(({ code, data }) => code === "h" && data.includes("spawned")));
  const replayed = await cassette(claude, "replay");
  assertEquals([replayed.code, replayed.stderr, replayed.stdout], [0, "", stdout]);
  for (const name of ["child.cast", "meta.json", "tape.jsonl"]) {
    const written = await Deno.readTextFile(`${folderOf(claude)}/${name}`);
    assert(!written.includes(key) && written.endsWith("\n"), name);
  }
});

Deno.test("a conversation is recorded with its caller's lines", async () => {
  const token = "qwertz-4711-asdfgh";
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}, {turn}" }]] });
  const lines = [
    { type: "control_request", request_id: "i", request: { subtype: "initialize", hooks: null } },
    userMessage("one"),
    { type: "keep_alive", access_token: token },
    userMessage(`two ${token}`, { priority: "later" }),
  ].map((line) => JSON.stringify(line));
  const run = await claude.print([...CONVERSATION, "--record", folderOf(claude)], {
    ...{ stdin: `${lines.join("\n")}\n`, env: { MY_TOKEN: token }, killed: true },
  });
  assertEquals([run.code, run.stdout.match(/"type":"result"/gu)?.length], [0, 2]);
  const { tape } = recorded(claude, { stdout: run.stdout.replaceAll(token, "[redacted]") });
  const wrote = tape.flatMap((entry) => entry.dir === "write" ? [entry.data] : []);
  assertEquals(wrote, lines.map((line) => `${line.replaceAll(token, "[redacted]")}\n`));
  const info = JSON.parse((await cassette(claude, "info", ["--json"])).stdout);
  assertEquals([info.turns, info.parts["tape.jsonl"].lines], [2, 4]);
  assertEquals(info.meta.scrubbed["tape.jsonl"] > 1, true);
  assertEquals(info.ended, { how: "answered", exitCode: 0 });
  const told = await cassette(claude, "info");
  assertEquals([told.code, told.stderr], [0, ""]);
  assertStringIncludes(told.stdout, "\nended       2 turns, answered, exit code 0\n");
  // An answer comes after its line.
  const kinds = tape.map((entry) => entry.dir === "write" ? "line" : entry.frame.type);
  assertEquals(kinds.slice(0, 2), ["line", "line"]);
  assert(kinds.indexOf("control_response") > 0, kinds.join());
  const times = tape.map(({ at }) => at);
  assertEquals(times, times.toSorted((one, other) => one - other));
});

Deno.test("a recording has no credential of environment, settings or screen", async () => {
  const secrets = ["qwertz-4711-asdfgh", "setting-in-a-file-5678", "sk-ant-api03-0123456789abcdef"];
  const [key = "", setting = "", shape = ""] = secrets;
  await using claude = await StandIn.set({
    turns: [[{ text: `Never say ${key}, ${setting} or ${shape}.` }]],
  });
  const settings = `${claude.home.path}/mine.json`;
  const text = `{ "env": { "MY_TOKEN": "${setting}" } } // with a comment`;
  await Deno.writeTextFile(settings, text);
  const run = await claude.printInProcess(
    ["--settings", settings, "--record", folderOf(claude), `Say ${key}`],
    { env: { ANTHROPIC_API_KEY: key } },
  );
  assertEquals(run.stdout, `Never say ${key}, ${setting} or ${shape}.\n`);
  recorded(claude, {
    stdout: run.stdout.replaceAll(/qwe\S+fgh|set\S+5678|sk-\S+f(?=\.)/gu, "[redacted]"),
  });
  for (const name of ["child.cast", "tape.jsonl"]) {
    const written = await Deno.readTextFile(`${folderOf(claude)}/${name}`);
    assertStringIncludes(written, "[redacted]");
    for (const secret of secrets) assert(!written.includes(secret), `${secret} in ${name}`);
  }
});

Deno.test("only one of two runs records in a folder", async () => {
  await using claude = await StandIn.set();
  const args = ["--record", folderOf(claude), "hello"];
  const runs = await Promise.all([claude.print(args), claude.print(args)]);
  const [recorder, other] = runs.toSorted((a, b) => a.code - b.code);
  assertEquals([recorder?.code, other?.code], [0, 2]);
  assertStringIncludes(other?.stderr ?? "", `Cannot record in ${folderOf(claude)}: `);
  assertEquals((await claude.journal("start")).length, 1);
  recorded(claude, recorder as ProgramOutput);
});

Deno.test("a recording without the API comes with a warning", async () => {
  await using claude = await StandIn.set();
  const run = await claude.printInProcess(["--record", folderOf(claude), "hello"], {
    warns: true,
    env: { CLAUDE_CODE_USE_BEDROCK: "1" },
  });
  assertEquals([run.code, run.stderr], [
    0,
    "claude-print: Warning: Cannot record the API: CLAUDE_CODE_USE_BEDROCK lets Claude Code ask Amazon Bedrock\n",
  ]);
  recorded(claude, run);
});

Deno.test("a recording carries the learnt profile of its version", async () => {
  const version = "94.0.0";
  await using claude = await StandIn.set({ version });
  const env = { XDG_CACHE_HOME: `${claude.home.path}/cache` };
  await Deno.mkdir(env.XDG_CACHE_HOME);
  const profile = someProfile(version, {
    frames: { "system/init": "type learnt_key" },
    constants: { "system/init learnt_key": "learnt" },
  });
  storeLearntProfile(profile, env);
  const args = [...STREAM_FORMAT, "--record", folderOf(claude), "hello"];
  const run = await claude.print(args, { env });
  assertEquals(run.frames[0]?.["learnt_key"], "learnt");
  await Deno.remove(env.XDG_CACHE_HOME, { recursive: true });
  const replayed = await cassette(claude, "replay");
  assertEquals([replayed.code, replayed.stderr, replayed.stdout], [0, "", run.stdout]);
});
