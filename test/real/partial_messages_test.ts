import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { replay } from "../../src/library/mod.ts";
import { forEachVersion, forNewestVersion } from "./for_each_version.ts";
import { blocksOf, type JsonObject, parseFrames } from "./print_mode_facts.ts";
import type { RealClaude } from "./real_claude.ts";

const STREAM = [
  ...["--output-format", "stream-json", "--verbose", "--include-partial-messages"],
  ...["--allowedTools", "Bash", "--"],
];

/** Runs `claude-print` and then `claude -p` with the same prompt. */
async function both(real: RealClaude, prompt: string, more: readonly string[] = []) {
  const ours = await real.print(["-p", ...more, ...STREAM, prompt]);
  const theirs = await real.claudeP([...STREAM, prompt]);
  assertEquals([ours.code, theirs.code], [0, 0], ours.stderr);
  return { ours: parseFrames(ours.stdout), theirs: parseFrames(theirs.stdout) };
}

function eventOf({ type, event }: JsonObject): JsonObject {
  return type === "stream_event" ? event as JsonObject : {};
}

/** Frames that only the request loop of `claude -p` can print. */
const OF_PRINT_MODE = ["rate_limit_event", "thinking_tokens"];

/**
 * Frames as what can be compared: nothing is streamed of thinking, and its frame may come after the text that follows
 * it. The rest of a block is joined, and its place is among those that are streamed.
 */
function comparable(frames: readonly JsonObject[]): readonly unknown[] {
  const unstreamed = new Set<unknown>();
  const told: unknown[] = [];
  let joined = "";
  for (const frame of frames) {
    const { type, subtype, message } = frame;
    if (OF_PRINT_MODE.includes(`${subtype ?? type}`)) continue;
    if (blocksOf(message)[0]?.["type"] === "thinking") continue;
    const event = eventOf(frame);
    const block = event["content_block"] as JsonObject | undefined;
    const delta = event["delta"] as JsonObject | undefined;
    if (event["type"] === "message_start") unstreamed.clear();
    if (block?.["type"] === "thinking") unstreamed.add(event["index"]);
    if (event["index"] !== undefined && unstreamed.has(event["index"])) continue;
    if (event["type"] === "content_block_delta") {
      joined += delta?.["text"] ?? delta?.["partial_json"];
      continue;
    }
    if (joined !== "") told.push(`deltas ${joined}`);
    joined = "";
    const what = event["type"] ??
      blocksOf(message).map(({ text, name, content }) => text ?? name ?? content).join(" ");
    told.push([
      subtype === undefined ? type : `${type}/${subtype}`,
      what,
      ...[block?.["type"], delta?.["stop_reason"]].filter((each) => each !== undefined),
      // Nobody knows how long the API took to begin.
      ...type === "stream_event" ? [Object.keys(frame).filter((key) => key !== "ttft_ms")] : [],
    ]);
  }
  return told;
}

const WORK = "Work. [[think hm]] [[say I look\\nat it]] [[bash echo one]] " +
  "[[chunk 5]] [[pace 30]] [[say Here it is:\\n\\n  é 👩‍👩‍👧‍👦\\t`x`  \\nlast line]]";

forEachVersion("answers are told as they are written, in the frames of claude -p", async (real) => {
  const { ours, theirs } = await both(real, WORK);
  assertEquals(comparable(ours), comparable(theirs));
  const texts = (frames: readonly JsonObject[]) =>
    frames.map(eventOf).map(({ delta }) => (delta as JsonObject | undefined)?.["text"])
      .filter((text) => text !== undefined);
  assertEquals(texts(ours).join(""), texts(theirs).join(""));
  const usage = ours.map(eventOf).filter(({ type }) => type === "message_delta");
  assertEquals(usage, theirs.map(eventOf).filter(({ type }) => type === "message_delta"));
  // An answer has one id, whoever told it first.
  const started = ours.map(eventOf).filter(({ type }) => type === "message_start")
    .map(({ message }) => (message as JsonObject)["id"]);
  const answered = ours.filter(({ type }) => type === "assistant")
    .map(({ message }) => (message as JsonObject)["id"]);
  assertEquals([...new Set(answered)], started);
});

forEachVersion(
  "a request that is made again, and one that goes on with an answer",
  async (real) => {
    const script = "[[error 529 x1]] [[say one]] [[stop max_tokens]] [[next]] [[say two]]";
    const { ours, theirs } = await both(real, `Go on. ${script}`);
    assertEquals(comparable(ours), comparable(theirs));
  },
);

forEachVersion("--stream-text ends with what the text format prints, to the byte", async (real) => {
  const script = WORK.replace("I look\\nat it", "I look");
  const args = ["--allowedTools", "Bash", "--", script];
  const streamed = await real.print(["-p", "--stream-text", ...args]);
  assertEquals(streamed, await real.claudeP(args));
  assertEquals(streamed.code, 0);
});

forEachVersion("an answer appears before it is over", async (real) => {
  const [program = "", ...own] = CLAUDE_PRINT;
  const child = new Deno.Command(program, {
    args: [
      ...own,
      "--claude-binary",
      real.binary,
      "--stream-text",
      "Hi [[say One\\ntwo\\n]] [[hang]]",
    ],
    env: { ...real.home.env },
    clearEnv: true,
    cwd: real.home.project,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let text = "";
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    if (text === "") child.kill("SIGTERM");
    text += piece;
  }
  const { code } = await child.status;
  assertEquals([text, code], ["One\ntwo\n", 143]);
  assertStringIncludes(await new Response(child.stderr).text(), "SIGTERM");
});

/**
 * Frames as what can be compared where all is streamed: only the frame of a block that others follow may come later,
 * since it has the id that it has in the transcript.
 */
function exactly(frames: readonly JsonObject[]): readonly unknown[] {
  const told: unknown[] = [];
  let answer: unknown[] = [];
  for (const frame of frames) {
    const { type, subtype, message } = frame;
    if (OF_PRINT_MODE.includes(`${subtype ?? type}`)) continue;
    const event = JSON.stringify(
      eventOf(frame),
      (key, value) => ["id", "signature"].includes(key) ? "" : value,
    );
    const blocks = blocksOf(message)
      .map(({ id: _, signature: __, tool_use_id: ___, ...block }) => block);
    const keys = type === "stream_event" ? Object.keys(frame) : [];
    if (type === "assistant") answer.push(blocks);
    else told.push([type, subtype, event, blocks, keys]);
    if (eventOf(frame)["type"] === "message_delta") {
      told.push(answer);
      answer = [];
    }
  }
  return [...told, answer];
}

forEachVersion("--exact-stream gives the events of claude -p, each as it is", async (real) => {
  const { ours, theirs } = await both(real, WORK, ["--exact-stream"]);
  assertEquals(exactly(ours), exactly(theirs));
  const ends = (frames: readonly JsonObject[]) =>
    frames.slice(-5).map((frame) => eventOf(frame)["type"] ?? frame["type"]);
  assertEquals(ends(ours), ends(theirs), "the frame of the last block comes before its end");
  assertEquals(real.api.turns.length, 4);
  const [ourRequest, , theirRequest] = real.api.turns;
  assertEquals(ourRequest?.headers["authorization"], theirRequest?.headers["authorization"]);
});

forEachVersion(
  "--exact-stream: what the API refuses, and what it breaks off, is told as without it",
  async (real) => {
    for (
      const script of [
        "[[error 400]]",
        "[[error 529 x1]] [[say one]]",
        "[[say half\\nline]] [[wait 100]] [[error 529 x1]]",
      ]
    ) {
      const prompt = ["-p", "--quiet", "--", `Hi ${script}`];
      const exact = await real.print(["--stream-text", "--exact-stream", ...prompt]);
      const plain = await real.print(prompt);
      assertEquals([exact.code, exact.stderr], [plain.code, plain.stderr]);
      assertStringIncludes(exact.stdout, plain.stdout);
    }
  },
);

forEachVersion(
  "--exact-stream: an API that is not there is one that cannot be reached",
  async (real) => {
    const nobody = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = nobody.addr;
    nobody.close();
    const { code, stdout, stderr } = await real.print(
      ["--stream-text", "--exact-stream", "-p", "Hi"],
      { env: { ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, CLAUDE_CODE_MAX_RETRIES: "1" } },
    );
    assertEquals(code, 1);
    assertStringIncludes(stderr, "Cannot reach the API");
    assertStringIncludes(stdout, "ECONNRESET");
  },
);

forNewestVersion("what was streamed is recorded, and replayed as it was", async (real) => {
  for (const how of [[], ["--exact-stream"]]) {
    const folder = `${real.home.path}/recorded${how.length}`;
    const { code, stdout } = await real.print(["-p", ...how, "--record", folder, ...STREAM, WORK]);
    const { differences, frames } = await replay(folder);
    assertEquals([code, differences], [0, []]);
    assertEquals(frames.map(({ frame }) => frame), [...parseFrames(stdout)] as never);
    assert(!JSON.stringify(frames).includes("throwaway-access"));
  }
});
