/**
 * What a whole process does at its start and with signals: each test starts a Deno of its own.
 *
 * @module
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { STOP_SIGNALS } from "../../../src/claude/wire/stop_signal.ts";
import { startProgram } from "../../start_program.ts";
import { tempFolder } from "../../temp_folder.ts";

const quoted = (path: string) => JSON.stringify(import.meta.resolve(`../../../${path}`));

const evalArgs = (code: string, args: readonly unknown[]) => [
  ...["eval", "--quiet", "--no-config", "--no-lock", code, JSON.stringify(args)],
];

/** Runs a program with arguments in a process of its own; returns the JSON that it prints. */
async function runEval(code: string, args: readonly unknown[]) {
  const { stdout, stderr, ...ended } = await startProgram(
    [Deno.execPath(), ...evalArgs(code, args)],
    { env: { PATH: "/usr/bin:/bin", NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" }, cwd: "/" },
  ).ended;
  assertEquals([ended.code, stderr], [0, ""]);
  return JSON.parse(stdout);
}

/** Fails to open a pidfd while it starts a child; prints the error and the children that are left. */
const UNWATCHED = `
  import { makeFifo } from ${quoted("ffi/descriptors/pipe.ts")};
  import { libc } from ${quoted("ffi/libc.ts")};
  import { startChild } from ${quoted("src/driver/start_child.ts")};
  function children() {
    return [...Deno.readDirSync("/proc/self/task")].flatMap(({ name }) =>
      Deno.readTextFileSync(\`/proc/self/task/\${name}/children\`).split(" ").filter((pid) => pid !== "")
    );
  }

  const [folder] = JSON.parse(Deno.args[0]);
  makeFifo(\`\${folder}/hooks.fifo\`);
  Deno.mkdirSync(\`\${folder}/payloads\`);
  libc().syscall = () => -1n;
  let failure = "";
  try {
    startChild({
      binary: "/bin/sleep",
      args: ["600"],
      env: {},
      cwd: "/",
      size: { rows: 24, cols: 80 },
      sandbox: {
        configDir: folder,
        helperDir: \`\${folder}/helper\`,
        fifoPath: \`\${folder}/hooks.fifo\`,
        payloadDir: \`\${folder}/payloads\`,
        secret: "s",
        stdinPath: undefined,
      },
    });
  } catch (error) {
    failure = error.message;
  }
  console.log(JSON.stringify({ failure, children: children() }));
`;

Deno.test("a child without a pidfd is killed with its guard", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const { failure, children } = await runEval(UNWATCHED, [folder]);
  assertStringIncludes(failure, "pidfd_open");
  assertEquals(children, []);
});

/** Sends itself signals, and prints those that it received and the exit codes of its children. */
const LISTENER = `
  import { listenToSignals } from ${quoted("ffi/processes/own_signals.ts")};
  import { waitFor } from ${quoted("ffi/processes/process.ts")};
  import { spawn } from ${quoted("ffi/processes/spawn.ts")};
  import { StopSignals } from ${quoted("src/driver/stop_signals.ts")};
  const [sent, awaited] = JSON.parse(Deno.args[0]);
  using _ = listenToSignals(["SIGWINCH"], () => {});
  using signals = new StopSignals();
  for (const name of sent) Deno.kill(Deno.pid, name);
  const heard = [];
  while (heard.length < awaited) {
    await new Promise((done) => setTimeout(done, 5));
    heard.push(...signals.take());
  }
  const pid = spawn("/bin/sh", { args: ["-c", "exit 3"], env: {}, cwd: "/" });
  let exit;
  while ((exit = waitFor(pid)) === undefined) await new Promise((done) => setTimeout(done, 5));
  const { code } = await new Deno.Command("/bin/sh", { args: ["-c", "exit 4"] }).output();
  console.log(JSON.stringify({ heard: heard.toSorted(), codes: [exit.code, code] }));
`;

/** Becomes that program, with some signals ignored and some blocked. */
const STARTER = `
  import { exec } from ${quoted("ffi/processes/exec.ts")};
  import { libc } from ${quoted("ffi/libc.ts")};
  import { SIGNALS } from ${quoted("ffi/processes/signals.ts")};
  const [ignored, blocked, ...args] = JSON.parse(Deno.args[0]);
  for (const [name, number] of Object.entries(SIGNALS)) {
    libc().signal(number, ignored.includes(name) ? Deno.UnsafePointer.create(1n) : null);
  }
  const set = new Uint8Array(128);
  for (const name of blocked) set[SIGNALS[name] - 1 >> 3] |= 1 << (SIGNALS[name] - 1 & 7);
  libc().sigprocmask(2, set, null);
  exec(Deno.execPath(), args);
`;

const RECEIVED = Object.keys(STOP_SIGNALS).filter((name) => name !== "SIGPIPE");

for (
  const { name, ignored = [], blocked = [], sent, received } of [
    {
      name: "StopSignals receives every signal of a batch system",
      sent: RECEIVED,
      received: RECEIVED,
    },
    {
      name: "StopSignals keeps ignored signals ignored but receives blocked ones",
      ignored: ["SIGHUP", "SIGUSR1", "SIGINT", "SIGTERM", "SIGCHLD"],
      blocked: ["SIGALRM", "SIGTERM", "SIGCHLD"],
      sent: ["SIGHUP", "SIGUSR1", "SIGALRM", "SIGINT", "SIGTERM"],
      // A program always receives the signals that ask it to end.
      received: ["SIGALRM", "SIGINT", "SIGTERM"],
    },
  ]
) {
  Deno.test(name, async () => {
    const listener = evalArgs(LISTENER, [sent, received.length]);
    const heard = received.toSorted();
    assertEquals(await runEval(STARTER, [ignored, blocked, ...listener]), { heard, codes: [3, 4] });
  });
}
