import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileAt } from "../../../ffi/files/at_path.ts";
import { processesBelow } from "../../processes_below.ts";
import { type Caller, holdWithProgram } from "../../real/hold_conversation.ts";
import { parseFrames } from "../../real/print_mode_facts.ts";
import { REAL_VERSIONS } from "../../real/for_each_version.ts";
import { RealClaude } from "../../real/real_claude.ts";
import { toolCall } from "../../real/tool_call.ts";

const VERSION = REAL_VERSIONS.at(-1) ?? "";

/** How long Claude Code is stopped after an interrupt, in milliseconds. */
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

const write = (path: string) => toolCall("Write", { file_path: path, content: "x" });

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

/** Questions before a call of Write, and the arguments that cause them. */
const QUESTIONS = [
  { asked: "hook_callback", args: ["--allowedTools", "Write"] },
  { asked: "can_use_tool", args: ["--permission-prompt-tool", "stdio"] },
] as const;

for (const { asked, args } of QUESTIONS) {
  Deno.test(`${VERSION}: an interrupt forbids a call with unanswered ${asked}`, async () => {
    await using real = await RealClaude.set(VERSION);
    const paths = [...STANDSTILLS, "last"].map((each) => `${real.home.project}/written-${each}`);
    const { stdout } = await holdWithProgram(real, async (caller) => {
      if (asked === "hook_callback") await askBeforeCalls(caller);
      for (const [turn, path] of paths.entries()) {
        await caller.say(`go ${write(path)}`);
        await caller.heard(`"subtype":"${asked}"`, turn + 1);
        const ms = STANDSTILLS[turn] ?? 300;
        const subtype = turn < STANDSTILLS.length ? "interrupt" : "end_session";
        await whileStill(
          { pid: caller.pid, binary: real.binary, ms },
          async () => await caller.send(control(`r${turn}`, { subtype })),
        );
        await caller.heard('"type":"result"', turn + 1);
      }
    }, args);
    assertEquals(paths.filter((path) => fileAt(path) !== undefined), []);
    const reasons = parseFrames(stdout).filter(({ type }) => type === "result")
      .map(({ terminal_reason }) => terminal_reason);
    assertEquals(reasons, paths.map(() => "aborted_tools"));
  });
}

Deno.test(`${VERSION}: a hook without a payload folder forbids the call`, async () => {
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

/** Ends of a run while its hook waits for a silent caller. */
const ENDS: Readonly<
  Record<string, { readonly args?: readonly string[]; readonly signal?: Deno.Signal }>
> = {
  "the end of input": {},
  "SIGTERM": { signal: "SIGTERM" },
  "SIGINT": { signal: "SIGINT" },
  "the timeout": { args: ["--timeout", "10"] },
};

Deno.test(`${VERSION}: no end of a run allows an unanswered call`, async () => {
  const written = await Promise.all(
    Object.entries(ENDS).map(async ([way, { args = [], signal }]) => {
      await using real = await RealClaude.set(VERSION);
      const path = `${real.home.project}/written`;
      await holdWithProgram(real, async (caller) => {
        await askBeforeCalls(caller);
        await caller.say(`go ${write(path)}`);
        await caller.heard("hook_callback");
        await whileStill({ pid: caller.pid, binary: real.binary, ms: 300 }, () => {
          if (signal !== undefined) Deno.kill(caller.pid, signal);
          return Promise.resolve();
        });
        if (args.length > 0) await caller.heard('"type":"result"');
      }, ["--allowedTools", "Write", ...args]);
      return fileAt(path) === undefined ? [] : [way];
    }),
  );
  assertEquals(written.flat(), []);
});
