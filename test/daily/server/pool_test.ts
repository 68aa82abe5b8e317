import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Pool, type PoolOptions } from "../../../src/server/pool/pool.ts";
import { libraryRequest } from "../../../src/library/library_request.ts";
import {
  findColdInitializeReason,
  findColdStartReason,
} from "../../../src/server/server_profiles.ts";
import type { ProgramCaller } from "../../../src/driver/inputs/callers.ts";
import { isJsonObject, type JsonObject } from "../../../src/json_object.ts";
import { messageLine } from "../../../src/claude/wire/caller_line.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn, until } from "../../program/stand_in.ts";
import { LIMIT_S, timeOut } from "../../time_out.ts";
import { writeScript } from "../../write_script.ts";
import { type PoolRunOptions, runInPool } from "../../program/server/pool/run_in_pool.ts";

const ECHO = { turns: [[{ text: "You said {prompt}, {turn}" }]] };

/** A pool, and what it tells whoever runs it. */
function poolOf(
  options: Partial<PoolOptions> = {},
): { readonly pool: Pool; readonly told: string[] } {
  const told: string[] = [];
  const pool = new Pool({
    warm: 1,
    max: 4,
    idleMs: 60_000,
    report: (text) => void told.push(text),
    ...options,
  });
  return { pool, told };
}

const readyIn = (pool: Pool) => pool.entries.reduce((sum, { ready }) => sum + ready, 0);

const untilReady = (pool: Pool, count = 1) =>
  until(() => readyIn(pool) === count, `${count} are ready`);

const pids = async (claude: StandIn) => (await claude.journal("start")).map(({ pid }) => pid);

Deno.test("equal requests each get a warm child", async () => {
  await using claude = await StandIn.set(ECHO);
  {
    const { pool, told } = poolOf();
    await using _ = pool;
    const cold = await runInPool(pool, claude);
    assertEquals([cold.exitCode, cold.results, cold.warnings], [0, ["You said Hi, 1"], []]);
    assertStringIncludes(cold.traces.join("\n"), ": no child waits");
    await untilReady(pool);
    const [, waiting] = await pids(claude);
    const warm = await runInPool(pool, claude);
    assertEquals([warm.exitCode, warm.results, warm.warnings], [0, ["You said Hi, 1"], []]);
    assertStringIncludes(warm.traces.join("\n"), ": a child has waited");
    assertEquals(warm.frames.map(({ type }) => type), cold.frames.map(({ type }) => type));
    // One conversation each: the child that has waited is gone, another one waits.
    await untilReady(pool);
    const [, served, next] = await pids(claude);
    assertEquals(served, waiting);
    assert(next !== undefined && next !== waiting);
    assertEquals(told, []);
  }
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("output flags and limits stay the caller's own", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "a", ms: 600_000 }]] });
  const { pool } = poolOf();
  await using _ = pool;
  const first = runInPool(pool, claude, { args: ["--idle-timeout", "0.3", "--timeout", "99"] });
  assertEquals((await first).exitCode, 124);
  await untilReady(pool);
  const sizes: unknown[] = [];
  const frames: Frame[] = [];
  const isTaken = () => frames.some(({ type, isReplay }) => type === "user" && isReplay === true);
  const run = runInPool(pool, claude, {
    args: ["--timeout", `${LIMIT_S}`],
    emit: (frame) => void frames.push(frame),
    request: { replayMessages: true, outputFormat: "json", quiet: true, verbose: false },
    terminal: { size: () => ({ rows: 33, cols: 111 }), listen: () => new DisposableStack() },
    onInput: (input) => {
      if (input.type === "resized") sizes.push(input.size);
    },
  });
  const taken = until(() => isTaken(), "the message is taken");
  const { exitCode, traces } = await timeOut(run, taken);
  assertEquals(sizes, [{ rows: 33, cols: 111 }]);
  assertStringIncludes(traces.join("\n"), ": a child has waited");
  assertEquals([exitCode, frames.at(-1)?.["subtype"]], [124, "timeout"]);
});

Deno.test("a different or unshareable request gets its own child", async () => {
  await using claude = await StandIn.set(ECHO);
  const { pool } = poolOf();
  await using _ = pool;
  await runInPool(pool, claude);
  await untilReady(pool);
  const session = "11111111-1111-4111-8111-111111111111";
  const others: readonly PoolRunOptions[] = [
    { args: ["--model", "haiku"] },
    { env: { ...claude.home.env, SECRET: "another" } },
    { args: ["--session-id", session] },
    { args: ["--record", `${claude.home.path}/cassette`] },
  ];
  for (const options of others) {
    const { results, traces } = await runInPool(pool, claude, options);
    assertEquals(results, ["You said Hi, 1"]);
    assert(!traces.join().includes("has waited"), traces.join("\n"));
  }
  const volatile = { OLDPWD: "/somewhere", _: "/bin/x", SHLVL: "7", COLUMNS: "100", LINES: "5" };
  const { traces } = await runInPool(pool, claude, { env: { ...claude.home.env, ...volatile } });
  assertStringIncludes(traces.join("\n"), ": a child has waited");
});

/** Speaks as the Agent SDKs do. */
const asSdk = (body: JsonObject, id: string) => (caller: ProgramCaller) => {
  caller.say({ type: "control", request: { id, subtype: "initialize", body } });
  caller.say(messageLine("Hi", { ticket: "1" }));
  caller.close();
};

Deno.test("an equal initialize gets a warm child", async () => {
  await using claude = await StandIn.set(ECHO);
  const { pool } = poolOf();
  await using _ = pool;
  const body = { systemPrompt: ["Be brief."], hooks: { Stop: [{ hookCallbackIds: ["hook_0"] }] } };
  const run = async (of: JsonObject, id: string) => {
    const { results, frames, traces } = await runInPool(pool, claude, { speak: asSdk(of, id) });
    assertEquals(results, ["You said Hi, 1"]);
    const answers = frames.filter(({ type }) => type === "control_response")
      .map(({ response }) => isJsonObject(response) ? response["request_id"] : undefined);
    assertEquals(answers, [id]);
    return { types: frames.map(({ type }) => type), told: traces.join("\n") };
  };
  const cold = await run(body, "one");
  assertStringIncludes(cold.told, ": no child waits");
  await untilReady(pool);
  const warm = await run({ agents: {}, promptSuggestions: true, ...body }, "two");
  assertStringIncludes(warm.told, ": a child has waited");
  assertEquals(warm.types, cold.types);
  const other = await run({ ...body, systemPrompt: [""] }, "three");
  assertStringIncludes(other.told, ": no child waits");
});

Deno.test("a child with an open question is not shared", async () => {
  const why = (body: JsonObject) => findColdInitializeReason(body);
  const hooksOf = (event: string) => ({ hooks: { [event]: [{ hookCallbackIds: ["hook_0"] }] } });
  assertEquals(why({ ...hooksOf("Stop"), sdkMcpServers: [], agents: {} }), undefined);
  assertStringIncludes(why(hooksOf("Notification")) ?? "", "hooks of Notification");
  assertStringIncludes(why({ sdkMcpServers: ["own"] }) ?? "", "MCP servers");
  const server = '{"mcpServers": {"own": {"type": "sdk", "name": "own"}}}';
  const request = await libraryRequest(["--mcp-config", server], { caller: "converse()" });
  assertStringIncludes(findColdStartReason(request) ?? "", "MCP servers");
});

Deno.test("dead and outdated warm children are replaced", async () => {
  await using claude = await StandIn.set(ECHO);
  const { pool, told } = poolOf();
  await using _ = pool;
  await runInPool(pool, claude);
  await untilReady(pool);
  const [, dies] = await pids(claude);
  Deno.kill(dies ?? 0, "SIGKILL");
  await untilReady(pool, 0);
  assertEquals(told.length, 1);
  assertStringIncludes(told.join(), claude.home.project);
  const cold = await runInPool(pool, claude);
  assertEquals([cold.results, cold.warnings], [["You said Hi, 1"], []]);
  await untilReady(pool);
  const [, , , outdated] = await pids(claude);
  await Deno.writeTextFile(`${claude.home.project}/CLAUDE.md`, "Use spaces.\n");
  const again = await runInPool(pool, claude);
  assertEquals([again.results, again.warnings], [["You said Hi, 1"], []]);
  await untilReady(pool);
  assertEquals((await pids(claude)).indexOf(outdated ?? 0), 3);
  assertEquals([(await pids(claude)).length, told.length], [6, 1]);
});

Deno.test("a changed claude script outdates its warm children", async () => {
  await using claude = await StandIn.set(ECHO);
  const { pool, told } = poolOf();
  await using _ = pool;
  const { home } = claude;
  const [shim, version] = [`${home.path}/shim`, `${home.path}/version`];
  await writeScript(
    shim,
    `#!/bin/sh\n[ "$1" = --version ] && exec cat '${version}'\nexec '${claude.binary}' "$@"\n`,
  );
  const run = async (installed: string) => {
    await Deno.writeTextFile(version, `${installed} (Claude Code)\n`);
    const { results, traces } = await runInPool(pool, { binary: shim, home });
    assertEquals(results, ["You said Hi, 1"]);
    await untilReady(pool);
    return traces.some((text) => text.endsWith(": a child has waited"));
  };
  assertEquals([await run("2.1.330"), await run("2.1.330")], [false, true]);
  assertEquals([await run("2.1.329"), await run("2.1.329")], [false, true]);
  assertEquals(told, []);
});

Deno.test("a child that read changed files is replaced", async () => {
  await using claude = await StandIn.set(ECHO);
  const { pool, told } = poolOf({ checkIntervalMs: 20 });
  await using _ = pool;
  await runInPool(pool, claude);
  await untilReady(pool);
  await Deno.writeTextFile(`${claude.home.project}/CLAUDE.md`, "Use spaces.\n");
  await claude.untilNoted("start", 3);
  await untilReady(pool);
  const { traces } = await runInPool(pool, claude);
  assertStringIncludes(traces.join("\n"), ": a child has waited");
  assertEquals(told, []);
});

Deno.test("an unknown dialog pauses a profile", async () => {
  const dialog = {
    lines: ["Do you want to go on?"],
    choices: [{ label: "By all means" }, { label: "Never" }],
    selected: 0,
    numbered: true,
    escape: null,
  };
  await using claude = await StandIn.set({ ...ECHO, dialogs: [dialog] });
  {
    const { pool, told } = poolOf();
    await using _ = pool;
    const request = await libraryRequest(["--claude-binary", claude.binary], {
      caller: "converse()",
    });
    await pool.prewarm(request, { env: claude.home.env, cwd: claude.home.project });
    await until(() => told.length > 0, "it is told of");
    assertStringIncludes(
      told.join(),
      `A warm Claude Code in ${claude.home.project} failed (profile `,
    );
    assertEquals([told.length, (await pids(claude)).length], [1, 1]);
  }
  assertEquals(await leftovers(claude.home), []);
});
