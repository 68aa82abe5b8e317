/**
 * The hook script under real shells: each test starts processes.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { Poller } from "../../../../ffi/descriptors/poll.ts";
import { fileAt } from "../../../../ffi/files/at_path.ts";
import { type HookCall, HookSource } from "../../../../src/driver/inputs/hook_source.ts";
import { hookSettings } from "../../../../src/sandbox/child/hooks.ts";
import { folderParts } from "../../../../src/sandbox/folder/folder_layout.ts";
import type { HookPayload } from "../../../../src/conversation/control/input.ts";
import { shellQuote } from "../../../../src/shell_quote.ts";
import { missingTool } from "../../../missing_tool.ts";
import { PID_NAMESPACE, PID_NAMESPACE_LACK } from "../../pid_namespace.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";
import { Ground, untilEnded } from "../../../sandbox/ground.ts";

/** The message of a hook that vetoes, which the model may read. */
const REFUSAL = "claude-print cannot ask whether this may be done\n";

const bytes = (text: string) => new TextEncoder().encode(text);
const decoded = (data: Uint8Array) => new TextDecoder().decode(data);

/** Starts a hook and waits for its call. */
async function startHook(
  [shell = "", ...args]: readonly string[],
  { env = {}, hooks, payload }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly hooks: HookSource;
    readonly payload: unknown;
  },
): Promise<{ readonly child: Deno.ChildProcess; readonly call: HookCall }> {
  const child = new Deno.Command(shell, {
    args: [...args],
    clearEnv: true,
    env: { ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(bytes(JSON.stringify(payload)));
  await writer.close();
  using poller = new Poller();
  for (;;) {
    await poller.wait([{ fd: hooks.fd, read: true }], -1);
    const [call] = hooks.read();
    if (call !== undefined) return { child, call };
  }
}

/** Runs a hook; if it asks, it is answered with `reply`, by default its own id. Returns what it prints, and its call. */
async function callHook(
  command: readonly string[],
  { reply, ...options }: Parameters<typeof startHook>[1] & { readonly reply?: HookPayload },
): Promise<{ readonly printed: string; readonly call: HookCall }> {
  const { child, call } = await startHook(command, options);
  if (call.id !== undefined) options.hooks.answer(call.id, reply ?? { to: call.id });
  const { stdout, stderr } = await child.output();
  return { printed: decoded(stdout) + decoded(stderr), call };
}

Deno.test("the hook script works in a folder with special characters", async () => {
  using ground = new Ground("with space q'uo\"te $x `y` \\z ünï😀");
  using sandbox = ground.sandbox();
  const { hooks: registered } = JSON.parse(Deno.readTextFileSync(sandbox.settingsPath));
  using hooks = new HookSource(sandbox);
  const payload = { hook_event_name: "Stop", text: "x".repeat(100_000) };
  const call = (event: string, more = {}) => {
    const [{ hooks: [{ command }] }] = registered[event];
    const env = { PATH: "/usr/bin:/bin" };
    return callHook(["/bin/sh", "-c", command], { env, hooks, payload, ...more });
  };
  const told = await call("Stop");
  assertEquals([told.printed, told.call.payload], ["", payload]);
  const reply = { text: "\\n'ü".repeat(20_000) };
  const asked = await call("PermissionRequest", { reply });
  assertEquals([JSON.parse(asked.printed), asked.call.payload], [reply, payload]);
});

for (const command of [["/bin/sh"], ["/bin/bash", "--posix"], ["/bin/busybox", "sh"]] as const) {
  const name = command[0].replace("/bin/", "");
  Deno.test(skipIfLacking(missingTool(name), {
    name: `the hook script under ${name} runs no program from PATH`,
    fn: async () => {
      using ground = new Ground();
      const fakes = `${ground.path}/fakes`;
      Deno.mkdirSync(fakes);
      for (const tool of ["cat", "mkfifo", "sh", "printf"]) {
        Deno.writeTextFileSync(`${fakes}/${tool}`, `#!/bin/sh\n: > ${ground.path}/ran\n`);
        Deno.chmodSync(`${fakes}/${tool}`, 0o755);
      }
      using sandbox = ground.sandbox({ hooks: ["PermissionRequest", "Stop"] });
      using hooks = new HookSource(sandbox);
      const payload = {
        hook_event_name: "Stop",
        // Each byte of UTF-8, and each special character of a shell.
        delta: String.fromCodePoint(...Array(0x900).keys(), 0x1f389) + "  \\n \\ $x `y` ' \t",
      };
      const call = (args: readonly string[], env = {}) =>
        callHook([...command, `${sandbox.path}/own/hook`, ...args], { env, hooks, payload });
      const PATH = `${fakes}:/usr/bin`;
      for (const mode of ["", "short", "prompt", "long prompt"]) {
        if (mode === "long prompt") {
          Deno.writeTextFileSync(folderParts(sandbox.path).longPromptsPath, "");
        }
        const args = mode.split(" ").slice(-1).filter((arg) => arg !== "");
        const { printed, call: told } = await call(args, { PATH });
        assertEquals([printed, told.id, told.payload], ["", undefined, payload], mode);
      }
      // The FIFO of an ended session exists once only.
      for (const [place, env] of [["-", {}], ["end", { PATH }], ["end", { PATH }]] as const) {
        const { printed, call: asked } = await call(["asks", place, "2"], env);
        assertEquals([JSON.parse(printed), typeof asked.id], [{ to: asked.id }, "string"]);
        assertEquals(asked.payload, payload);
      }
      assertEquals([...Deno.readDirSync(sandbox.payloadDir)], []);
      assert(fileAt(`${ground.path}/ran`) === undefined);
    },
  }));
}

Deno.test("an asking hook vetoes once the program was killed", async () => {
  using ground = new Ground();
  const gone = new Deno.Command("true").spawn();
  await gone.status;
  const parent = new Deno.Command("/bin/sh", {
    args: ["-c", "sleep 600 & echo $!; exec cat"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = parent.stdout.getReader();
  const zombie = Number(decoded((await reader.read()).value ?? new Uint8Array()));
  // Once `cat`, which never reaps a child, has the shell's place, the child stays a zombie.
  const writer = parent.stdin.getWriter();
  await writer.write(bytes("cat"));
  await reader.read();
  Deno.kill(zombie, "SIGKILL");
  await untilEnded(zombie);
  for (const pid of [gone.pid, zombie]) {
    using sandbox = ground.sandbox({ pid });
    const { code, stdout, stderr } = await new Deno.Command("/bin/sh", {
      args: [`${sandbox.path}/own/hook`, "asks", "-", "2"],
      stdin: "null",
    }).output();
    assertEquals([code, stdout.length, decoded(stderr)], [2, 0, REFUSAL]);
    // Only the FIFO for the end of a session is there.
    const left = Array.from(Deno.readDirSync(sandbox.payloadDir), ({ name }) => name);
    assertEquals(left, ["end.answer"]);
  }
  await writer.close();
  await reader.cancel();
  await parent.status;
});

Deno.test(skipIfLacking(PID_NAMESPACE_LACK, {
  name: "a hook asks from another pid namespace",
  fn: async () => {
    using ground = new Ground();
    using sandbox = ground.sandbox({ hooks: ["PermissionRequest"] });
    using hooks = new HookSource(sandbox);
    const payload = { hook_event_name: "PermissionRequest" };
    const hook = ["/bin/sh", `${sandbox.path}/own/hook`, "asks", "-", "2"];
    const { printed, call } = await callHook(
      ["unshare", ...PID_NAMESPACE, ...hook],
      { env: { PATH: "/usr/bin:/bin" }, hooks, payload },
    );
    assertEquals([call.payload, JSON.parse(printed)], [payload, { to: call.id }]);
  },
}));

Deno.test("a payload that the shell reads may have many lines", async () => {
  using ground = new Ground();
  using sandbox = ground.sandbox();
  const text = Array.from({ length: 500 }, (_, at) => ` ${at}\\\t`).join("\n\n");
  const hook = `${sandbox.path}/own/hook`;
  const command = `set -- short; . ${shellQuote(hook)}`;
  const settings = hookSettings(hook, { events: ["MessageDisplay"], held: [] });
  assert(JSON.stringify(settings).includes(JSON.stringify(command)));
  const payloadPath = `${ground.path}/payload`;
  const run = async (payload: string) => {
    Deno.writeTextFileSync(payloadPath, payload);
    const { code, stdout } = await new Deno.Command("/bin/sh", {
      args: ["-c", `exec < "$0"; ${command}`, payloadPath],
      stderr: "null",
    }).output();
    assertEquals([code, stdout.length], [0, 0]);
  };
  using hooks = new HookSource(sandbox);
  const payload = { hook_event_name: "MessageDisplay", text };
  for (const end of ["", "\n"]) await run(JSON.stringify(payload, null, 2) + end);
  assertEquals(hooks.read().map((call) => call.payload), [payload, payload]);
  Deno.removeSync(sandbox.payloadDir, { recursive: true });
  await run("{}");
  assertEquals([hooks.read(), hooks.hasLostCalls], [[], true]);
});

/** What keeps a hook from asking: a command in its shell, or a change of the folder of payloads. */
const OBSTACLES: readonly {
  readonly name: string;
  readonly sh?: string;
  readonly fs?: (folder: string) => void;
  readonly place?: string;
  readonly code?: number;
}[] = [
  { name: "no room for a file", sh: "ulimit -f 0" },
  // A shell that cannot fork ends there, with code 2.
  { name: "no process", sh: "cat() { exit 2; }" },
  { name: "no folder", fs: (folder) => Deno.removeSync(folder, { recursive: true }) },
  { name: "no room, at an event that cannot be forbidden", sh: "ulimit -f 0", code: 0 },
  {
    name: "no place for its FIFO",
    fs: (folder) => {
      Deno.removeSync(`${folder}/end.answer`);
      Deno.mkdirSync(`${folder}/end.answer`);
    },
    place: "end",
  },
];

Deno.test("an asking hook that meets an obstacle vetoes", async () => {
  for (const { name, sh = "", fs, place = "-", code = 2 } of OBSTACLES) {
    using ground = new Ground();
    using sandbox = ground.sandbox();
    using hooks = new HookSource(sandbox);
    fs?.(sandbox.payloadDir);
    const payload = `${ground.path}/payload`;
    Deno.writeTextFileSync(payload, "{}");
    const own = shellQuote(`${sandbox.path}/own/hook`);
    const ended = await new Deno.Command("/bin/sh", {
      args: ["-c", `exec < "$0"; set -- asks ${place} ${code}; ${sh}\n. ${own}`, payload],
      stdin: "null",
      stderr: "null",
    }).output();
    assertEquals([ended.code, ended.stdout.length], [code, 0], name);
    assertEquals([hooks.read(), hooks.hasLostCalls], [[], true], name);
  }
});

Deno.test("a waiting hook vetoes when it gets no answer", async () => {
  const ways: readonly ((
    at: {
      readonly hooks: HookSource;
      readonly id: string;
      readonly child: Deno.ChildProcess;
      readonly payloadDir: string;
    },
  ) => void)[] = [
    ({ child }) => child.kill("SIGTERM"),
    ({ hooks, id }) => hooks.veto(id),
    // The end of a run vetoes all waiting hooks.
    ({ hooks }) => hooks[Symbol.dispose](),
    // A folder is in the place of a long reply.
    ({ hooks, id, payloadDir }) => {
      Deno.mkdirSync(`${payloadDir}/${id}.reply`);
      hooks.answer(id, { text: "x".repeat(5000) });
      assertEquals(hooks.hasLostCalls, true);
    },
  ];
  for (const [index, end] of ways.entries()) {
    using ground = new Ground();
    using sandbox = ground.sandbox();
    const hooks = new HookSource(sandbox);
    const hook = ["/bin/sh", `${sandbox.path}/own/hook`, "asks", "0", "2"];
    const { child, call } = await startHook(hook, {
      hooks,
      payload: { hook_event_name: "PreToolUse" },
    });
    end({ hooks, id: call.id ?? "", child, payloadDir: sandbox.payloadDir });
    const { code, stdout, stderr } = await child.output();
    assertEquals([code, stdout.length, decoded(stderr)], [2, 0, REFUSAL]);
    if (index !== 2) hooks[Symbol.dispose]();
  }
});
