import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { StandIn } from "../stand_in.ts";
import { JSON_FORMAT, STREAM_FORMAT } from "../../caller_lines.ts";
import { writeFiles } from "../../write_files.ts";

const HELLO = "Hello from the stand-in.";

/** Three model calls; the first two use tools, and one tool fails. */
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

type ToolResult = { readonly content: string; readonly is_error?: boolean };

Deno.test("three model calls print all frames in order", async () => {
  await using claude = await StandIn.set({ turns: THREE_CALLS });
  const { code, frames, result } = await claude.printInProcess([...STREAM_FORMAT, "look"]);
  assertEquals([code, result["result"], result["num_turns"]], [0, "Found: look", 4]);
  const { output_tokens } = result["usage"] as Readonly<Record<string, unknown>>;
  assertEquals(output_tokens, 60, "the sum of all calls");
  assertEquals(
    frames.map(({ type }) => type).join(" "),
    "system assistant assistant user assistant assistant user user assistant assistant result",
  );
  const results = frames.filter(({ type }) => type === "user")
    .flatMap(({ message }) => (message as { readonly content: readonly ToolResult[] }).content);
  assertEquals(results.map(({ content, is_error }) => [content, is_error ?? false]), [
    [claude.home.project, false],
    ["content", false],
    ["Exit code 3\noops", true],
  ]);
});

Deno.test("our hook denies a tool that needs permission", async () => {
  await using claude = await StandIn.set({
    turns: [[
      { tools: [{ name: "Bash", input: { command: "touch made" }, asks: true }] },
      { text: HELLO },
    ]],
  });
  const { code, result } = await claude.printInProcess([...JSON_FORMAT, "make it"]);
  assertEquals([code, result["result"]], [0, HELLO]);
  const denials = result["permission_denials"] as readonly Readonly<Record<string, unknown>>[];
  assertEquals(
    denials.map(({ tool_name, tool_input }) => ({ tool_name, tool_input })),
    [{ tool_name: "Bash", tool_input: { command: "touch made" } }],
  );
  assertEquals(await claude.keys(), [], "no dialog is answered");
  assertEquals([...Deno.readDirSync(claude.home.project)], [], "the tool does not run");
});

Deno.test("a rate limit ends with code 75 and cause", async () => {
  const message = "You've hit your session limit · resets 3am (UTC)";
  const failure = { error: "rate_limit", status: 429, message };
  await using claude = await StandIn.set({ turns: [[{ failure }]] });
  const text = await claude.printInProcess(["hello"]);
  assertEquals([text.code, text.stdout], [75, `${message}\n`]);
  assertEquals(text.stderr.trimEnd().split("\n").length, 2, "the cause and a remedy");
  for (const words of ["used up its limit", "again after 3am (UTC)"]) {
    assertStringIncludes(text.stderr, words);
  }
  const json = await claude.printInProcess([...JSON_FORMAT, "hello"]);
  assertEquals([json.code, json.result["subtype"]], [75, "success"]);
  assertEquals(json.result["result"], message);
  assertEquals(json.result["api_error_status"], 429);
});

Deno.test("StopFailure gives the sentence without a transcript", async () => {
  const failure = { error: "server_error", status: 500, message: "API Error: 500" };
  await using claude = await StandIn.set({ transcript: "never", turns: [[{ failure }]] });
  const run = await claude.printInProcess(["hello"]);
  assertEquals([run.code, run.stdout], [1, "API Error: 500\n"]);
  assertStringIncludes(run.stderr, "claude-print: Cannot reach the API: 500\n");
});

Deno.test("retried requests are frames before the answer", async () => {
  const retries = [
    { attempt: 1, maxRetries: 10, status: 529, waitMs: 1000 },
    { attempt: 2, maxRetries: 10, status: null, waitMs: 1000 },
  ];
  await using claude = await StandIn.set({ turns: [[{ text: HELLO, retries }]] });
  const { code, frames } = await claude.printInProcess([...STREAM_FORMAT, "hello"]);
  assertEquals(code, 0);
  assertEquals(
    frames.map(({ type, subtype, attempt, error_status, error }) =>
      subtype === "api_retry" ? [attempt, error_status, error] : type
    ),
    ["system", [1, 529, "overloaded"], [2, null, "unknown"], "assistant", "result"],
  );
});

Deno.test("a background task or a hook starts another turn", async () => {
  await using task = await StandIn.set({
    backgroundStops: 1,
    sabotage: [{ at: "task", run: "sleep 0.05" }],
    turns: [[{ text: "First." }], [{ text: "Second." }]],
  });
  assertEquals((await task.printInProcess(["work"])).stdout, "First.\n\nSecond.\n");
  const origins = async (claude: StandIn) =>
    (await claude.journal("prompt")).map(({ origin }) => origin);
  assertEquals(await origins(task), ["stdin", "task"]);
  await using hook = await StandIn.set({ turns: [[{ text: "First." }], [{ text: "Second." }]] });
  const { project, path } = hook.home;
  const command = `[ -e ${path}/once ] || echo '{"decision": "block", "reason": "more"}'; ` +
    `touch ${path}/once`;
  const hooks = { Stop: [{ hooks: [{ type: "command", command }] }] };
  await writeFiles(project, { ".claude/settings.json": { hooks } });
  const { code, stdout } = await hook.printInProcess(["work"]);
  assertEquals([code, stdout], [0, "Second.\n"]);
  assertEquals(await origins(hook), ["stdin", "hook"]);
});

Deno.test("an answer of 1 MB is printed completely", async () => {
  const text = "0123456789 ünïcödé\n".repeat(50_000);
  await using claude = await StandIn.set({ turns: [[{ text: "{prompt}" }]] });
  const run = await claude.printInProcess([], { stdin: text });
  assertEquals(run.code, 0);
  assert(run.stdout === text, `${run.stdout.length} characters`);
});

const wakeup = (delaySeconds: number) => ({
  name: "ScheduleWakeup",
  input: { delaySeconds, reason: "It takes a while", prompt: "Wake up", noop: false },
});

Deno.test("a run waits for a scheduled wake-up", async () => {
  const turns = [[{ tools: [wakeup(0.05)] }, { text: "First." }], [{ text: "Woken: {prompt}." }]];
  await using claude = await StandIn.set({ turns });
  const text = await claude.printInProcess(["work"]);
  assertEquals([text.code, text.stdout], [0, "First.\n\nWoken: Wake up.\n"]);
  const { code, result } = await claude.printInProcess([...JSON_FORMAT, "work"]);
  assertEquals([code, result["result"], result["num_turns"]], [0, "Woken: Wake up.", 1]);
  const { frames } = await claude.printInProcess([...STREAM_FORMAT, "work"], { wakes: true });
  const kinds = frames.map(({ type, subtype, state, result }) =>
    [type, type === "system" ? subtype : state ?? result].filter(Boolean).join(" ")
  );
  assertEquals(kinds, [
    ...["system init", "assistant", "user", "assistant", "result First."],
    ...["command_lifecycle started", "system init", "assistant", "result Woken: Wake up."],
    "command_lifecycle completed",
  ]);
  const { wakeup_source, scheduled_for, command_uuid } = frames[5] ?? {};
  assertEquals([wakeup_source, typeof scheduled_for], ["loop_wakeup", "number"]);
  assertEquals(frames.at(-1)?.["command_uuid"], command_uuid);
});

Deno.test("a model may wake twice, and after a failure", async () => {
  const again = { tools: [wakeup(0.05)] };
  const never = { tools: [{ name: "ScheduleWakeup", input: { stop: true } }] };
  const failure = { error: "server_error", status: 500, message: "API Error: 500" };
  const cases: readonly [Scenario["turns"], string][] = [
    [
      [[again, { text: "a" }], [again, { text: "b" }], [again, never, { text: "c" }]],
      "a\n\nb\n\nc\n",
    ],
    [[[again, { failure }], [{ text: "d" }]], "API Error: 500\n\nd\n"],
  ];
  for (const [turns, expected] of cases) {
    await using claude = await StandIn.set({ turns });
    const { code, stdout } = await claude.printInProcess(["work"]);
    assertEquals([code, stdout], [0, expected]);
  }
});

Deno.test("a run that ends before a wake-up reports it", async () => {
  for (const [signal, expected] of [["SIGTERM", 143], [undefined, 2]] as const) {
    await using claude = await StandIn.set({
      turns: [[{ tools: [wakeup(3600)] }, { text: "First." }]],
    });
    const printed = Promise.withResolvers<void>();
    const run = claude.start([...STREAM_FORMAT, "work"], {
      wakes: true,
      onStdout: (text) => text.includes('"type":"result"') && printed.resolve(),
    });
    await printed.promise;
    const [{ pid } = { pid: 0 }] = await claude.journal("start");
    if (signal === undefined) Deno.kill(pid, "SIGKILL");
    else run.kill(signal);
    const { code, frames } = await run.ended;
    const results = frames.filter(({ type }) => type === "result");
    assertEquals([code, results.length, results[0]?.["result"]], [expected, 2, "First."]);
    assertEquals(results[1]?.["is_error"], true);
  }
});
