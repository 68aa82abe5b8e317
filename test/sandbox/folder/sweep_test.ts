import { assertEquals, assertMatch } from "@std/assert";
import { folderParts } from "../../../src/sandbox/folder/folder_layout.ts";
import { noteGivenId } from "../../../src/sandbox/folder/private_folder.ts";
import { thisOwner, writeOwner } from "../../../src/sandbox/folder/owner.ts";
import { sweep } from "../../../src/sandbox/folder/sweep.ts";
import { NOWHERE } from "../../nowhere.ts";
import { NOBODY, REMOVED, RESCUED, SweepGround } from "../ground.ts";

Deno.test("sweep() removes only the folder of a killed run", () => {
  using ground = new SweepGround();
  ground.leave();
  const others = [`${ground.tmp}/1-1-0123abcd`, `${ground.runs}/1-1-x`];
  for (const path of others) Deno.mkdirSync(path, { mode: 0o700 });
  assertEquals(ground.sweepOne(), REMOVED);
  assertEquals(sweep({ places: [NOWHERE], userConfigDir: NOWHERE }), []);
  assertEquals(ground.left.toSorted(), others);
});

Deno.test("sweep() gives prompts the ids of their callers", () => {
  const ids = ["1", "2", "3"].map((last) => `3b241101-e2bb-4255-8caf-4136c566a96${last}`);
  const lines = (named: readonly string[]) =>
    named.map((uuid) => `${JSON.stringify({ uuid })}\n`).join("");
  // A transcript that cannot be brought home is kept, with the ids.
  for (const isInTheWay of [false, true]) {
    using ground = new SweepGround();
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

Deno.test("sweep() judges a folder by its owner", () => {
  const rows = [
    [thisOwner(), "live"],
    // Another process has the pid of the owner.
    [{ pid: Deno.pid, startTime: "1" }, "removed"],
    // The machine was booted again.
    [{ bootId: "another", pidNamespace: "pid:[1]" }, "removed"],
    [{ pidNamespace: "pid:[1]" }, "foreign"],
    [{ bootId: "another", host: "another" }, "foreign"],
  ] as const;
  for (const [owner, verdict] of rows) {
    using ground = new SweepGround();
    const path = ground.leave(owner);
    const reason = {
      live: `process ${Deno.pid} uses it`,
      removed: "its run was killed",
      foreign: "processes of its container or machine cannot be seen from here",
    }[verdict];
    assertEquals(ground.sweepOne(), { verdict, reason, rescued: 0 });
    assertEquals(ground.left, verdict === "removed" ? [] : [path]);
  }
});

Deno.test("sweep() ignores links and folders that others may enter", () => {
  using ground = new SweepGround();
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

Deno.test("sweep() judges a folder without a valid owner.json by name", () => {
  for (const owner of ["missing", "broken"] as const) {
    using ground = new SweepGround();
    ground.leave(owner);
    assertEquals(ground.sweepOne(), REMOVED);
    const { pid, startTime } = thisOwner();
    const path = `${ground.runs}/${pid}-${startTime}-0123abcd`;
    Deno.mkdirSync(path, { recursive: true, mode: 0o700 });
    assertEquals(ground.sweepOne().verdict, "live");
    assertEquals(ground.left, [path]);
  }
});

Deno.test("sweep() removes a folder that was being filled", () => {
  using ground = new SweepGround();
  const path = ground.leave({}, { "-w/s1.jsonl": "old\n" });
  writeOwner(path, { ...thisOwner(), pid: NOBODY, startTime: "1", path });
  ground.write({ "-w/s1.jsonl": "old\n" });
  assertEquals(ground.sweepOne(), REMOVED);
  assertEquals(ground.transcript("-w/s1.jsonl"), "old\n");
});

Deno.test("sweep() keeps a transcript of an unknown owner", () => {
  using ground = new SweepGround();
  const path = ground.leave("broken", { "-w/s1.jsonl": "new\n" });
  assertEquals(ground.sweepOne().verdict, "kept");
  assertEquals(ground.left, [path]);
});

Deno.test("sweep() rescues new transcripts and new lines", () => {
  using ground = new SweepGround();
  ground.write({ "-w/s1.jsonl": "old\n", "-w/s2.jsonl": "old\n" });
  const resumed = { "-w/s1.jsonl": 4, "-w/s2.jsonl": 4 };
  const transcripts = { to: ground.user, resumed };
  const path = ground.leave({ transcripts });
  const named = (configDir: string) => `old\n{"saved":"${configDir}/projects/x"}\n`;
  ground.leaveFiles(path, {
    "-w/s1.jsonl": named(folderParts(path).configDir),
    // Copied to be forked: the fork is another file.
    "-w/s2.jsonl": "old\n",
    "-w/fork.jsonl": "old\nforked\n",
    "-w/fork/subagents/a.jsonl": "sub\n",
  });
  assertEquals(ground.sweepOne(), { ...REMOVED, rescued: 3 });
  assertEquals(ground.transcript("-w/s1.jsonl"), named(ground.user));
  assertEquals(ground.transcript("-w/s2.jsonl"), "old\n");
  assertEquals(ground.transcript("-w/fork.jsonl"), "old\nforked\n");
  assertEquals(ground.transcript("-w/fork/subagents/a.jsonl"), "sub\n");
  assertEquals(ground.left, []);
});

Deno.test("sweep() keeps a transcript until it can be rescued", () => {
  using ground = new SweepGround();
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

Deno.test("sweep() writes to the user's config dir only", () => {
  using ground = new SweepGround();
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

Deno.test("sweep() removes transcripts for a lent home that is gone", () => {
  const rows = [
    [{ pid: NOBODY, startTime: "2" }, "removed"],
    [thisOwner(), "kept"],
  ] as const;
  for (const [lender, verdict] of rows) {
    using ground = new SweepGround();
    const name = `${lender.pid}-${lender.startTime}-4567abcd`;
    const transcripts = { to: `${ground.runs}/${name}/0/.claude`, resumed: {} };
    ground.leave({ transcripts }, { "-w/s1.jsonl": "new\n" });
    assertEquals(ground.sweepOne().verdict, verdict);
  }
});

Deno.test("sweep() removes empty folders that Claude Code made", () => {
  using ground = new SweepGround();
  const litter = [`${ground.tmp}/cc-socks`, `${ground.tmp}/claude-${Deno.uid()}`];
  for (const [owner, left] of [[{}, litter], [{ litter }, []]] as const) {
    for (const each of litter) Deno.mkdirSync(each, { recursive: true });
    ground.leave(owner);
    assertEquals(ground.sweepOne(), REMOVED);
    assertEquals(ground.left.toSorted(), left);
  }
});

Deno.test("sweep() with dryRun changes nothing", () => {
  using ground = new SweepGround();
  const path = ground.leave({}, { "-w/s1.jsonl": "new\n" });
  const abandoned = { ...REMOVED, verdict: "abandoned" } as const;
  assertEquals(ground.sweepOne({ dryRun: true }), abandoned);
  assertEquals(ground.sweepOne({ dryRun: true }), abandoned);
  assertEquals(ground.left, [path]);
  assertEquals([...Deno.readDirSync(ground.user)], []);
});
