import { assert, assertEquals, assertMatch } from "@std/assert";
import { folderOfRuns } from "../../../src/sandbox/places/folder_of_runs.ts";
import { folderParts } from "../../../src/sandbox/folder/folder_parts.ts";
import { noteGivenId } from "../../../src/sandbox/folder/given_ids.ts";
import { keepTranscripts } from "../../../src/sandbox/folder/keep_transcripts.ts";
import { type Owner, thisOwner, writeOwner } from "../../../src/sandbox/folder/owner.ts";
import { sweep, type SweptFolder } from "../../../src/sandbox/folder/sweep.ts";
import { processesOf } from "../../leftovers.ts";
import { until } from "../../standin/stand_in.ts";
import { NOWHERE } from "../../nowhere.ts";

/** No process has this pid: it is over the kernel's limit (proc(5), pid_max). */
const NOBODY = 4_194_305;

/** A temp folder with private folders in it, and a user's config dir. */
class Ground implements Disposable {
  readonly path = Deno.realPathSync(Deno.makeTempDirSync());
  readonly tmp = `${this.path}/tmp`;
  readonly runs = folderOfRuns(this.tmp);
  readonly user = `${this.path}/user`;

  constructor() {
    Deno.mkdirSync(this.tmp);
    Deno.mkdirSync(this.user);
  }

  /** Makes the private folder of a run that was killed, or of another owner. */
  leave(
    owner: Partial<Owner> | "missing" | "broken" = {},
    files: Readonly<Record<string, string>> = {},
  ): string {
    const { pid = NOBODY, startTime = "1" } = typeof owner === "object" ? owner : {};
    const path = `${this.runs}/${pid}-${startTime}-0123abcd`;
    const { own, configDir } = folderParts(path);
    Deno.mkdirSync(this.runs, { recursive: true, mode: 0o700 });
    Deno.mkdirSync(path, { mode: 0o700 });
    this.write({ [`${own}/prompt`]: "Hello" });
    if (owner === "broken") this.write({ [`${own}/owner.json`]: '{"pid":1' });
    if (typeof owner === "object") {
      const transcripts = { to: this.user, resumed: {} };
      const dead = { ...thisOwner(), pid, startTime, path, transcripts };
      writeOwner(path, { ...dead, ...owner });
    }
    for (const [name, text] of Object.entries(files)) {
      this.write({ [`${configDir}/projects/${name}`]: text });
    }
    return path;
  }

  /** Writes the user's transcripts, or files by their path. */
  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      const path = name.startsWith("/") ? name : `${this.user}/projects/${name}`;
      Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      Deno.writeTextFileSync(path, text);
    }
  }

  transcript(name: string): string {
    return Deno.readTextFileSync(`${this.user}/projects/${name}`);
  }

  sweep(options: { readonly dryRun?: boolean } = {}): readonly SweptFolder[] {
    return sweep({ places: [this.tmp], userConfigDir: this.user, ...options });
  }

  /** Sweeps and returns what became of the only folder. */
  sweepOne(options: { readonly dryRun?: boolean } = {}): Omit<SweptFolder, "path"> {
    const [swept, ...more] = this.sweep(options);
    assertEquals(more, []);
    assert(swept !== undefined, "nothing was found");
    const { path: _, ...rest } = swept;
    return rest;
  }

  get left(): readonly string[] {
    const list = (folder: string) =>
      [...Deno.readDirSync(folder)].map(({ name }) => `${folder}/${name}`);
    return list(this.tmp).flatMap((path) => path === this.runs ? list(path) : path);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

const REMOVED = { verdict: "removed", reason: "its run was killed", rescued: 0 } as const;
const RESCUED = {
  verdict: "removed",
  reason: "its run could not bring its transcript home",
  rescued: 1,
} as const;

Deno.test("sweep() removes the folder of a run that was killed, and nothing beside it", () => {
  using ground = new Ground();
  ground.leave();
  const others = [`${ground.tmp}/1-1-0123abcd`, `${ground.runs}/1-1-x`];
  for (const path of others) Deno.mkdirSync(path, { mode: 0o700 });
  assertEquals(ground.sweepOne(), REMOVED);
  assertEquals(ground.left.toSorted(), others);
});

Deno.test("sweep() gives prompts the ids that callers gave them, as far as that was noted", () => {
  const ids = ["1", "2", "3"].map((last) => `3b241101-e2bb-4255-8caf-4136c566a96${last}`);
  const lines = (named: readonly string[]) =>
    named.map((uuid) => `${JSON.stringify({ uuid })}\n`).join("");
  // What cannot be brought home is kept with what was noted, for the next sweep.
  for (const isInTheWay of [false, true]) {
    using ground = new Ground();
    const folder = ground.leave({}, { "-w/s.jsonl": lines(ids) });
    noteGivenId(folder, { line: `${ids[0]}`, given: "first" });
    const cut = `\n["${ids[0]}","first"]\n5\n[1]\n["${ids[2]}","thi`;
    ground.write({ [`${folderParts(folder).own}/given-ids`]: cut });
    noteGivenId(folder, { line: `${ids[1]}`, given: "second" });
    if (isInTheWay) {
      Deno.mkdirSync(`${ground.user}/projects/-w/s.jsonl`, { recursive: true });
      assertEquals(ground.sweepOne().verdict, "kept");
      Deno.removeSync(`${ground.user}/projects/-w/s.jsonl`);
    }
    assertEquals(ground.sweepOne().rescued, 1);
    assertEquals(ground.transcript("-w/s.jsonl"), lines(["first", "second", `${ids[2]}`]));
    assertEquals(ground.left, []);
  }
});

Deno.test("sweep() finds nothing in a folder that is not there", () => {
  assertEquals(sweep({ places: [NOWHERE], userConfigDir: NOWHERE }), []);
});

Deno.test("sweep() leaves the folder of a run that lives", () => {
  using ground = new Ground();
  const path = ground.leave(thisOwner());
  assertEquals(ground.sweepOne(), {
    verdict: "live",
    reason: `process ${Deno.pid} uses it`,
    rescued: 0,
  });
  assertEquals(ground.left, [path]);
});

Deno.test("sweep() is not taken in by a pid that another process has since", () => {
  using ground = new Ground();
  ground.leave({ pid: Deno.pid, startTime: "1" });
  assertEquals(ground.sweepOne(), REMOVED);
});

Deno.test("sweep() takes an owner that is waited for, but has ended, for dead", async () => {
  using ground = new Ground();
  // The shell's child has ended when its output has, and is reaped only by the shell's wait.
  const shell = new Deno.Command("sh", {
    args: ["-c", "sh -c 'cut -d\" \" -f1,22 /proc/$$/stat' & exec sleep 1000"],
    stdout: "piped",
  }).spawn();
  const reader = shell.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const [pid, startTime = ""] = ((await reader.read()).value ?? "").trim().split(" ");
    ground.leave({ pid: Number(pid), startTime });
    const isEnded = () => Deno.readTextFileSync(`/proc/${pid}/stat`).includes(" Z ");
    while (!isEnded()) await new Promise((done) => setTimeout(done, 5));
    assertEquals(ground.sweepOne(), REMOVED);
  } finally {
    shell.kill("SIGKILL");
    await shell.status;
    await reader.cancel();
  }
});

Deno.test("sweep() takes every owner from before a reboot for dead", () => {
  using ground = new Ground();
  ground.leave({ bootId: "another", pidNamespace: "pid:[1]" });
  assertEquals(ground.sweepOne(), REMOVED);
});

for (
  const [where, owner] of [
    ["container", { pidNamespace: "pid:[1]" }],
    ["machine", { bootId: "another", host: "another" }],
  ] as const
) {
  Deno.test(`sweep() leaves what belongs to another ${where}, and says so`, () => {
    using ground = new Ground();
    const path = ground.leave(owner);
    assertEquals(ground.sweepOne(), {
      verdict: "foreign",
      reason: "processes of its container or machine cannot be seen from here",
      rescued: 0,
    });
    assertEquals(ground.left, [path]);
  });
}

Deno.test("sweep() follows no link and enters no folder that others may enter", () => {
  using ground = new Ground();
  const path = ground.leave();
  const elsewhere = `${ground.path}/elsewhere`;
  Deno.renameSync(path, elsewhere);
  Deno.symlinkSync(elsewhere, path);
  assertEquals(ground.sweepOne().verdict, "foreign");
  Deno.removeSync(path);
  Deno.renameSync(elsewhere, path);
  Deno.chmodSync(path, 0o750);
  assertEquals(ground.sweepOne(), {
    verdict: "foreign",
    reason: "others may enter it",
    rescued: 0,
  });
  assertEquals(Deno.readTextFileSync(`${folderParts(path).own}/prompt`), "Hello");
});

for (const owner of ["missing", "broken"] as const) {
  Deno.test(`sweep() judges a folder whose owner's file is ${owner} by its name`, () => {
    using ground = new Ground();
    ground.leave(owner);
    assertEquals(ground.sweepOne(), REMOVED);
    const { pid, startTime } = thisOwner();
    const path = `${ground.runs}/${pid}-${startTime}-0123abcd`;
    Deno.mkdirSync(ground.runs, { mode: 0o700 });
    Deno.mkdirSync(path, { mode: 0o700 });
    assertEquals(ground.sweepOne().verdict, "live");
    assertEquals(ground.left, [path]);
  });
}

Deno.test("sweep() removes a folder whose run had just begun to fill it, a session to resume in it", () => {
  using ground = new Ground();
  const path = ground.leave({}, { "-w/s1.jsonl": "old\n" });
  writeOwner(path, { ...thisOwner(), pid: NOBODY, startTime: "1", path });
  ground.write({ "-w/s1.jsonl": "old\n" });
  assertEquals(ground.sweepOne(), REMOVED);
  assertEquals(ground.transcript("-w/s1.jsonl"), "old\n");
});

Deno.test("sweep() keeps a transcript of which nothing tells whose it is", () => {
  using ground = new Ground();
  const path = ground.leave("broken", { "-w/s1.jsonl": "new\n" });
  assertEquals(ground.sweepOne().verdict, "kept");
  assertEquals(ground.left, [path]);
});

Deno.test("sweep() rescues new transcripts and what is new in resumed ones", () => {
  using ground = new Ground();
  ground.write({ "-w/s1.jsonl": "old\n", "-w/s2.jsonl": "old\n" });
  const resumed = { "-w/s1.jsonl": 4, "-w/s2.jsonl": 4 };
  const transcripts = { to: ground.user, resumed };
  ground.leave({ transcripts }, {
    "-w/s1.jsonl": "old\nnew\n",
    // Copied in to be forked: nothing was added to it, and the fork is a file of its own.
    "-w/s2.jsonl": "old\n",
    "-w/fork.jsonl": "old\nforked\n",
    "-w/fork/subagents/a.jsonl": "sub\n",
  });
  assertEquals(ground.sweepOne(), { ...REMOVED, rescued: 3 });
  assertEquals(ground.transcript("-w/s1.jsonl"), "old\nnew\n");
  assertEquals(ground.transcript("-w/s2.jsonl"), "old\n");
  assertEquals(ground.transcript("-w/fork.jsonl"), "old\nforked\n");
  assertEquals(ground.transcript("-w/fork/subagents/a.jsonl"), "sub\n");
  assertEquals(ground.left, []);
});

Deno.test("sweep() keeps a transcript that it cannot rescue, and nothing else, and rescues it later", () => {
  using ground = new Ground();
  ground.leave({}, { "-w/s1.jsonl": "new\n" });
  ground.write({ [`${ground.user}/projects`]: "a file where a folder should be" });
  const kept = `${ground.runs}/0-0-0123abcd`;
  for (let tries = 0; tries < 2; tries++) {
    const [{ path, verdict, reason, rescued } = {}] = ground.sweep();
    assertEquals([path, verdict, rescued], [kept, "kept", 0]);
    assertMatch(reason ?? "", /^Cannot copy the transcript to .*\/projects\/-w\/s1\.jsonl: /u);
    assertEquals(ground.left, [kept]);
    const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name);
    assertEquals(names(kept).toSorted(), [".claude", "own"]);
    assertEquals(names(`${kept}/own`), ["owner.json"]);
  }
  Deno.removeSync(`${ground.user}/projects`);
  assertEquals(ground.sweepOne({ dryRun: true }), { ...RESCUED, verdict: "abandoned", rescued: 0 });
  assertEquals(ground.sweepOne(), RESCUED);
  assertEquals(ground.transcript("-w/s1.jsonl"), "new\n");
});

Deno.test("sweep() rescues what a run left that is over, wherever that was, and ends nothing of it", async () => {
  using ground = new Ground();
  const path = ground.leave({}, { "-w/s1.jsonl": "new\n" });
  const transcripts = { to: ground.user, resumed: {} };
  // The process that carried out the run goes on, and so does what its tools left running.
  const owner = { ...thisOwner(), path, transcripts, pidNamespace: "pid:[1]" };
  const kept = keepTranscripts(path, owner);
  assertEquals(kept, `${ground.runs}/0-0-0123abcd`);
  const [mine, its] = [path, kept].map((folder) =>
    new Deno.Command("setsid", {
      args: ["sleep", "1000"],
      env: { CLAUDE_CONFIG_DIR: folderParts(folder).configDir },
    }).spawn()
  );
  assertEquals(ground.sweepOne(), RESCUED);
  assertEquals(ground.left, []);
  for (const child of [mine, its]) {
    child?.kill("SIGKILL");
    assertEquals((await child?.status)?.signal, "SIGKILL");
  }
});

Deno.test("sweep() writes into no config dir but the user's", () => {
  using ground = new Ground();
  const to = `${ground.path}/elsewhere`;
  const transcripts = { to, resumed: {} };
  const path = ground.leave({ transcripts }, { "-w/s1.jsonl": "new\n" });
  assertEquals(ground.sweepOne(), {
    verdict: "kept",
    reason: `its transcript belongs to the config dir ${to}`,
    rescued: 0,
  });
  assertEquals(ground.left, [path]);
});

Deno.test("sweep() removes what a run has left in a home that a command had lent it, once that is killed too", () => {
  for (
    const [lender, verdict] of [
      [{ pid: NOBODY, startTime: "2" }, "removed"],
      [thisOwner(), "kept"],
    ] as const
  ) {
    using ground = new Ground();
    const name = `${lender.pid}-${lender.startTime}-4567abcd`;
    const transcripts = { to: `${ground.runs}/${name}/0/.claude`, resumed: {} };
    ground.leave({ transcripts }, { "-w/s1.jsonl": "new\n" });
    assertEquals(ground.sweepOne().verdict, verdict);
  }
});

Deno.test("sweep() ends what still runs before it rescues what that has written", async () => {
  using ground = new Ground();
  const path = ground.leave({}, { "-w/s1.jsonl": "new\n" });
  const script = `trap 'echo saved >>.claude/projects/-w/s1.jsonl; exit' TERM
    env -i setsid sh -c "trap '' TERM; echo up; sleep 1000 & wait; sleep 1000" sh ${path} &
    while :; do sleep 0.01; done`;
  const child = new Deno.Command("setsid", {
    args: ["sh", "-c", script],
    cwd: path,
    env: { CLAUDE_CONFIG_DIR: folderParts(path).configDir },
    stdout: "piped",
    stderr: "null",
  }).spawn();
  // The headless one that was asked about the session, as it waits for a server.
  const twin = new Deno.Command("setsid", {
    args: ["sleep", "1000"],
    env: { CLAUDE_CONFIG_DIR: folderParts(path).twinDir },
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  assertEquals(ground.sweepOne(), { ...REMOVED, rescued: 1 });
  assertEquals(processesOf(path), []);
  assertEquals(ground.transcript("-w/s1.jsonl"), "new\nsaved\n");
  await Promise.all([child.status, twin.status]);
  await reader.cancel();
});

Deno.test("sweep() ends nothing that an owner's file names of another folder, that of a run among them", async () => {
  using ground = new Ground();
  const { pid, startTime } = thisOwner();
  const run = `${ground.path}/claude-print-${pid}-${startTime}-0123abcd`;
  const other = new Deno.Command("setsid", {
    args: ["sleep", "1000"],
    env: { CLAUDE_CONFIG_DIR: folderParts(run).configDir },
  }).spawn();
  try {
    for (const made of [{ path: run }, { path: run, bootId: "another" }]) {
      ground.leave(made);
      assertEquals(ground.sweepOne(), REMOVED);
    }
    // A process that is just being started has no environment to be seen; one that was killed never has.
    await until(
      () => Promise.resolve(processesOf(ground.path).length === 1),
      "the other process is there",
    );
  } finally {
    other.kill("SIGKILL");
    await other.status;
  }
});

Deno.test("sweep() removes the empty folders that Claude Code made for that run", () => {
  using ground = new Ground();
  const litter = [`${ground.tmp}/cc-socks`, `${ground.tmp}/claude-${Deno.uid()}`];
  for (const [owner, left] of [[{}, litter], [{ litter }, []]] as const) {
    for (const each of litter) Deno.mkdirSync(each, { recursive: true });
    ground.leave(owner);
    assertEquals(ground.sweepOne(), REMOVED);
    assertEquals(ground.left.toSorted(), left);
  }
});

Deno.test("sweep() with dryRun only says what it would remove", () => {
  using ground = new Ground();
  const path = ground.leave({}, { "-w/s1.jsonl": "new\n" });
  const abandoned = { ...REMOVED, verdict: "abandoned" } as const;
  assertEquals(ground.sweepOne({ dryRun: true }), abandoned);
  assertEquals(ground.sweepOne({ dryRun: true }), abandoned);
  assertEquals(ground.left, [path]);
  assertEquals([...Deno.readDirSync(ground.user)], []);
});

Deno.test("sweep() by several at once rescues and removes each folder once", async () => {
  using ground = new Ground();
  const folders = 40;
  const resumed = { "-w/s1.jsonl": 4 };
  ground.write({ "-w/s1.jsonl": "old\n" });
  const transcripts = { to: ground.user, resumed };
  for (let index = 0; index < folders; index++) {
    const path = ground.leave({ pid: NOBODY + index, transcripts }, {
      "-w/s1.jsonl": `old\nline ${index}\n`,
    });
    assert(path.length > 0);
  }
  const script = `
    import { sweep } from ${
    JSON.stringify(import.meta.resolve("../../../src/sandbox/folder/sweep.ts"))
  };
    Deno.stdin.readSync(new Uint8Array(1));
    const swept = sweep(${JSON.stringify({ places: [ground.tmp], userConfigDir: ground.user })});
    console.log(JSON.stringify(swept.map(({ verdict }) => verdict)));
  `;
  const sweepers = [1, 2, 3].map(() =>
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
