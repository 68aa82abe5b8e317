import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileAt } from "../../ffi/files/at_path.ts";
import { processesBelow } from "../processes_below.ts";
import { type Caller, holdWithProgram } from "../real/hold_conversation.ts";
import { parseFrames } from "../real/print_mode_facts.ts";
import { REAL_VERSIONS } from "../real/for_each_version.ts";
import { RealClaude } from "../real/real_claude.ts";

const VERSION = REAL_VERSIONS.at(-1) ?? "";

/** How long Claude Code may stand still after the caller has stopped the turn, in milliseconds. */
const STANDSTILLS = [0, 30, 300];

const control = (id: string, request: Readonly<Record<string, unknown>>) => ({
  type: "control_request",
  request_id: id,
  request,
});

/** Has the caller asked before every call of a tool. */
async function askBeforeCalls({ send, heard }: Caller): Promise<void> {
  const hooks = { PreToolUse: [{ hookCallbackIds: ["hook_0"] }] };
  await send(control("i", { subtype: "initialize", hooks }));
  await heard('"request_id":"i"');
}

const write = (path: string) =>
  `[[tool Write ${JSON.stringify({ file_path: path, content: "x" })}]]`;

/** Lets every Claude Code below a process stand still meanwhile. */
async function whileStill(
  { pid, binary, ms }: { readonly pid: number; readonly binary: string; readonly ms: number },
  act: () => Promise<void>,
): Promise<void> {
  const still = ms === 0 ? [] : processesBelow(pid).filter(({ command }) => command[0] === binary);
  for (const { pid } of still) Deno.kill(pid, "SIGSTOP");
  try {
    await act();
    await new Promise((done) => setTimeout(done, ms));
  } finally {
    for (const { pid } of still) Deno.kill(pid, "SIGCONT");
  }
}

Deno.test(`${VERSION}: an interrupt lets no call run whose hook is unanswered`, async () => {
  await using real = await RealClaude.set(VERSION);
  const paths = [...STANDSTILLS, "last"].map((each) => `${real.home.project}/written-${each}`);
  const stop = async (caller: Caller, ms: number, subtype: string) => {
    const count = caller.frames().filter(({ type }) => type === "result").length;
    await whileStill(
      { pid: caller.pid, binary: real.binary, ms },
      async () => await caller.send(control(`${subtype}-${ms}`, { subtype })),
    );
    await caller.heard('"type":"result"', count + 1);
  };
  const { stdout } = await holdWithProgram(real, async (caller) => {
    await askBeforeCalls(caller);
    for (const [turn, ms] of STANDSTILLS.entries()) {
      await caller.say(`go ${write(paths[turn] ?? "")}`);
      await caller.heard("hook_callback", turn + 1);
      await stop(caller, ms, "interrupt");
    }
    await caller.say(`go ${write(paths.at(-1) ?? "")}`);
    await caller.heard("hook_callback", STANDSTILLS.length + 1);
    await stop(caller, 300, "end_session");
  }, ["--allowedTools", "Write"]);
  assertEquals(paths.filter((path) => fileAt(path) !== undefined), []);
  const reasons = parseFrames(stdout).filter(({ type }) => type === "result")
    .map(({ terminal_reason }) => terminal_reason);
  assertEquals(reasons, paths.map(() => "aborted_tools"));
});

Deno.test(`${VERSION}: a call whose hook finds no place to ask does not run`, async () => {
  await using real = await RealClaude.set(VERSION);
  const path = `${real.home.project}/forbidden`;
  const { code, stdout } = await holdWithProgram(real, async (caller) => {
    caller.answer(() => ({}));
    await askBeforeCalls(caller);
    await caller.say(
      `go [[bash rm -rf "\${CLAUDE_CONFIG_DIR%/.claude}/own/payloads"]] ${write(path)}`,
    );
    await caller.heard('"type":"result"');
  }, ["--allowedTools", "Bash", "Write"]);
  assertEquals([code, fileAt(path)], [2, undefined]);
  const { errors = [] } = parseFrames(stdout).findLast(({ type }) => type === "result") as {
    readonly errors?: readonly string[];
  };
  assert(errors.length > 0);
  assertMatch(errors[0] ?? "", /^Claude Code's hooks cannot /u);
});
