import { OWN_FIELDS } from "../../../../src/claude/wire/result_frame.ts";
import { assert, assertEquals } from "@std/assert";
import { replay } from "../../../../src/library/mod.ts";
import { assertStreamGrammar } from "../../../conversation/output/live/stream_grammar.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { blocksOf, type JsonObject, parseFrames } from "../../../real/print_mode_facts.ts";
import { STREAM_FORMAT } from "../../../caller_lines.ts";

const STREAM = [
  ...STREAM_FORMAT,
  "--include-partial-messages",
  ...["--allowedTools", "Bash", "--"],
];

function eventOf({ type, event }: JsonObject): JsonObject {
  return type === "stream_event" ? event as JsonObject : {};
}

/** Frames that need the API's answer. */
const OF_PRINT_MODE = ["rate_limit_event", "thinking_tokens"];

/**
 * Frames as what can be compared: a thought may have no events, and its frame may come after the text that follows it. The
 * rest of a block is joined, and its place is among those of other kinds.
 */
function comparable(frames: readonly JsonObject[]): readonly unknown[] {
  const thoughts = new Set<unknown>();
  const told: unknown[] = [];
  let joined = "";
  for (const frame of frames) {
    const { type, subtype, message } = frame;
    if (OF_PRINT_MODE.includes(`${subtype ?? type}`)) continue;
    if (blocksOf(message)[0]?.["type"] === "thinking") continue;
    const event = eventOf(frame);
    const block = event["content_block"] as JsonObject | undefined;
    const delta = event["delta"] as JsonObject | undefined;
    if (event["type"] === "message_start") thoughts.clear();
    if (block?.["type"] === "thinking") thoughts.add(event["index"]);
    if (event["index"] !== undefined && thoughts.has(event["index"])) continue;
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

/**
 * Frames as what can be compared where all is streamed: only the frame of a block that others follow may come later,
 * since it has the id that it has in the transcript.
 */
function streamed(frames: readonly JsonObject[]): readonly unknown[] {
  const told: unknown[] = [];
  let answer: unknown[] = [];
  for (const frame of frames) {
    const { type, subtype, message } = frame;
    if (type === "rate_limit_event") continue;
    const event = JSON.stringify(
      eventOf(frame),
      (key, value) => ["id", "signature"].includes(key) ? "" : value,
    );
    const blocks = blocksOf(message)
      .map(({ id: _, signature: __, tool_use_id: ___, ...block }) => block);
    const keys = type === "stream_event"
      ? Object.keys(frame)
      : subtype === "thinking_tokens"
      ? [frame["estimated_tokens"], frame["estimated_tokens_delta"]]
      : [];
    if (type === "assistant") answer.push(blocks);
    else told.push([type, subtype, event, blocks, keys]);
    if (eventOf(frame)["type"] === "message_delta") {
      told.push(answer);
      answer = [];
    }
  }
  return [...told, answer];
}

/** Thinking, a text, a call, an answer that comes in pieces, and its end. */
const WORK = "Work. [[think hm]] [[say I look\\nat it]] [[bash echo one]] " +
  "[[chunk 5]] [[pace 30]] [[say Here it is:\\n\\n  é 👩‍👩‍👧‍👦\\t`x`  \\nlast line]]";
forNewestVersion("partial messages are the frames of claude -p", async (real) => {
  const recorded = (name: string) => `${real.home.path}/${name}`;
  const [theirs, plain, exact] = await Promise.all([
    real.claudeP([...STREAM, WORK], { recorded: "partial_messages/work" }),
    real.printInProcess(["-p", "--record", recorded("plain"), ...STREAM, WORK]),
    real.printInProcess(["-p", "--exact-stream", "--record", recorded("exact"), ...STREAM, WORK]),
  ]);
  assertEquals([theirs.code, plain.code, exact.code], [0, 0, 0], plain.stderr + exact.stderr);
  const [expected, ours, exactly] = [theirs, plain, exact].map(({ stdout }) => parseFrames(stdout));
  if (expected === undefined || ours === undefined || exactly === undefined) throw new Error();
  assertEquals(comparable(ours), comparable(expected));
  const texts = (frames: readonly JsonObject[]) =>
    frames.map(eventOf).map(({ delta }) => (delta as JsonObject | undefined)?.["text"])
      .filter((text) => text !== undefined);
  assertEquals(texts(ours).join(""), texts(expected).join(""));
  const thoughts = ours.flatMap(({ message }) => blocksOf(message))
    .map(({ thinking }) => thinking).filter((thinking) => thinking !== undefined);
  assertEquals(thoughts, ["hm"]);
  for (const frames of [expected, ours, exactly]) assertStreamGrammar(frames as never);
  const usage = (frames: readonly JsonObject[]) =>
    frames.map(eventOf).filter(({ type }) => type === "message_delta");
  assertEquals(usage(ours), usage(expected));
  // Events and frames of an answer have the same id.
  const started = ours.map(eventOf).filter(({ type }) => type === "message_start")
    .map(({ message }) => (message as JsonObject)["id"]);
  const answered = ours.filter(({ type }) => type === "assistant")
    .map(({ message }) => (message as JsonObject)["id"]);
  assertEquals([...new Set(answered)], started);

  assertEquals(streamed(exactly), streamed(expected));
  const ends = (frames: readonly JsonObject[]) =>
    frames.slice(-5).map((frame) => eventOf(frame)["type"] ?? frame["type"]);
  assertEquals(ends(exactly), ends(expected), "the frame of the last block comes before its end");
  const limits = (frames: readonly JsonObject[]) =>
    frames.flatMap(({ rate_limit_info: info }, place) =>
      info === undefined ? [] : [[info, eventOf(frames[place - 1] ?? {})["type"]]]
    );
  assertEquals(limits(exactly), limits(expected), "what the API says of limits");
  assertEquals(limits(exactly).length, 1);
  assertEquals(exactly[0]?.["tools"], expected[0]?.["tools"]);
  const fields = (frames: readonly JsonObject[]) =>
    Object.keys(frames.at(-1) ?? {}).filter((name) => !OWN_FIELDS.includes(name)).toSorted();
  assertEquals(fields(exactly), fields(expected), "when the first of the answer came");
  const logins = new Set(real.api.turns.map(({ headers }) => headers["authorization"]));
  assertEquals(logins.size, 1);

  for (const [name, frames] of [["plain", ours], ["exact", exactly]] as const) {
    const replayed = await replay(recorded(name));
    assertEquals(replayed.differences, [], name);
    assertEquals(replayed.frames.map(({ frame }) => frame), [...frames] as never);
    assert(!JSON.stringify(replayed.frames).includes("throwaway-access"));
  }
});

forNewestVersion("--stream-text prints an answer while it is written", async (real) => {
  const told = `${real.home.path}/told`;
  const script = WORK.replace("I look\\nat it", "I look");
  const args = ["--allowedTools", "Bash", "--"];
  const run = real.start(["-p", "--stream-text", ...args, `${script} [[until ${told}]]`], {
    onStdout: (text) => {
      if (text.includes("`x`")) Deno.writeTextFileSync(told, "");
    },
  });
  const theirs = await real.claudeP([...args, script], { recorded: "partial_messages/text" });
  assertEquals(await run.ended, theirs);
  assertEquals(theirs.code, 0);
});
