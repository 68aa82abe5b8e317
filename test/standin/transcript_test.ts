import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Scenario } from "../../fixtures/mock/scenario.ts";
import { StandIn } from "./stand_in.ts";
import { STAND_IN_VERSIONS } from "./stand_in_versions.ts";

const HELLO = "Hello from the stand-in.";
const JSON_FORMAT = ["--output-format", "json"];

/** Runs a scenario in json format, which has to succeed, and returns the result. */
async function resultOf(scenario: Partial<Scenario>) {
  await using claude = await StandIn.set(scenario);
  const { code, result } = await claude.print([...JSON_FORMAT, "hello"]);
  assertEquals([code, result["subtype"]], [0, "success"]);
  return result;
}

for (const version of STAND_IN_VERSIONS) {
  Deno.test(`${version}: a transcript written only at the exit is read`, async () => {
    const result = await resultOf({ version, transcriptDelayMs: 600_000 });
    assertEquals([result["result"], result["num_turns"]], [HELLO, 1]);
  });

  Deno.test(`${version}: a transcript written after the exit is waited for`, async () => {
    const result = await resultOf({ version, transcript: "after_exit", transcriptDelayMs: 300 });
    assertEquals([result["result"], result["num_turns"]], [HELLO, 1]);
    assertEquals((result["usage"] as Readonly<Record<string, unknown>>)["output_tokens"], 20);
  });
}

Deno.test("a late transcript is forwarded whole", async () => {
  await using claude = await StandIn.set({ transcript: "after_exit", transcriptDelayMs: 300 });
  assertEquals((await claude.print(["hello"])).code, 0);
  const [text = ""] = claude.transcripts().values();
  assertStringIncludes(text, HELLO);
});

Deno.test("an earlier text of the turn is not taken for the answer of a late transcript", async () => {
  const result = await resultOf({
    transcript: "after_exit",
    transcriptDelayMs: 300,
    turns: [[
      { text: "I look.", tools: [{ name: "Read", input: { file_path: "/x" }, result: "x" }] },
      { text: "It holds x." },
    ]],
  });
  assertEquals(result["result"], "It holds x.");
});

for (const transcript of ["never", "partial_line", "no_answer"] as const) {
  Deno.test(`a transcript without the answer (${transcript}) leaves the one of the Stop payload`, async () => {
    const result = await resultOf({ transcript });
    assertEquals(result["result"], HELLO);
  });
}

Deno.test("no transcript at all still is an answer in text and stream-json", async () => {
  await Promise.all([[], ["--output-format", "stream-json", "--verbose"]].map(async (format) => {
    await using claude = await StandIn.set({ transcript: "never" });
    const run = await claude.print([...format, "hello"]);
    assertEquals(run.code, 0);
    if (run.format === "text") assertEquals(run.stdout, `${HELLO}\n`);
    else assertEquals(run.frames.map(({ type, result }) => result ?? type), ["system", HELLO]);
  }));
});

for (const version of STAND_IN_VERSIONS) {
  for (
    const stopOmits of [
      ["transcript_path"],
      ["last_assistant_message"],
      ["transcript_path", "last_assistant_message"],
    ]
  ) {
    Deno.test(`${version}: a Stop payload without ${stopOmits.join(" and ")} is enough`, async () => {
      const result = await resultOf({ version, stopOmits });
      assertEquals([result["result"], result["num_turns"]], [HELLO, 1]);
    });
  }
}

Deno.test("neither transcript nor message is an answer that never came to light", async () => {
  await using claude = await StandIn.set({
    transcript: "never",
    stopOmits: ["last_assistant_message"],
  });
  const run = await claude.print([...JSON_FORMAT, "hello"]);
  assertEquals([run.code, run.result["subtype"]], [2, "drain_timeout"]);
  assertStringIncludes(run.stderr, "Cannot read the answer");
});

Deno.test("hook events, transcript entries and fields of a future release pass", async () => {
  for (const version of STAND_IN_VERSIONS) {
    const result = await resultOf({
      version,
      unknown: ["hook_event", "transcript_entry", "usage_field"],
      stopAdds: { future_field: { nested: [1] } },
    });
    assertEquals([result["result"], result["num_turns"]], [HELLO, 1]);
    assertEquals((result["usage"] as Readonly<Record<string, unknown>>)["future_tokens"], 7);
  }
});

Deno.test("an unknown hook event before the prompt does not start or end the turn", async () => {
  await using claude = await StandIn.set({ unknown: ["hook_event"] });
  const run = await claude.print(["--inject", "paste", "hello"]);
  assertEquals([run.code, run.stdout], [0, `${HELLO}\n`]);
  const events = (await claude.journal("hook")).map(({ event }) => event);
  assertEquals(events.slice(0, 2), ["UserPromptSubmit", "UserPromptSubmit"]);
});
