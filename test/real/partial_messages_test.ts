import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { forEachVersion } from "./for_each_version.ts";
import { blocksOf, type JsonObject, parseFrames } from "./print_mode_facts.ts";
import type { RealClaude } from "./real_claude.ts";

const STREAM = [
  ...["--output-format", "stream-json", "--verbose", "--include-partial-messages"],
  ...["--allowedTools", "Bash", "--"],
];

/** Runs `claude-print` and then `claude -p` with the same prompt. */
async function both(real: RealClaude, prompt: string) {
  const ours = await real.print(["-p", ...STREAM, prompt]);
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
  assert(texts(ours).length > 3, "lines come one by one");
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
