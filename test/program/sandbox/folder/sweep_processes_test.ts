/**
 * Sweeps, and forwarded transcripts, with other processes: each test starts some.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { folderParts } from "../../../../src/sandbox/folder/folder_layout.ts";
import { keepTranscripts } from "../../../../src/sandbox/folder/private_folder.ts";
import { thisOwner } from "../../../../src/sandbox/folder/owner.ts";
import { processesOf } from "../../../leftovers.ts";
import { NOBODY, REMOVED, RESCUED, SweepGround, untilEnded } from "../../../sandbox/ground.ts";

/** Starts a process in a session and with a config dir of its own; returns once it runs. */
async function startIn(configDir: string) {
  const child = new Deno.Command("setsid", {
    args: ["cat"],
    env: { CLAUDE_CONFIG_DIR: configDir },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const [writer, reader] = [child.stdin.getWriter(), child.stdout.getReader()];
  await writer.write(new Uint8Array(1));
  await reader.read();
  return {
    child,
    end: async () => {
      await writer.close().catch(() => {});
      await reader.cancel();
      return await child.status;
    },
  };
}

Deno.test("sweep() removes the folder of a zombie", async () => {
  using ground = new SweepGround();
  // `sleep` takes the shell's place, and never reaps the shell's child.
  const shell = new Deno.Command("sh", {
    args: ["-c", "sh -c 'cut -d\" \" -f1,22 /proc/$$/stat' & exec sleep 1000"],
    stdout: "piped",
  }).spawn();
  const reader = shell.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const [pid, startTime = ""] = ((await reader.read()).value ?? "").trim().split(" ");
    ground.leave({ pid: Number(pid), startTime });
    await untilEnded(Number(pid));
    assertEquals(ground.sweepOne(), REMOVED);
  } finally {
    shell.kill("SIGKILL");
    await shell.status;
    await reader.cancel();
  }
});

Deno.test("sweep() rescues a finished run without ending its processes", async () => {
  using ground = new SweepGround();
  const path = ground.leave({}, { "-w/s1.jsonl": "new\n" });
  const transcripts = { to: ground.user, resumed: {} };
  // The process that carried out the run goes on, and so do processes that its tools started.
  const owner = { ...thisOwner(), path, transcripts, pidNamespace: "pid:[1]" };
  const kept = keepTranscripts(path, owner);
  assertEquals(kept, `${ground.runs}/0-0-0123abcd`);
  const started = await Promise.all(
    [path, kept].map((folder) => startIn(folderParts(folder).configDir)),
  );
  assertEquals(ground.sweepOne(), RESCUED);
  assertEquals(ground.left, []);
  for (const { end } of started) assertEquals((await end()).code, 0);
});

Deno.test("sweep() ends running processes before it rescues transcripts", async () => {
  using ground = new SweepGround();
  const path = ground.leave({}, { "-w/s1.jsonl": "new\n" });
  const script = `trap 'echo saved >>.claude/projects/-w/s1.jsonl; exit' TERM
    env -i setsid sh -c "trap '' TERM; echo up; sleep 1000 & wait; sleep 1000" sh ${path} &
    sleep 1000 & wait`;
  const child = new Deno.Command("setsid", {
    args: ["sh", "-c", script],
    cwd: path,
    env: { CLAUDE_CONFIG_DIR: folderParts(path).configDir },
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const headless = await startIn(folderParts(path).helperDir);
  const reader = child.stdout.getReader();
  await reader.read();
  assertEquals(ground.sweepOne(), { ...REMOVED, rescued: 1 });
  assertEquals(processesOf(path), []);
  assertEquals(ground.transcript("-w/s1.jsonl"), "new\nsaved\n");
  await Promise.all([child.status, headless.end()]);
  await reader.cancel();
});

Deno.test("sweep() ends no process of another folder", async () => {
  using ground = new SweepGround();
  const { pid, startTime } = thisOwner();
  const run = `${ground.path}/claude-print-${pid}-${startTime}-0123abcd`;
  const other = await startIn(folderParts(run).configDir);
  for (const owner of [{ path: run }, { path: run, bootId: "another" }]) {
    ground.leave(owner);
    assertEquals(ground.sweepOne(), REMOVED);
  }
  assertEquals((await other.end()).code, 0);
  // No process of another boot is left, so the process that names the folder is not the run's.
  const rebooted = await startIn(folderParts(ground.leave({ bootId: "another" })).configDir);
  assertEquals(ground.sweepOne(), REMOVED);
  assertEquals((await rebooted.end()).code, 0);
});

Deno.test("concurrent sweeps rescue and remove each folder once", async () => {
  using ground = new SweepGround();
  const folders = 20;
  const resumed = { "-w/s1.jsonl": 4 };
  ground.write({ "-w/s1.jsonl": "old\n" });
  const transcripts = { to: ground.user, resumed };
  for (let index = 0; index < folders; index++) {
    ground.leave({ pid: NOBODY + index, transcripts }, { "-w/s1.jsonl": `old\nline ${index}\n` });
  }
  const script = `
    import { sweep } from ${
    JSON.stringify(import.meta.resolve("../../../../src/sandbox/folder/sweep.ts"))
  };
    Deno.stdin.readSync(new Uint8Array(1));
    const swept = sweep(${JSON.stringify({ places: [ground.tmp], userConfigDir: ground.user })});
    console.log(JSON.stringify(swept.map(({ verdict }) => verdict)));
  `;
  const sweepers = [1, 2].map(() =>
    new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-lock", "--no-config", script],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn()
  );
  await Promise.all(sweepers.map(({ stdin }) => stdin.close()));
  const outputs = await Promise.all(sweepers.map((sweeper) => sweeper.output()));
  const verdicts = outputs.flatMap(({ stdout }) => JSON.parse(new TextDecoder().decode(stdout)));
  assertEquals(verdicts.filter((verdict) => verdict === "removed").length, folders);
  assertEquals(verdicts.filter((verdict) => verdict === "kept"), []);
  assertEquals(ground.left, []);
  const lines = ground.transcript("-w/s1.jsonl").trimEnd().split("\n");
  assertEquals(new Set(lines).size, folders + 1);
  assertEquals(lines.length, folders + 1);
});

Deno.test("forwardTranscripts() leaves no partial file on a full disk", async () => {
  using ground = new SweepGround();
  const from = `${ground.path}/from`;
  ground.write({
    [`${from}/projects/-w/new.jsonl`]: "x".repeat(100_000),
    [`${from}/projects/-w/old.jsonl`]: `old\n${"y".repeat(100_000)}`,
    "-w/old.jsonl": "old\n",
  });
  // A file size limit fails writes as a full disk does, halfway through.
  const script = `
    import { forwardTranscripts } from ${
    JSON.stringify(
      new URL("../../../../src/sandbox/transcripts/forward_transcripts.ts", import.meta.url).href,
    )
  };
    const { failures } = forwardTranscripts({
      from: ${JSON.stringify(from)},
      to: ${JSON.stringify(ground.user)},
      resumed: { "-w/old.jsonl": 4 },
    });
    console.log(failures.length);
  `;
  const { stdout } = await new Deno.Command("sh", {
    args: [
      "-c",
      `trap '' XFSZ; ulimit -f 20; exec "$0" eval --no-lock --no-config "$1"`,
      Deno.execPath(),
      script,
    ],
    env: { DENO_NO_UPDATE_CHECK: "1" },
  }).output();
  assertEquals(new TextDecoder().decode(stdout).trim(), "2");
  assertEquals([...Deno.readDirSync(`${ground.user}/projects/-w`)].map(({ name }) => name), [
    "old.jsonl",
  ]);
  assertEquals(ground.transcript("-w/old.jsonl"), "old\n");
});
