import { assert, assertEquals } from "@std/assert";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { type HookCall, HookSource } from "../../../src/driver/sources/hook_source.ts";
import { hookSettings } from "../../../src/sandbox/child/hooks.ts";
import { folderParts } from "../../../src/sandbox/folder/folder_parts.ts";
import { fileAt } from "../../../ffi/files/at_path.ts";
import type { HookPayload } from "../../../src/session/input.ts";
import { shellQuote } from "../../../src/shell_quote.ts";
import { PID_NAMESPACE, PID_NAMESPACE_LACK } from "../../standin/pid_namespace.ts";
import { unlessLacking } from "../../unless_lacking.ts";
import { Ground } from "../ground.ts";

const readJson = (path: string) => JSON.parse(Deno.readTextFileSync(path));

for (const tmpName of ["plain", "with space", "q'uo\"te $x `y` \\z", "ünï😀"]) {
  Deno.test(`the hook script works in a folder named ${JSON.stringify(tmpName)}`, async () => {
    using ground = new Ground(tmpName);
    using sandbox = ground.sandbox();
    const { hooks: registered } = readJson(sandbox.settingsPath);
    using hooks = new HookSource(sandbox);
    const payload = { hook_event_name: "Stop", text: "x".repeat(100_000) };
    const env = { PATH: "/usr/bin:/bin" };
    for (const event of ["Stop", "PermissionRequest"]) {
      const [{ hooks: [{ command }] }] = registered[event];
      const { printed, calls: [call] } = await callHook(["/bin/sh", "-c", command], {
        env,
        hooks,
        payload,
      });
      assertEquals(call?.payload, payload);
      assertEquals(printed, event === "Stop" ? "" : `{"to":"${call?.id}"}\n`);
      if (event === "Stop") continue;
      const long = { text: "\\n'ü".repeat(20_000) };
      const told = await callHook(["/bin/sh", "-c", command], { env, hooks, payload, reply: long });
      assertEquals(JSON.parse(told.printed), long);
    }
  });
}

Deno.test("the hook script needs no PATH, and runs no program of another one, in every shell", async () => {
  using ground = new Ground();
  const fakes = `${ground.path}/fakes`;
  Deno.mkdirSync(fakes);
  for (const name of ["cat", "mkfifo", "sh", "printf"]) {
    Deno.writeTextFileSync(`${fakes}/${name}`, `#!/bin/sh\n: > ${ground.path}/ran\n`);
    Deno.chmodSync(`${fakes}/${name}`, 0o755);
  }
  const shells = [["/bin/sh"], ["/bin/bash", "--posix"], ["/bin/busybox", "sh"]]
    .filter(([path = ""]) => fileAt(path) !== undefined);
  for (const [shell = "", ...flags] of shells) {
    for (const PATH of [undefined, "", `${fakes}:/usr/bin`]) {
      using sandbox = ground.sandbox({ hooks: ["PermissionRequest", "Stop"] });
      using hooks = new HookSource(sandbox);
      // Every byte that UTF-8 has, and what a shell might take for its own.
      const payload = {
        hook_event_name: "Stop",
        delta: String.fromCodePoint(...Array(0x900).keys(), 0x1f389) + "  \\n \\ $x `y` ' \t",
      };
      const call = (...mode: readonly string[]) =>
        callHook([shell, ...flags, `${sandbox.path}/own/hook`, ...mode], {
          env: PATH === undefined ? {} : { PATH },
          hooks,
          payload,
        });
      const says = `${shell} ${PATH}`;
      const { longPromptsPath } = folderParts(sandbox.path);
      for (const mode of [[], ["short"], ["prompt"], ["long", "prompt"]]) {
        if (mode[0] === "long") Deno.writeTextFileSync(longPromptsPath, "");
        const { printed, calls: [told] } = await call(...mode.slice(-1));
        assertEquals([printed, told?.id, told?.payload], ["", undefined, payload], says);
      }
      // Where a session has ended before, the FIFO for that is not there any more.
      for (const place of ["-", "end", "end"]) {
        const { printed, calls: [asked] } = await call("asks", place, "2");
        assertEquals([JSON.parse(printed), typeof asked?.id], [{ to: asked?.id }, "string"], says);
        assertEquals(asked?.payload, payload, says);
      }
      assertEquals([...Deno.readDirSync(sandbox.payloadDir)], [], says);
    }
  }
  assert(fileAt(`${ground.path}/ran`) === undefined);
});

Deno.test("a hook that asks vetoes once the program was killed, reaped or not", async () => {
  using ground = new Ground();
  const gone = new Deno.Command("true").spawn();
  await gone.status;
  // A shell asks what has become of its children, in its own time, unless it is another program by then.
  const parent = new Deno.Command("/bin/sh", {
    args: ["-c", "sleep 600 & echo $!; exec cat"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = parent.stdout.getReader();
  const zombie = Number(new TextDecoder().decode((await reader.read()).value));
  const until = async (pid: number, line: RegExp) => {
    while (!line.test(Deno.readTextFileSync(`/proc/${pid}/stat`))) {
      await new Promise((done) => setTimeout(done, 5));
    }
  };
  await until(parent.pid, /\(cat\)/u);
  Deno.kill(zombie, "SIGKILL");
  await until(zombie, /\) Z /u);
  for (const pid of [gone.pid, zombie]) {
    using sandbox = ground.sandbox({ pid });
    const { code, stdout, stderr } = await new Deno.Command("/bin/sh", {
      args: [`${sandbox.path}/own/hook`, "asks", "-", "2"],
      stdin: "null",
    }).output();
    assertEquals([code, stdout.length, new TextDecoder().decode(stderr)], [2, 0, REFUSAL]);
    // Only the FIFO for the end of a session is there.
    const left = Array.from(Deno.readDirSync(sandbox.payloadDir), ({ name }) => name);
    assertEquals(left, ["end.answer"]);
  }
  await parent.stdin.close();
  await reader.cancel();
  await parent.status;
});

Deno.test(unlessLacking(PID_NAMESPACE_LACK, {
  name: "a hook asks from a pid namespace in which the program is hidden",
  fn: async () => {
    using ground = new Ground();
    using sandbox = ground.sandbox({ hooks: ["PermissionRequest"] });
    using hooks = new HookSource(sandbox);
    const payload = { hook_event_name: "PermissionRequest" };
    const hook = ["/bin/sh", `${sandbox.path}/own/hook`, "asks", "-", "2"];
    const { printed, calls: [call] } = await callHook(
      ["unshare", ...PID_NAMESPACE, ...hook],
      { env: { PATH: "/usr/bin:/bin" }, hooks, payload },
    );
    assertEquals([call?.payload, JSON.parse(printed)], [payload, { to: call?.id }]);
  },
}));

Deno.test("a payload that the shell reads itself may have several lines, be long, and find no room", async () => {
  using ground = new Ground();
  using sandbox = ground.sandbox();
  const text = Array.from({ length: 500 }, (_, at) => ` ${at}\\\t`).join("\n\n");
  const command = `set -- short; . ${shellQuote(`${sandbox.path}/own/hook`)}`;
  assert(
    JSON.stringify(hookSettings(`${sandbox.path}/own/hook`, {
      events: ["MessageDisplay"],
      held: [],
    })).includes(JSON.stringify(command)),
  );
  const payloadPath = `${ground.path}/payload`;
  const run = async (written: string) => {
    Deno.writeTextFileSync(payloadPath, written);
    const { code, stdout } = await new Deno.Command("/bin/sh", {
      args: ["-c", `exec < "$0"; ${command}`, payloadPath],
      stderr: "null",
    }).output();
    assertEquals([code, stdout.length], [0, 0]);
  };
  for (const end of ["", "\n"]) {
    using hooks = new HookSource(sandbox);
    const payload = { hook_event_name: "MessageDisplay", text };
    await run(JSON.stringify(payload, null, 2) + end);
    assertEquals(hooks.read().map((call) => call.payload), [payload]);
  }
  using hooks = new HookSource(sandbox);
  Deno.removeSync(sandbox.payloadDir, { recursive: true });
  await run("{}");
  assertEquals([hooks.read(), hooks.unheard], [[], true]);
});

/** Runs a hook, which is answered with its own id if it asks: what it prints, and how it was heard. */
async function callHook(
  [shell = "", ...args]: readonly string[],
  { env, hooks, payload, reply }: {
    readonly reply?: HookPayload;
    readonly env: Readonly<Record<string, string>>;
    readonly hooks: HookSource;
    readonly payload: unknown;
  },
): Promise<{ readonly printed: string; readonly calls: readonly HookCall[] }> {
  const child = new Deno.Command(shell, {
    args: [...args],
    clearEnv: true,
    env: { ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(payload)));
  await writer.close();
  const ended = child.output();
  using poller = new Poller();
  const calls: HookCall[] = [];
  while (calls.length === 0) {
    await poller.wait([{ fd: hooks.fd, read: true }], -1);
    calls.push(...hooks.read());
    for (const { id } of calls) if (id !== undefined) hooks.answer(id, reply ?? { to: id });
  }
  const { stdout, stderr } = await ended;
  const decoder = new TextDecoder();
  return { printed: decoder.decode(stdout) + decoder.decode(stderr), calls };
}

/** What a hook that vetoes prints, which the model may read. */
const REFUSAL = "claude-print cannot ask whether this may be done\n";

/** What keeps a hook from asking: in its shell, or in the folder of its payload. */
const OBSTACLES: Readonly<
  Record<string, { readonly sh?: string; readonly fs?: (folder: string) => void }>
> = {
  "no room for a file": { sh: "ulimit -f 0" },
  // A shell that cannot fork ends there, with code 2.
  "no process": { sh: "cat() { exit 2; }" },
  "no folder": { fs: (folder) => Deno.removeSync(folder, { recursive: true }) },
  "no place for its FIFO": {
    fs: (folder) => {
      Deno.removeSync(`${folder}/end.answer`);
      Deno.mkdirSync(`${folder}/end.answer`);
    },
  },
};

for (const [name, { sh = "", fs }] of Object.entries(OBSTACLES)) {
  Deno.test(`a hook that asks and finds ${name} vetoes, and is reported`, async () => {
    // The name of the FIFO is only known of the hook at the end of a session.
    const place = name === "no place for its FIFO" ? "end" : "-";
    for (const code of [2, 0]) {
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
      assertEquals([ended.code, ended.stdout.length], [code, 0]);
      assertEquals([hooks.read(), hooks.unheard], [[], true]);
    }
  });
}

Deno.test("a hook that waits vetoes when it is stopped, and when it is told to", async () => {
  const ways: readonly ((
    at: {
      readonly hooks: HookSource;
      readonly call: HookCall;
      readonly child: Deno.ChildProcess;
      readonly payloadDir: string;
    },
  ) => void)[] = [
    ({ child }) => child.kill("SIGTERM"),
    ({ hooks, call }) => hooks.veto(call.id ?? ""),
    // The end of a run answers what still waits.
    ({ hooks }) => hooks[Symbol.dispose](),
    // A long reply finds no room: its place is taken.
    ({ hooks, call, payloadDir }) => {
      Deno.mkdirSync(`${payloadDir}/${call.id}.reply`);
      hooks.answer(call.id ?? "", { text: "x".repeat(5000) });
      assertEquals(hooks.unheard, true);
    },
  ];
  for (const end of ways) {
    using ground = new Ground();
    using sandbox = ground.sandbox();
    const hooks = new HookSource(sandbox);
    const child = new Deno.Command("/bin/sh", {
      args: [`${sandbox.path}/own/hook`, "asks", "0", "2"],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode('{"hook_event_name":"PreToolUse"}'));
    await writer.close();
    using poller = new Poller();
    let call: HookCall | undefined;
    while (call === undefined) {
      await poller.wait([{ fd: hooks.fd, read: true }], -1);
      [call] = hooks.read();
    }
    end({ hooks, call, child, payloadDir: sandbox.payloadDir });
    const { code, stdout, stderr } = await child.output();
    assertEquals([code, stdout.length, new TextDecoder().decode(stderr)], [2, 0, REFUSAL]);
  }
});

Deno.test("only events that can be forbidden get an exit code that forbids", () => {
  const settings = hookSettings("/x", {
    events: ["Stop", "PreToolUse", "SessionEnd"],
    held: ["Stop"],
    callbacks: [{ event: "PreToolUse" }, { event: "SubagentStop" }],
  }) as Readonly<Record<string, readonly { readonly hooks: readonly Record<string, unknown>[] }[]>>;
  const marks = Object.entries(settings).flatMap(([event, groups]) =>
    groups.flatMap(({ hooks }) =>
      hooks.map(({ command, onFailure }) => [event, `${command}`.slice(7, -8), onFailure])
    )
  );
  assertEquals(marks, [
    ["Stop", "asks - 0", undefined],
    ["PreToolUse", "asks - 2", undefined],
    ["PreToolUse", "asks 0 2", "block"],
    ["SessionEnd", "asks end 0", undefined],
    ["SubagentStop", "asks 1 0", undefined],
  ]);
});

Deno.test("hooks of a compaction are for one that comes by itself: a typed one is told anyway", () => {
  const settings = hookSettings("/x", { events: ["Stop", "PreCompact"], held: [] });
  const hooks = [{ type: "command", command: ". '/x'", timeout: 60 }];
  assertEquals(settings, { Stop: [{ hooks }], PreCompact: [{ matcher: "auto", hooks }] });
});

Deno.test("a hook of the caller's has the name that claude -p gives it, which the model is told", () => {
  const settings = hookSettings("/x", {
    events: [],
    held: [],
    callbacks: [{ event: "PostToolUse", matcher: "Bash" }],
  });
  const [{ hooks = [] } = {}] = settings["PostToolUse"] as readonly {
    readonly hooks?: unknown[];
  }[];
  assertEquals(hooks.map((hook) => (hook as { statusMessage?: string }).statusMessage), [
    "callback",
  ]);
});

Deno.test("a caller may name events by what every object has", () => {
  const events = ["constructor", "__proto__", "toString", "Stop"];
  const settings = hookSettings("/h", {
    events: ["Stop"],
    held: [],
    callbacks: [...events, ...events].map((event) => ({ event })),
  });
  assertEquals(
    Object.entries(settings).map(([event, hooks]) => [event, (hooks as unknown[]).length]),
    [["Stop", 3], ["constructor", 2], ["__proto__", 2], ["toString", 2]],
  );
});
