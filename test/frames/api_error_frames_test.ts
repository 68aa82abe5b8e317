import { assertEquals } from "@std/assert";
import { type Entry, parseEntry } from "../../src/transcript/entry.ts";
import { turnsOf } from "../../src/transcript/turn/turn.ts";
import { framesOfEntry } from "../../src/frames/single/frames_of_entry.ts";
import { createOutputWriter } from "../../src/wire/output_writer.ts";
import { resultFrame } from "../../src/frames/result/result_frame.ts";

const LIMITS = { status: "rejected", resetsAt: 1_795_315_839, rateLimitType: "five_hour" };

/** The line that Claude Code writes instead of an answer. */
function errorLine(text: string, more: Readonly<Record<string, unknown>>): Entry {
  const entry = parseEntry(JSON.stringify({
    type: "assistant",
    uuid: "e",
    message: { id: "m", model: "<synthetic>", content: [{ type: "text", text }] },
    isApiErrorMessage: true,
    ...more,
  }));
  if (entry === undefined) throw new Error("not a line");
  return entry;
}

const version = "2.1.332";

function framesOf(entry: Entry) {
  return framesOfEntry(entry, { version, sessionId: "s", newUuid: () => "new" });
}

function resultOf(entry: Entry) {
  return resultFrame({
    version,
    sessionId: "s",
    uuid: "u",
    outcome: { kind: "failed", error: "unknown", text: "" },
    turn: turnsOf([entry])[0],
  });
}

Deno.test("an API error is said in the words of claude -p, in its frame and in the result", () => {
  const entry = errorLine("Please run /login · API Error: 401 x", {
    error: "authentication_failed",
    apiErrorStatus: 401,
  });
  const text = "Failed to authenticate. API Error: 401 x";
  const [frame] = framesOf(entry);
  assertEquals(frame?.["message"], {
    id: "m",
    model: "<synthetic>",
    content: [{ type: "text", text }],
  });
  assertEquals(resultOf(entry).result, text);
});

Deno.test("an answer that reads like an API error is the model's own words", () => {
  const text = "Please run /login · API Error: 401 x";
  const entry = errorLine(text, { isApiErrorMessage: false });
  const [frame] = framesOf(entry);
  assertEquals((frame?.["message"] as { content: unknown }).content, [{ type: "text", text }]);
});

Deno.test("a limit that was hit is a frame of its own and has a name", () => {
  const entry = errorLine("You've hit your limit", {
    error: "rate_limit",
    apiErrorStatus: 429,
    apiError: "usage_limit_reached",
    apiErrorParams: { rate_limit_info: LIMITS },
  });
  const frames = framesOf(entry);
  assertEquals(frames.map(({ type }) => type), ["rate_limit_event", "assistant"]);
  assertEquals(frames[0], {
    type: "rate_limit_event",
    rate_limit_info: LIMITS,
    uuid: "new",
    session_id: "s",
  });
  assertEquals(frames[1]?.["api_error"], "usage_limit_reached");
  assertEquals(resultOf(entry)["api_error"], "usage_limit_reached");
});

Deno.test("what is told before the screen alone is no frame", () => {
  const notice = (content: string) =>
    framesOfEntry({ type: "system", subtype: "informational", content, level: "notice" }, {
      version: "2.1.332",
      sessionId: "s",
      newUuid: () => "new",
    }).length;
  assertEquals(notice("Usage limit reached · continuing automatically at 2:50am"), 0);
  assertEquals(notice("Usage limit reached · set to continue automatically at 2:50am"), 0);
  assertEquals(
    notice(
      "Streaming response ended before any complete data was received. Retrying without streaming.",
    ),
    0,
  );
  assertEquals(notice("Logging to ~/own/debug.log"), 0);
  assertEquals(notice("/status checks your setup if Claude can't be reached"), 0);
  assertEquals(notice("Auto mode lets Claude handle permission prompts automatically — …"), 0);
  assertEquals(notice("Something else"), 1);
});

const REASONS = [
  { text: "Prompt is too long · x", status: 400, reason: "prompt_too_long" },
  { text: "Prompt is too long", status: undefined, reason: "blocking_limit" },
  { text: "Request too large (max 32MB).", status: 413, reason: "image_error" },
] as const;

Deno.test("what is wrong with a request is its terminal_reason", () => {
  for (const { text, status, reason } of REASONS) {
    const entry = errorLine(text, { error: "invalid_request", apiErrorStatus: status });
    assertEquals(resultOf(entry).terminal_reason, reason);
  }
  const other = errorLine("API Error: 500", { error: "server_error", apiErrorStatus: 500 });
  assertEquals(resultOf(other).terminal_reason, "api_error");
});

Deno.test("the limit of turns is a result without an answer and an open line of text", () => {
  const result = resultFrame({
    version: "2.1.332",
    sessionId: "s",
    uuid: "u",
    outcome: {
      kind: "error_max_turns",
      turns: 2,
      message: "Reached maximum number of turns (2)",
    },
    turn: turnsOf([errorLine("I look", { isApiErrorMessage: false })])[0],
  });
  assertEquals(
    [result.subtype, result.is_error, result.num_turns, result.terminal_reason],
    ["error_max_turns", true, 3, "max_turns"],
  );
  assertEquals([result.errors, "result" in result], [
    ["Reached maximum number of turns (2)"],
    false,
  ]);
  let text = "";
  const writer = createOutputWriter("text", { verbose: false, write: (more) => text += more });
  writer.frame(result);
  writer.end();
  assertEquals(text, "Error: Reached max turns (2)");
});
