import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { projectSlug } from "../../../src/transcript/files/project_slug.ts";
import { concurrently } from "../../faults/concurrently.ts";
import { NOWHERE } from "../../nowhere.ts";
import { StandIn } from "../stand_in.ts";
import { STAND_IN_VERSIONS } from "../stand_in_versions.ts";

const HELLO = "Hello from the stand-in.";
const JSON_FORMAT = ["--output-format", "json"];

/** How many runs are under way at a time: most of them wait most of the time. */
const LIMIT = 4;

/** For a transcript that never comes: a short wait shows that as well. */
const IMPATIENT = ["--drain-timeout", "0.5"];

/** Runs a scenario in json format, which has to succeed, and returns the result. */
async function resultOf(scenario: Partial<Scenario>, args: readonly string[] = []) {
  await using claude = await StandIn.set(scenario);
  const { code, result } = await claude.printHere([...JSON_FORMAT, ...args, "hello"]);
  assertEquals([code, result["subtype"]], [0, "success"]);
  return { result, transcripts: [...claude.transcripts().values()] };
}

/** A turn with a text before its answer. */
const LOOKS: Scenario["turns"] = [[
  { text: "I look.", tools: [{ name: "Read", input: { file_path: "/x" }, result: "x" }] },
  { text: "It holds x." },
]];

const LATE: readonly (readonly [string, Partial<Scenario>])[] = [
  ["only at the exit is read", { transcriptDelayMs: 600_000 }],
  ["after the exit is waited for", { transcript: "after_exit", transcriptDelayMs: 300 }],
];

for (const [when, late] of LATE) {
  Deno.test(`a transcript written ${when}, and forwarded whole`, () =>
    concurrently(STAND_IN_VERSIONS, {
      limit: LIMIT,
      each: async (version) => {
        const { result, transcripts } = await resultOf({ version, ...late });
        assertEquals([result["result"], result["num_turns"]], [HELLO, 1], version);
        const { output_tokens: tokens } = result["usage"] as Readonly<Record<string, unknown>>;
        assertEquals(tokens, 20, version);
        assertStringIncludes(transcripts[0] ?? "", HELLO, version);
      },
    }));
}

/** What there may be of a transcript, and the answer, which an earlier text of the turn is not. */
const LITTLE: Readonly<Record<string, readonly [Partial<Scenario>, answer: string]>> = {
  "half of its last line": [{ transcript: "partial_line" }, HELLO],
  "all but its last line": [{ transcript: "no_answer", turns: LOOKS }, "It holds x."],
  "all, but late": [
    { transcript: "after_exit", transcriptDelayMs: 300, turns: LOOKS },
    "It holds x.",
  ],
};

Deno.test("the answer is that of the Stop payload, whatever there is of the transcript", () =>
  concurrently(Object.entries(LITTLE), {
    limit: LIMIT,
    each: async ([what, [scenario, answer]]) => {
      const { result } = await resultOf(scenario, what === "all, but late" ? [] : IMPATIENT);
      assertEquals(result["result"], answer, what);
    },
  }));

/** Prints without a transcript. */
async function printUntold(format: readonly string[]): Promise<void> {
  await using claude = await StandIn.set({ transcript: "never" });
  const run = await claude.printHere([...format, ...IMPATIENT, "hello"]);
  assertEquals(run.code, 0);
  if (run.format === "text") assertEquals(run.stdout, `${HELLO}\n`);
  else assertEquals(run.frames.map(({ type, result }) => result ?? type), ["system", HELLO]);
}

/** Prints with neither transcript nor message. */
async function printUnheard(): Promise<void> {
  await using claude = await StandIn.set({
    transcript: "never",
    stopOmits: ["last_assistant_message"],
  });
  const run = await claude.printHere([...JSON_FORMAT, ...IMPATIENT, "hello"]);
  assertEquals([run.code, run.result["subtype"]], [2, "drain_timeout"]);
  assertStringIncludes(run.stderr, "Cannot read the answer");
}

Deno.test("no transcript at all still is an answer in text and stream-json, but with no message either it never came to light", async () => {
  const stream = ["--output-format", "stream-json", "--verbose"];
  await Promise.all([printUntold([]), printUntold(stream), printUnheard()]);
});

const BOTH = ["transcript_path", "last_assistant_message"];

for (const stopOmits of [["transcript_path"], ["last_assistant_message"], BOTH]) {
  // What does without both does without one.
  const versions = stopOmits === BOTH ? STAND_IN_VERSIONS : STAND_IN_VERSIONS.slice(-1);
  Deno.test(`a Stop payload without ${stopOmits.join(" and ")} is enough`, () =>
    concurrently(versions, {
      limit: LIMIT,
      each: async (version) => {
        const { result } = await resultOf({ version, stopOmits });
        assertEquals([result["result"], result["num_turns"]], [HELLO, 1], version);
      },
    }));
}

Deno.test("hook events, transcript entries and fields of a future release pass", async () => {
  for (const version of STAND_IN_VERSIONS) {
    const { result } = await resultOf({
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
  const run = await claude.printHere(["--inject", "paste", "hello"]);
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
  const run = await claude.printHere([...JSON_FORMAT, "hello"], { warns: true });
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
    const { code, result, stderr } = await claude.printHere([...JSON_FORMAT, "hello"], {
      warns: true,
    });
    assertEquals([code, result["result"]], [0, HELLO]);
    assertMatch(stderr, /^claude-print: Warning: Cannot bring .* home: it is no regular file\n$/u);
    assertEquals(claude.transcripts().size, 0);
  }));
});
