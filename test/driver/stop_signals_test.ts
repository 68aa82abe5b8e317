import { assertEquals } from "@std/assert";
import { StopSignals } from "../../src/driver/stop_signals.ts";
import { STOP_SIGNALS } from "../../src/wire/stop_signal.ts";
import { startProgram } from "../start_program.ts";

const module = (path: string) => JSON.stringify(import.meta.resolve(`../../${path}`));

const LISTENED = Object.keys(STOP_SIGNALS).filter((name) => name !== "SIGPIPE");

/** Sends itself some signals one after the other, and says which of the last were heard and how its children ended. */
const LISTENER = `
  import { listenToSignals } from ${module("ffi/processes/own_signals.ts")};
  import { waitFor } from ${module("ffi/processes/process.ts")};
  import { spawn } from ${module("ffi/processes/spawn.ts")};
  import { StopSignals } from ${module("src/driver/stop_signals.ts")};
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

/** Becomes that program, with some signals ignored, some blocked and all others as they are at a login. */
const STARTER = `
  import { exec } from ${module("ffi/processes/exec.ts")};
  import { libc } from ${module("ffi/libc.ts")};
  import { SIGNALS } from ${module("ffi/processes/signals.ts")};
  const [ignored, blocked, ...args] = JSON.parse(Deno.args[0]);
  for (const [name, number] of Object.entries(SIGNALS)) {
    libc().signal(number, ignored.includes(name) ? Deno.UnsafePointer.create(1n) : null);
  }
  const set = new Uint8Array(128);
  for (const name of blocked) set[SIGNALS[name] - 1 >> 3] |= 1 << (SIGNALS[name] - 1 & 7);
  libc().sigprocmask(2, set, null);
  exec(Deno.execPath(), args);
`;

async function listen(
  { ignored = [], blocked = [], sent, awaited }: {
    readonly ignored?: readonly string[];
    readonly blocked?: readonly string[];
    readonly sent: readonly string[];
    readonly awaited: number;
  },
): Promise<unknown> {
  const program = (code: string, args: unknown) => [
    ...["eval", "--quiet", "--no-config", "--no-lock", code, JSON.stringify(args)],
  ];
  const args = program(STARTER, [ignored, blocked, ...program(LISTENER, [sent, awaited])]);
  const { code, stdout, stderr } = await startProgram([Deno.execPath(), ...args], {
    env: { PATH: "/usr/bin:/bin", NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
    cwd: "/",
  }).ended;
  assertEquals([code, stderr], [0, ""]);
  return JSON.parse(stdout);
}

Deno.test("StopSignals hears every signal that a batch system sends", async () => {
  const heard = LISTENED.toSorted();
  const codes = [3, 4];
  assertEquals(await listen({ sent: LISTENED, awaited: LISTENED.length }), { heard, codes });
});

Deno.test("StopSignals leaves alone what was ignored, but for what asks any program to end, and hears what was blocked", async () => {
  const ignored = ["SIGHUP", "SIGUSR1", "SIGINT", "SIGTERM", "SIGCHLD"];
  const blocked = ["SIGALRM", "SIGTERM", "SIGCHLD"];
  const heard = ["SIGALRM", "SIGINT", "SIGTERM"];
  const sent = ["SIGHUP", "SIGUSR1", ...heard];
  const codes = [3, 4];
  assertEquals(await listen({ ignored, blocked, sent, awaited: heard.length }), { heard, codes });
});

Deno.test("StopSignals tells a limit that the kernel goes on to signal once", () => {
  using signals = new StopSignals({ listen: false });
  for (const name of ["SIGXFSZ", "SIGINT", "SIGXFSZ", "SIGINT"] as const) signals.raise(name);
  assertEquals(signals.take(), ["SIGXFSZ", "SIGINT", "SIGINT"]);
  signals.raise("SIGXFSZ");
  assertEquals(signals.take(), []);
});
