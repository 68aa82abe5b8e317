import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Scenario } from "../../fixtures/mock/scenario.ts";
import { projectSlug } from "../../src/transcript/project_slug.ts";
import { NOWHERE } from "../nowhere.ts";
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

Deno.test("an answer whose line never came is not taken for an earlier text of the turn", async () => {
  const result = await resultOf({
    transcript: "no_answer",
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

/** What a Claude Code writes that a hook or a tool has started in the run's config dir, as shell lines. */
const NESTED = [
  { type: "user", uuid: "n1", message: { role: "user", content: "nested" } },
  {
    type: "assistant",
    uuid: "n2",
    parentUuid: "n1",
    message: { id: "m", model: "m", content: [{ type: "text", text: "not our answer" }] },
  },
].map((line) => `echo '${JSON.stringify({ ...line, entrypoint: "sdk-cli" })}'`).join("; ");

Deno.test("what hooks and tools put beside the transcript, or add to it, is not taken for the run's, and comes home", async () => {
  await using claude = await StandIn.set({
    sabotage: [{
      at: "start",
      run: `mkdir -p "$CLAUDE_CONFIG_DIR/projects/-a/folder.jsonl"
        cd "$CLAUDE_CONFIG_DIR/projects/-a"
        mkfifo fifo.jsonl; ln -s "${NOWHERE}" link.jsonl; { ${NESTED}; } > other.jsonl`,
    }, {
      at: "tool",
      // Nobody goes on with a session that has not begun.
      run:
        `until grep -q hello "$TRANSCRIPT"; do sleep 0.01; done; { ${NESTED}; } >> "$TRANSCRIPT"`,
    }],
    turns: [[{ tools: [{ name: "Bash", input: { command: "true" } }] }, { text: HELLO }]],
  });
  const run = await claude.print([...JSON_FORMAT, "hello"], { warns: true });
  const { result, num_turns: turns, session_id: id, usage } = run.result;
  assertEquals([run.code, result, turns], [0, HELLO, 2]);
  assertEquals((usage as Readonly<Record<string, unknown>>)["output_tokens"], 40);
  assertMatch(
    run.stderr,
    /^claude-print: Warning: Cannot bring the transcript -a\/(?:fifo|folder|link)\.jsonl home: it is no regular file \(and 2 more\)\n$/u,
  );
  const transcripts = claude.transcripts();
  const own = `${projectSlug(claude.home.project)}/${id}.jsonl`;
  assertEquals([...transcripts.keys()].toSorted(), ["-a/other.jsonl", own].toSorted());
  for (const text of transcripts.values()) assertStringIncludes(text, "not our answer");
});

Deno.test("a transcript in whose place a tool has put something else costs a warning, not the answer", async () => {
  const swaps = ["mkfifo", "mkdir", `ln -s "${NOWHERE}"`];
  await Promise.all(swaps.map(async (make) => {
    // The child has ended and written everything: its own transcript would hold it up otherwise.
    const run = `rm "$TRANSCRIPT"; ${make} "$TRANSCRIPT"`;
    await using claude = await StandIn.set({ sabotage: [{ at: "exit", run }] });
    const { code, result, stderr } = await claude.print([...JSON_FORMAT, "hello"], { warns: true });
    assertEquals([code, result["result"]], [0, HELLO]);
    assertMatch(stderr, /^claude-print: Warning: Cannot bring .* home: it is no regular file\n$/u);
    assertEquals(claude.transcripts().size, 0);
  }));
});
