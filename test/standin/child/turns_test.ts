import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { concurrently } from "../../faults/concurrently.ts";
import { StandIn } from "../stand_in.ts";
import { STAND_IN_VERSIONS } from "../stand_in_versions.ts";

const HELLO = "Hello from the stand-in.";
const JSON_FORMAT = ["--output-format", "json"];
const STREAM_FORMAT = ["--output-format", "stream-json", "--verbose"];

/** Three model calls, the first two of which use tools, one of them in vain. */
const THREE_CALLS: Scenario["turns"] = [[
  { text: "I look.", tools: [{ name: "Bash", input: { command: "pwd" } }] },
  {
    tools: [
      { name: "Read", input: { file_path: "/x" }, result: "content" },
      { name: "Bash", input: { command: "echo oops; exit 3" } },
    ],
  },
  { text: ["Not the answer.", "Found: {prompt}"] },
]];

for (const version of STAND_IN_VERSIONS) {
  Deno.test(`${version}: a turn of three model calls counts its tools' results, which are frames in their order`, async () => {
    await using claude = await StandIn.set({ version, turns: THREE_CALLS });
    const { code, frames, result } = await claude.printHere([...STREAM_FORMAT, "look"]);
    assertEquals([code, result["result"], result["num_turns"]], [0, "Found: look", 4]);
    const { output_tokens } = result["usage"] as Readonly<Record<string, unknown>>;
    assertEquals(output_tokens, 60, "the sum of all calls");
    assertEquals(
      frames.map(({ type }) => type).join(" "),
      [
        "system assistant assistant user",
        "assistant assistant user user",
        "assistant assistant result",
      ].join(" "),
    );
    const results = frames.filter(({ type }) => type === "user")
      .flatMap(({ message }) => (message as { readonly content: readonly ToolResult[] }).content);
    assertEquals(results.map(({ content, is_error }) => [content, is_error ?? false]), [
      [claude.home.project, false],
      ["content", false],
      ["Exit code 3\noops", true],
    ]);
  });
}

type ToolResult = { readonly content: string; readonly is_error?: boolean };

Deno.test("a tool that needs permission is denied by our hook and listed", async () => {
  for (const version of STAND_IN_VERSIONS) {
    await using claude = await StandIn.set({
      version,
      turns: [[
        { tools: [{ name: "Bash", input: { command: "touch made" }, asks: true }] },
        { text: HELLO },
      ]],
    });
    const { code, result } = await claude.printHere([...JSON_FORMAT, "make it"]);
    assertEquals([code, result["result"]], [0, HELLO]);
    const denials = result["permission_denials"] as readonly Readonly<Record<string, unknown>>[];
    assertEquals(
      denials.map(({ tool_name, tool_input }) => ({ tool_name, tool_input })),
      [{ tool_name: "Bash", tool_input: { command: "touch made" } }],
    );
    assertEquals(await claude.keys(), [], "no dialog was answered");
    assertEquals([...Deno.readDirSync(claude.home.project)], [], "the tool did not run");
  }
});

/**
 * API errors as StopFailure tells them, and what of their cause and of the advice has to be on stderr; the others are rows of
 * parity.
 */
const FAILURES = [
  {
    failure: {
      error: "rate_limit",
      status: 429,
      message: "You've hit your session limit · resets 3am (UTC)",
    },
    told: ["used up its limit", "again after 3am (UTC)"],
  },
  {
    failure: { error: "billing_error", status: 400, message: "Credit balance is too low" },
    told: ["cannot pay", "Add credit"],
  },
  {
    failure: { error: "invalid_request", status: 400, message: "API Error: 400 messages: too odd" },
    told: ["refused the request: 400 messages", "Look at the prompt"],
  },
];

for (const [index, { failure, told }] of FAILURES.entries()) {
  const name = `${failure.error} ${failure.status}: ${failure.message}`;
  // What is told of a failure depends on the version, but not on which one it is.
  const versions = index === 0 ? STAND_IN_VERSIONS : STAND_IN_VERSIONS.slice(-1);
  const code = failure.status === 429 || failure.status === 529 ? 75 : 1;
  Deno.test(`StopFailure is its sentence, exit code ${code} and a cause on stderr (${name})`, async () => {
    for (const version of versions) {
      await using claude = await StandIn.set({ version, turns: [[{ failure }]] });
      const text = await claude.printHere(["hello"]);
      assertEquals([text.code, text.stdout], [code, `${failure.message}\n`]);
      assertEquals(text.stderr.trimEnd().split("\n").length, 2, "the cause and what to do");
      for (const words of told) assertStringIncludes(text.stderr, words);
      // The results of the others are compared with claude -p, in rows of parity.
      if (index > 0) continue;
      const json = await claude.printHere([...JSON_FORMAT, "hello"]);
      assertEquals([json.code, json.result["subtype"]], [code, "success"]);
      assertEquals(json.result["result"], failure.message);
      assertEquals(json.result["api_error_status"], failure.status);
    }
  });
}

Deno.test("an error without a transcript is the sentence of StopFailure", async () => {
  const failure = { error: "server_error", status: 500, message: "API Error: 500" };
  await using claude = await StandIn.set({ transcript: "never", turns: [[{ failure }]] });
  const run = await claude.printHere(["hello"]);
  assertEquals([run.code, run.stdout], [1, "API Error: 500\n"]);
  assertStringIncludes(run.stderr, "claude-print: Cannot reach the API: 500\n");
});

Deno.test("an error after a tool's result ends the run with exit code 1", async () => {
  const failure = { error: "server_error", status: 500, message: "API Error: 500" };
  await using claude = await StandIn.set({
    turns: [[{ text: "I look.", tools: [{ name: "Bash", input: { command: "pwd" } }] }, {
      failure,
    }]],
  });
  const { code, frames, result } = await claude.printHere([...STREAM_FORMAT, "look"]);
  assertEquals([code, result["result"], result["num_turns"]], [1, "API Error: 500", 2]);
  assertEquals(frames.map(({ type }) => type), [
    "system",
    "assistant",
    "assistant",
    "user",
    "assistant",
    "result",
  ]);
});

Deno.test(`${STAND_IN_VERSIONS.join(", ")}: requests that are made again are frames before the answer`, () =>
  concurrently(STAND_IN_VERSIONS, { limit: STAND_IN_VERSIONS.length, each: printRetries }));

async function printRetries(version: string): Promise<void> {
  const retries = [
    { attempt: 1, maxRetries: 10, status: 529, waitMs: 1000 },
    { attempt: 2, maxRetries: 10, status: null, waitMs: 1000 },
  ];
  await using claude = await StandIn.set({ version, turns: [[{ text: HELLO, retries }]] });
  const { code, frames } = await claude.printHere([...STREAM_FORMAT, "hello"]);
  assertEquals(code, 0, version);
  const [init, first, second, ...others] = frames;
  assertEquals(init?.["subtype"], "init");
  for (
    const [frame, attempt, error_status, error] of [
      [first, 1, 529, "overloaded"],
      [second, 2, null, "unknown"],
    ] as const
  ) {
    const { uuid: _, session_id, ...rest } = frame ?? {};
    assertEquals(session_id, init?.["session_id"]);
    assertEquals(rest, {
      type: "system",
      subtype: "api_retry",
      attempt,
      max_retries: 10,
      retry_delay_ms: 1000,
      error_status,
      error,
    }, version);
  }
  assertEquals(others.map(({ type }) => type), ["assistant", "result"], version);
}

for (const version of STAND_IN_VERSIONS) {
  Deno.test(`${version}: --max-turns ends the turn after so many calls`, async () => {
    await using claude = await StandIn.set({ version, turns: THREE_CALLS });
    const limit = (turns: number) => ["--max-turns", `${turns}`];
    const { code, result } = await claude.printHere([...JSON_FORMAT, ...limit(2), "look"]);
    assertEquals([code, result["subtype"], result["num_turns"]], [1, "error_max_turns", 3]);
    assertEquals(result["errors"], ["Reached maximum number of turns (2)"]);
    assertEquals([result["terminal_reason"], "result" in result], ["max_turns", false]);
    if (version !== STAND_IN_VERSIONS.at(-1)) return;
    const text = await claude.printHere([...limit(1), "look"]);
    assertEquals([text.code, text.stdout], [1, "Error: Reached max turns (1)"]);
    assertStringIncludes(text.stderr, "stopped at its limit: 1 request to the model");
    const enough = await claude.printHere([...limit(3), "look"]);
    assertEquals([enough.code, enough.stdout], [0, "Found: look\n"]);
  });

  Deno.test(`${version}: a Stop with a background task is not the end, the next one is`, async () => {
    await using claude = await StandIn.set({
      version,
      backgroundStops: 1,
      sabotage: [{ at: "task", run: "sleep 0.05" }],
      turns: [[{ text: "Started." }], [{ text: "Finished." }]],
    });
    const { code, result } = await claude.printHere([...JSON_FORMAT, "work"]);
    assertEquals([code, result["result"]], [0, "Finished."]);
    assertEquals((await claude.journal("prompt")).map(({ origin }) => origin), ["stdin", "task"]);
  });
}

Deno.test("a project's Stop hook that blocks once makes the run wait for the second answer", async () => {
  for (const version of STAND_IN_VERSIONS) {
    await using claude = await StandIn.set({
      version,
      turns: [[{ text: "First." }], [{ text: "Second." }]],
    });
    const { project, path } = claude.home;
    const command = `[ -e ${path}/once ] || echo '{"decision": "block", "reason": "more"}'; ` +
      `touch ${path}/once`;
    await Deno.mkdir(`${project}/.claude`);
    await Deno.writeTextFile(
      `${project}/.claude/settings.json`,
      JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command }] }] } }),
    );
    const { code, stdout } = await claude.printHere(["work"]);
    assertEquals([code, stdout], [0, "Second.\n"]);
    assertEquals((await claude.journal("prompt")).map(({ origin }) => origin), ["stdin", "hook"]);
  }
});

Deno.test("an answer of 1 MB is printed whole", async () => {
  const text = "0123456789 ünïcödé\n".repeat(50_000);
  await using claude = await StandIn.set({ turns: [[{ text: "{prompt}" }]] });
  const run = await claude.printHere([], { stdin: text });
  assertEquals(run.code, 0);
  assert(run.stdout === text, `${run.stdout.length} characters`);
});

Deno.test("a path at the beginning of a prompt is no command", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "{prompt}" }]] });
  const { code, stdout } = await claude.printHere(["/etc/passwd is what?"]);
  assertEquals([code, stdout], [0, "/etc/passwd is what?\n"]);
});
