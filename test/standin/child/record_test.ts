import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { basename } from "node:path";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { storeLearntProfile } from "../../../src/claude/learnt_profiles.ts";
import { type Cassette, framesOn } from "../../../src/cassette/cassette.ts";
import { firstMessage } from "../../../src/cassette/replay/cast_steps.ts";
import { replayCassette } from "../../../src/cassette/replay/replay_cassette.ts";
import type { Frame } from "../../../src/wire/frame.ts";
import { createOutputWriter } from "../../../src/wire/output_writer.ts";
import { readCassette } from "../../cassette/read_cassette.ts";
import { someProfile } from "../../claude/versions/some_profile.ts";
import { concurrently } from "../../faults/concurrently.ts";
import { leftovers } from "../../leftovers.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { type ProgramOutput, startProgram } from "../../start_program.ts";
import { normalized } from "../../frames/normalized.ts";
import { parseOutput } from "../parse_output.ts";
import { StandIn } from "../stand_in.ts";

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  text: [],
  json: ["--output-format", "json"],
  "stream-json": ["--output-format", "stream-json", "--verbose"],
};

const TOOL: Partial<Scenario> = {
  turns: [[{ text: "I look.", tools: [{ name: "Bash", input: { command: "pwd" } }] }, {
    text: "Found it.",
  }]],
};
/** The line of a request, which lets a run tell of a turn at once, and which the stand-in has none of by itself. */
const REQUEST = JSON.stringify({
  type: "api-request",
  querySource: "repl_main_thread",
  params: { model: "claude-opus-5-5" },
});
/** Adds it behind what was said. */
const REQUESTED = `until grep -q skill_listing "$TRANSCRIPT"; do sleep 0.01; done
  echo '${REQUEST}' >> "$TRANSCRIPT"`;
/** Waits for the first result, as far as a run tells of it. */
const UNTIL_TOLD = `until [ -e "$HOME/told" ] ||
  grep -qs '"type":"result"' "$HOME/cassette/tape.jsonl"; do sleep 0.01; done`;

/** A turn, and another one that the end of a task in the background starts. */
const TASK: Partial<Scenario> = {
  backgroundStops: 1,
  sabotage: [{ at: "answer", run: REQUESTED }, { at: "task", run: UNTIL_TOLD }],
  turns: [[{ text: "Started." }], [{ text: "Finished." }]],
};

const folderOf = (claude: StandIn): string => `${claude.home.path}/cassette`;

/** Replays, draws or looks at what was recorded. */
async function cassette(
  claude: StandIn,
  action: "replay" | "svg" | "info",
  flags: readonly string[] = [],
): Promise<ProgramOutput> {
  return await startProgram([...CLAUDE_PRINT, "cassette", action, ...flags, folderOf(claude)], {
    env: claude.home.env,
    cwd: claude.home.project,
  }).ended;
}

/** The cassette, which has to replay to what the run printed without a difference. */
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
  // Whatever is on a tape was a frame of a run.
  for (const { frame } of frames) writer.frame(frame as Frame);
  writer.end();
  assertEquals([differences, stdout], [[], run.stdout]);
  return read;
}

/** Runs claude-print; a task in the background makes two results, which is more than other runs may have. */
async function print(
  claude: StandIn,
  { args, isTask }: { readonly args: readonly string[]; readonly isTask: boolean },
): Promise<ProgramOutput> {
  if (!isTask) return await claude.printHere(args);
  const told = `${claude.home.path}/told`;
  // A run that prints text prints nothing before its end: only its tape tells.
  if (!args.includes("--output-format") && !args.includes("--record")) {
    await Deno.writeTextFile(told, "");
  }
  const onStdout = (text: string) => {
    if (text.includes('"type":"result"')) Deno.writeTextFileSync(told, "");
  };
  const run = await claude.start(args, { killed: true, onStdout }).ended;
  await Deno.remove(told).catch(() => {});
  assertEquals(await leftovers(claude.home), []);
  return run;
}

/** Output as far as it can be the same in two runs. */
function comparable(stdout: string): unknown {
  const text = stdout.replaceAll(/(?:msg|toolu|req)_\w+/g, "id");
  try {
    return text.trimEnd().split("\n").map((line) => normalized(JSON.parse(line)));
  } catch {
    return text;
  }
}

/** Runs the same without and with --record, which has to print the same and to replay; gives the tape. */
async function tapeOf(scenario: Partial<Scenario>, format: string): Promise<unknown> {
  const args = FORMATS[format] ?? [];
  await using claude = await StandIn.set(scenario);
  const isTask = scenario === TASK;
  const plain = await print(claude, { args: [...args, "look"], isTask });
  const recording = [...args, "--record", folderOf(claude), "look"];
  const run = await print(claude, { args: recording, isTask });
  assertEquals([run.code, run.stderr], [0, ""], format);
  assertEquals(comparable(run.stdout), comparable(plain.stdout), format);
  if (format === "stream-json" && !isTask) {
    const replayed = await cassette(claude, "replay");
    assertEquals([replayed.code, replayed.stderr, replayed.stdout], [0, "", run.stdout]);
  }
  const { meta, tape } = recorded(claude, run);
  assertEquals(meta?.claude_code, "2.1.332");
  const frames = framesOn(tape).map(({ frame }) => frame);
  assertEquals(frames.at(-1)?.type, "result", format);
  const printed = parseOutput(run, args);
  if (format === "stream-json") assertEquals<unknown>(frames, printed.frames);
  if (format === "json") assertEquals(frames.at(-1)?.["uuid"], printed.result["uuid"]);
  // A run in text does not wait for what the status line tells: of limits, and of what a turn cost that is not the last.
  const text = frames.map(({ claude_limits: _, ...frame }, at) =>
    JSON.stringify(
      at === frames.length - 1 ? frame : { ...frame, modelUsage: {}, total_cost_usd: undefined },
    )
  ).join("\n");
  return comparable(text.replaceAll(basename(claude.home.path), "home"));
}

for (
  const [what, scenario, formats] of [
    ["a run with a tool", TOOL, Object.keys(FORMATS)],
    // What a second result changes of json is a text's, too: only the last one is printed.
    ["a run with a task in the background", TASK, ["text", "stream-json"]],
  ] as const
) {
  Deno.test(`${what} prints the same with --record in ${formats.join(", ")}, replays, and has the tape that stream-json prints`, async () => {
    const tapes = new Map<string, unknown>();
    await concurrently(formats, {
      limit: 2,
      each: async (format) => void tapes.set(format, await tapeOf(scenario, format)),
    });
    // How large a model's context is, only the status line tells, which a run that prints text has not.
    const told = (format: string) =>
      JSON.parse(
        JSON.stringify(tapes.get(format), (name, value) => name === "contextWindow" ? 0 : value),
      );
    for (const format of tapes.keys()) assertEquals(told(format), told("stream-json"), format);
  });
}

Deno.test("a recorded run is drawn", async () => {
  await using claude = await StandIn.set(TOOL);
  await claude.printHere(["--record", folderOf(claude), "look"]);
  const { code, stdout, stderr } = await cassette(claude, "svg");
  assertEquals([code, stderr], [0, ""]);
  assert(stdout.startsWith("<svg ") && stdout.endsWith("</svg>\n"));
  assertStringIncludes(stdout, "claude-print &quot;look&quot;");
});

Deno.test("a paste is recorded and replays", async () => {
  await using claude = await StandIn.set();
  const run = await claude.printHere(["--inject", "paste", "--record", folderOf(claude), "hello"]);
  assertEquals(run.code, 0);
  const { cast } = recorded(claude, run);
  assert(cast.events.some(({ code, data }) => code === "i" && data.includes("hello")));
});

Deno.test("a run that fails is recorded up to its end", async () => {
  await using claude = await StandIn.set({ crash: { at: "prompt", code: 7, screen: "Oops\r\n" } });
  const run = await claude.printHere(["--record", folderOf(claude), "hello"]);
  assertEquals(run.code, 2);
  const { cast, tape } = recorded(claude, run);
  assertEquals(cast.events.findLast(({ code }) => code === "x")?.data, "7");
  assertStringIncludes(
    cast.events.filter(({ code }) => code === "o").map(({ data }) => data).join(""),
    "Oops",
  );
  assertEquals(framesOn(tape).at(-1)?.frame["subtype"], "internal_error");
});

Deno.test("a run that is interrupted is recorded up to its end", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  const run = claude.start(["--record", folderOf(claude), "hello"]);
  await claude.untilNoted("prompt");
  run.kill("SIGTERM");
  const ended = await run.ended;
  assertEquals(ended.code, 143);
  const { tape } = recorded(claude, ended);
  assertEquals(framesOn(tape).at(-1)?.frame["subtype"], "interrupted");
});

Deno.test("a run that is ended by SIGQUIT is recorded as far as it came", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  const run = claude.start(["--record", folderOf(claude), "hello"], { killed: true });
  await claude.untilNoted("prompt");
  run.kill("SIGQUIT");
  assertEquals((await run.ended).code, 131);
  const { cast, tape } = readCassette(folderOf(claude));
  // How much of the screen had been read by then depends on the machine.
  assertEquals(firstMessage(cast)?.text, "hello");
  assert(cast.events.some(({ code, data }) => code === "h" && data.includes("spawned")));
  assertEquals(tape, []);
  const { code, stdout, stderr } = await cassette(claude, "replay");
  assertEquals([code, stdout, stderr], [0, "", ""]);
});

Deno.test("a run that SIGKILL ends is recorded up to its last input, without secrets", async () => {
  const key = "qwertz-4711-asdfgh";
  await using claude = await StandIn.set({
    hang: "stream",
    turns: [[{ text: `Half an answer with ${key} and its end` }]],
  });
  const run = claude.start(
    [...FORMATS["stream-json"] ?? [], "--record", folderOf(claude), "hello"],
    {
      killed: true,
      env: { ANTHROPIC_API_KEY: key },
      onStdout: () => run.kill("SIGKILL"),
    },
  );
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

Deno.test("a conversation is recorded with the lines of its caller, and replays", async () => {
  const token = "qwertz-4711-asdfgh";
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}, {turn}" }]] });
  const lines = [
    { type: "control_request", request_id: "i", request: { subtype: "initialize", hooks: null } },
    { type: "user", message: { role: "user", content: "one" } },
    { type: "keep_alive", access_token: token },
    { type: "user", message: { role: "user", content: `two ${token}` }, priority: "later" },
  ].map((line) => JSON.stringify(line));
  const run = await claude.print(
    [
      ...["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
      ...["--record", folderOf(claude)],
    ],
    { stdin: `${lines.join("\n")}\n`, env: { MY_TOKEN: token }, killed: true },
  );
  assertEquals([run.code, run.stdout.match(/"type":"result"/gu)?.length], [0, 2]);
  const { tape } = recorded(claude, {
    stdout: run.stdout.replaceAll(token, "[redacted]"),
  });
  const wrote = tape.flatMap((entry) => entry.dir === "write" ? [entry.data] : []);
  assertEquals(wrote, lines.map((line) => `${line.replaceAll(token, "[redacted]")}\n`));
  const info = JSON.parse((await cassette(claude, "info", ["--json"])).stdout);
  assertEquals([info.turns, info.parts["tape.jsonl"].lines], [2, 4]);
  assertEquals(info.meta.scrubbed["tape.jsonl"] > 1, true);
  assertEquals(info.ended, { how: "answered", exitCode: 0 });
  const told = await cassette(claude, "info");
  assertEquals([told.code, told.stderr], [0, ""]);
  assertStringIncludes(told.stdout, "\nended       2 turns, answered, exit code 0\n");
  // What answers a line is behind it.
  const kinds = tape.map((entry) => entry.dir === "write" ? "line" : entry.frame.type);
  assertEquals(kinds.slice(0, 2), ["line", "line"]);
  assert(kinds.indexOf("control_response") > 0, kinds.join());
  const times = tape.map(({ at }) => at);
  assertEquals(times, times.toSorted((one, other) => one - other));
});

Deno.test("a dialog that nobody knows names the recording", async () => {
  const dialog = {
    lines: ["Terms have changed", "", "Claude would like to paint your house."],
    choices: [{ label: "Yes, paint it" }, { label: "No, leave it as it is" }],
    selected: 0,
    numbered: true,
    escape: null,
  };
  await using claude = await StandIn.set({ dialogs: [dialog] });
  const run = await claude.printHere(["--record", folderOf(claude), "hello"]);
  assertEquals(run.code, 2);
  assertStringIncludes(run.stderr, `; the recording in ${folderOf(claude)} shows what came before`);
  recorded(claude, run);
});

Deno.test("no credential of the environment, the settings or the screen is in a recording", async () => {
  const secrets = ["qwertz-4711-asdfgh", "setting-in-a-file-5678", "sk-ant-api03-0123456789abcdef"];
  const [key = "", setting = "", shape = ""] = secrets;
  await using claude = await StandIn.set({
    turns: [[{ text: `Never say ${key}, ${setting} or ${shape}.` }]],
  });
  const settings = `${claude.home.path}/mine.json`;
  const text = `{ "env": { "MY_TOKEN": "${setting}" } } // with a comment`;
  await Deno.writeTextFile(settings, text);
  const run = await claude.printHere(
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

Deno.test("a folder that cannot be recorded in is refused before anything starts", async () => {
  await using claude = await StandIn.set();
  const { project } = claude.home;
  await Deno.writeTextFile(`${project}/notes.txt`, "");
  const run = await claude.printHere(["--record", ".", "hello"]);
  assertEquals([run.code, run.stderr], [
    2,
    `claude-print: Cannot record in ${project}/.: there is something in it\n` +
    "  Give --record a folder that does not exist yet, or an empty one\n",
  ]);
  assertEquals(await claude.journal("start"), []);
});

Deno.test("of two runs that record in one folder at once one does, and the other starts nothing", async () => {
  await using claude = await StandIn.set();
  const args = ["--record", folderOf(claude), "hello"];
  const runs = await Promise.all([claude.print(args), claude.print(args)]);
  const [recorder, other] = runs.toSorted((a, b) => a.code - b.code);
  assertEquals([recorder?.code, other?.code], [0, 2]);
  assertStringIncludes(other?.stderr ?? "", `Cannot record in ${folderOf(claude)}: `);
  assertEquals((await claude.journal("start")).length, 1);
  recorded(claude, recorder as ProgramOutput);
});

Deno.test("where nobody can listen to the API a run is recorded without it, and that is told", async () => {
  await using claude = await StandIn.set();
  const run = await claude.printHere(["--record", folderOf(claude), "hello"], {
    warns: true,
    env: { CLAUDE_CODE_USE_BEDROCK: "1" },
  });
  assertEquals([run.code, run.stderr], [
    0,
    "claude-print: Warning: Cannot record the API: CLAUDE_CODE_USE_BEDROCK lets Claude Code ask Amazon Bedrock\n",
  ]);
  recorded(claude, run);
});

Deno.test("a run that cannot start leaves no folder for its recording", async () => {
  await using claude = await StandIn.set({}, { loggedIn: false });
  const run = await claude.printHere(["--record", folderOf(claude), "hello"]);
  assertEquals(run.code, 2);
  assert([...Deno.readDirSync(claude.home.path)].every(({ name }) => name !== "cassette"));
});

Deno.test("a cassette that is missing or damaged is refused", async () => {
  await using claude = await StandIn.set();
  const missing = await cassette(claude, "replay");
  assertEquals([missing.code, missing.stderr], [
    2,
    `claude-print: Cannot read ${folderOf(claude)}/child.cast: it does not exist\n` +
    "  Name the folder that a run was given with --record\n",
  ]);
  await claude.printHere(["--record", folderOf(claude), "hello"]);
  await Deno.writeTextFile(`${folderOf(claude)}/tape.jsonl`, '{"at":1}\n');
  const damaged = await cassette(claude, "svg");
  assertEquals([damaged.code, damaged.stdout], [2, ""]);
  assertStringIncludes(
    damaged.stderr,
    "tape.jsonl: it is neither a frame nor a line of the caller\n",
  );
});

Deno.test("a recording that this program would not make again is told, with exit code 1", async () => {
  await using claude = await StandIn.set();
  const run = await claude.printHere(["--record", folderOf(claude), "hello"]);
  const path = `${folderOf(claude)}/child.cast`;
  const text = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, text.replaceAll("SIGTERM", "SIGKILL"));
  const { code, stdout, stderr } = await cassette(claude, "replay");
  assertEquals([code, stdout], [1, run.stdout]);
  assertStringIncludes(
    stderr,
    "s the recorded run sent SIGKILL to the child, and this one sends SIGTERM to the child\n",
  );
});

Deno.test("a frame that this program would not print again is told, with exit code 1", async () => {
  await using claude = await StandIn.set(TOOL);
  await claude.printHere(["--record", folderOf(claude), "look"]);
  const path = `${folderOf(claude)}/tape.jsonl`;
  const text = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, text.replaceAll('"num_turns":2', '"num_turns":7'));
  const { code, stderr } = await cassette(claude, "replay");
  assertEquals([code, stderr], [
    1,
    "Frame 6 (result/success): the recorded run printed 7 as num_turns, and this one prints 2\n",
  ]);
});

Deno.test("a recording holds what was learnt of its version, and replays where nothing was", async () => {
  const version = "94.0.0";
  await using claude = await StandIn.set({ version });
  const env = { XDG_CACHE_HOME: `${claude.home.path}/cache` };
  await Deno.mkdir(env.XDG_CACHE_HOME);
  const profile = someProfile(version, {
    frames: { "system/init": "type learnt_key" },
    constants: { "system/init learnt_key": "learnt" },
  });
  storeLearntProfile(profile, env);
  const args = [...FORMATS["stream-json"] ?? [], "--record", folderOf(claude), "hello"];
  const run = await claude.print(args, { env });
  assertEquals(run.frames[0]?.["learnt_key"], "learnt");
  await Deno.remove(env.XDG_CACHE_HOME, { recursive: true });
  const replayed = await cassette(claude, "replay");
  assertEquals([replayed.code, replayed.stderr, replayed.stdout], [0, "", run.stdout]);
});
