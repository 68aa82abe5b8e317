import { assert, assertEquals } from "@std/assert";
import { makeFifo } from "../../ffi/descriptors/pipe.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import {
  ChildFolders,
  FileSource,
  type HookInput,
  StatusSource,
} from "../../src/driver/inputs/file_source.ts";
import { SubagentSource, TranscriptSource } from "../../src/driver/inputs/transcript_source.ts";
import { McpSource } from "../../src/driver/inputs/debug_log.ts";
import { listShells, readTaskOutput } from "../../src/driver/inputs/shells/task_files.ts";

/** Runs a test with a new folder, and removes the folder. */
function testIn(name: string, test: (folder: string) => void | Promise<void>): void {
  Deno.test(name, async () => {
    const folder = Deno.makeTempDirSync();
    try {
      await test(folder);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  });
}

/** Appends to a file, in a folder that is made if needed. */
function append(path: string, text: string): void {
  Deno.mkdirSync(path.replace(/\/[^/]*$/u, ""), { recursive: true });
  Deno.writeTextFileSync(path, text, { append: true });
}

/** A line of a transcript with a word. */
const line = (word: string) => `${JSON.stringify({ word })}\n`;

/** A source of a session's transcript, in a config dir. */
function transcriptIn(configDir: string, { sessionId = "s1", resumed = {} } = {}) {
  const source = new TranscriptSource({
    configDir,
    sessionId,
    resumed: new Map(Object.entries(resumed)),
  });
  return {
    source,
    words: () => {
      source.find();
      return source.read().map((entry) => entry.type === "other" ? entry.line.word : entry);
    },
  };
}

testIn("TranscriptSource reads whole lines of the session's transcript", (folder) => {
  const { source, words } = transcriptIn(folder);
  assertEquals([words(), source.path], [[], undefined]);
  append(`${folder}/projects/-w/s1/subagents/a.jsonl`, "not this\n");
  const file = `${folder}/projects/-w/s1.jsonl`;
  append(file, line("one") + line("two").slice(0, 5));
  assertEquals(words(), ["one"]);
  append(file, line("two").slice(5) + line("thrée"));
  assertEquals([words(), source.path], [["two", "thrée"], file]);
  Deno.removeSync(`${folder}/projects`, { recursive: true });
  assertEquals(words(), []);
});

testIn("TranscriptSource skips resumed lines, but not those of a fork", (folder) => {
  const file = `${folder}/projects/-w/s1.jsonl`;
  append(file, line("old"));
  const resumed = { "-w/s1.jsonl": line("old").length };
  const { words } = transcriptIn(folder, { resumed });
  assertEquals(words(), []);
  append(file, line("new"));
  assertEquals(words(), ["new"]);
  const fork = transcriptIn(folder, { sessionId: "s2", resumed });
  append(`${folder}/projects/-w/s2.jsonl`, line("old") + line("new"));
  assertEquals(fork.words(), ["old", "new"]);
});

testIn("TranscriptSource ignores neighbours of the transcript", (folder) => {
  const { source, words } = transcriptIn(folder);
  const dir = `${folder}/projects/-w`;
  Deno.mkdirSync(`${dir}/folder.jsonl`, { recursive: true });
  Deno.symlinkSync("/none", `${dir}/link.jsonl`);
  Deno.symlinkSync("/none", `${folder}/projects/link`);
  makeFifo(`${dir}/fifo.jsonl`);
  append(`${dir}/s2.jsonl`, line("a hook's"));
  assertEquals([words(), source.path], [[], undefined]);
  append(`${dir}/s1.jsonl`, line("ours"));
  assertEquals([words(), source.path], [["ours"], `${dir}/s1.jsonl`]);
});

testIn("TranscriptSource follows a moved transcript and reads nothing twice", (folder) => {
  const { source, words } = transcriptIn(folder);
  const [before, after] = [`${folder}/projects/-w`, `${folder}/projects/-w-worktree`];
  append(`${before}/s1.jsonl`, line("one") + line("two").slice(0, 5));
  assertEquals(words(), ["one"]);
  Deno.renameSync(before, after);
  append(`${after}/s1.jsonl`, line("two").slice(5) + line("three"));
  assertEquals([words(), source.path], [["two", "three"], `${after}/s1.jsonl`]);
});

testIn("TranscriptSource reads nothing that replaces the transcript", (folder) => {
  const { words } = transcriptIn(folder);
  const file = `${folder}/projects/-w/s1.jsonl`;
  append(file, line("one"));
  assertEquals(words(), ["one"]);
  for (
    const replace of [
      () => Deno.mkdirSync(file),
      () => makeFifo(file),
      () => Deno.symlinkSync("/none", file),
      () => Deno.symlinkSync("/dev/zero", file),
      () => Deno.writeTextFileSync(file, ""),
    ]
  ) {
    Deno.removeSync(file);
    replace();
    assertEquals(words(), []);
  }
  Deno.removeSync(file);
  append(file, line("one") + line("two"));
  assertEquals(words(), ["two"]);
});

const NOTE = { toolUseId: "t", agentType: "Explore", description: "Look" };
const { toolUseId: _, ...UNCALLED } = NOTE;

/** The input of a subagent's line. */
const subagentLine = (
  word: string,
  more: { agentId: string; toolUseId?: string; background?: true },
) => ({
  type: "subagent",
  line: {
    subagent: { ...more, type: "Explore", description: "Look" },
    entry: { type: "other", line: { word } },
  },
});

/** A source of subagents, and the writers of their files. */
function subagentsIn(configDir: string, { mirrored }: { readonly mirrored: boolean }) {
  const projects = `${configDir}/projects`;
  const source = new SubagentSource({
    configDir,
    resumed: new Map([["-w/s1/subagents/agent-old.jsonl", line("old").length]]),
    mirrored,
  });
  assertEquals(source.read(`${projects}/-w/s1.jsonl`), []);
  const dir = `${projects}/-w/s1/subagents`;
  return {
    read: (slug = "-w"): readonly unknown[] => source.read(`${projects}/${slug}/s1.jsonl`),
    write: (agentId: string, text: string) => append(`${dir}/agent-${agentId}.jsonl`, text),
    note: (agentId: string, note: string | object) => {
      Deno.mkdirSync(dir, { recursive: true });
      const text = typeof note === "string" ? note : JSON.stringify(note);
      Deno.writeTextFileSync(`${dir}/agent-${agentId}.meta.json`, text);
    },
  };
}

testIn("SubagentSource reads lines once the subagent's note is there", (folder) => {
  const { read, write, note } = subagentsIn(folder, { mirrored: false });
  write("a1", line("one") + line("two").slice(0, 5));
  assertEquals(read(), []);
  note("a1", '{"toolUseId":');
  assertEquals(read(), []);
  note("a1", NOTE);
  const a1 = { agentId: "a1", toolUseId: "t" };
  assertEquals(read(), [subagentLine("one", a1)]);
  write("a1", line("two").slice(5));
  assertEquals(read(), [subagentLine("two", a1)]);
  for (
    const [agentId, meta, more] of [
      ["old", NOTE, { toolUseId: "t" }],
      ["skill", UNCALLED, {}],
      ["apart", { ...UNCALLED, requestShape: "background" }, { background: true }],
      ["called", { ...NOTE, requestShape: "background" }, { toolUseId: "t" }],
    ] as const
  ) {
    note(agentId, meta);
    write(agentId, (agentId === "old" ? line("old") : "") + line("new"));
    assertEquals(read(), [subagentLine("new", { agentId, ...more })]);
  }
  Deno.renameSync(`${folder}/projects/-w`, `${folder}/projects/-moved`);
  append(`${folder}/projects/-moved/s1/subagents/agent-a1.jsonl`, line("three"));
  assertEquals(read("-moved"), [subagentLine("three", a1)]);
});

testIn("SubagentSource reports each changed note if mirrored", (folder) => {
  const { read, write, note } = subagentsIn(folder, { mirrored: true });
  const noted = (agentId: string, note: object) => ({ type: "subagent-note", agentId, note });
  note("skill", UNCALLED);
  write("skill", line("one"));
  assertEquals(read(), [noted("skill", UNCALLED), subagentLine("one", { agentId: "skill" })]);
  for (const same of [UNCALLED, '{"agentType":', UNCALLED]) {
    note("skill", same);
    assertEquals(read(), []);
  }
  const finished = { ...UNCALLED, finished: true };
  note("skill", finished);
  assertEquals(read(), [noted("skill", finished)]);
  note("old", NOTE);
  write("old", line("old"));
  assertEquals(read(), [], "an earlier run reported it");
  write("old", line("new"));
  const old = { agentId: "old", toolUseId: "t" };
  assertEquals(read(), [noted("old", NOTE), subagentLine("new", old)]);
  write("old", line("newer"));
  assertEquals(read(), [subagentLine("newer", old)]);
  for (const each of [{ ...NOTE, finished: true }, NOTE]) {
    note("old", each);
    assertEquals(read(), [noted("old", each)]);
  }
});

testIn("a hook comes before what the child wrote after it", (configDir) => {
  const folder = `${configDir}/projects/-w`;
  Deno.mkdirSync(`${configDir}/sessions`);
  // The child writes whenever its files have just been read.
  let turn = 0;
  const hooks = (): readonly HookInput[] => {
    turn += 1;
    if (turn > 3) return [];
    const text = `${JSON.stringify({ turn })}\n`;
    append(`${folder}/s1.jsonl`, text);
    append(`${folder}/s1/subagents/agent-a.jsonl`, text);
    Deno.writeTextFileSync(`${folder}/s1/subagents/agent-a.meta.json`, '{"agentType":"x"}');
    Deno.writeTextFileSync(`${configDir}/sessions/7.json`, `{"status":"idle","updatedAt":${turn}}`);
    return [{ type: "hook", event: "Stop", payload: { turn } }];
  };
  using source = new FileSource({
    configDir,
    resumed: new Map(),
    sessionId: "s1",
    pid: 7,
    frames: true,
    mirrored: false,
    retries: undefined,
    hooks,
    now: () => 0,
  });
  const read = [1, 2, 3, 4].map(() => [...source.read()].map(({ type }) => type));
  const written = ["status", "transcript", "subagent", "read"];
  assertEquals(read, [["hook"], ["hook", ...written], ["hook", ...written], written]);
});

/** A source of the child's status, and its file. */
function statusIn(configDir: string) {
  Deno.mkdirSync(`${configDir}/sessions`);
  const source = new StatusSource({ configDir, pid: 7, sessionId: "s" });
  const write = (text: string, pid = 7) =>
    Deno.writeTextFileSync(`${configDir}/sessions/${pid}.json`, text);
  return { source, write, file: `${configDir}/sessions/7.json` };
}

testIn("StatusSource reports each complete status once", (folder) => {
  const { source, write } = statusIn(folder);
  assertEquals(source.read(), undefined);
  for (
    const [text, status] of [
      ["", undefined],
      [
        '{"status":"waiting","waitingFor":"dialog open"}',
        { status: "waiting", waitingFor: "dialog open" },
      ],
      ['{"status":"busy"', undefined],
      ['{"status":"busy"}', { status: "busy" }],
      [
        '{"status":"idle","updatedAt":900,"version":"2.1.330"}',
        { status: "idle", updatedAt: 900, version: "2.1.330" },
      ],
      ['{"pid":7}', undefined],
    ] as const
  ) {
    write(text);
    assertEquals([source.read(), source.read()], [status, undefined]);
  }
});

testIn("StatusSource rereads only a file with a new time", (folder) => {
  const { source, write, file } = statusIn(folder);
  const now = Date.now() / 1000;
  const writeAt = (status: string, time: number) => {
    write(JSON.stringify({ status }));
    Deno.utimeSync(file, time, time);
  };
  writeAt("busy", now - 100);
  assertEquals(source.read()?.status, "busy");
  writeAt("idle", now - 100);
  assertEquals(source.read(), undefined);
  writeAt("idle", now - 50);
  assertEquals([source.read()?.status, source.read()], ["idle", undefined]);
  // A file can be written again within the same tick of the disk's clock.
  for (const status of ["idle", "busy"]) {
    writeAt(status, now + 100);
    assertEquals(source.read()?.status, status);
  }
});

testIn("StatusSource finds the session's file under another pid", (folder) => {
  const { source, write } = statusIn(folder);
  write('{"sessionId":"another","status":"busy"}', 3);
  assertEquals(source.read(), undefined);
  for (const status of ["idle", "busy"]) {
    write(JSON.stringify({ sessionId: "s", status }), 2);
    assertEquals(source.read(), { status });
  }
});

testIn("McpSource counts connections in the debug log", (folder) => {
  const log = `${folder}/debug.log`;
  const source = new McpSource(log);
  assertEquals(source.read(), undefined, "no log yet");
  const write = (server: string, text: string) =>
    append(log, `T [DEBUG] MCP server "${server}": ${text}\n`);
  write("a", "Starting connection with timeout of 30000ms");
  write("b", "Starting connection with timeout of 30000ms");
  write("a", "Successfully connected (transport: stdio) in 3ms");
  assertEquals(source.read(), { begun: 2, done: 0, settled: {} });
  assertEquals(source.read(), undefined);
  write("a", "Channel notifications skipped: …");
  assertEquals(source.read(), { begun: 2, done: 1, settled: { a: "connected" } });
  write("b", "Connection failed after 5ms");
  assertEquals(source.read(), { begun: 2, done: 2, settled: { a: "connected", b: "failed" } });
  // A server writes its own text in one line.
  const quoted = '[DEBUG] MCP server "c": Connection failed '.repeat(1000);
  append(log, `T [ERROR] MCP server "a" Server stderr: ${quoted}\n`);
  assertEquals(source.read(), undefined);
});

testIn("changes below watched folders are noticed, also after recreation", async (root) => {
  const [session, subagents] = [`${root}/session`, `${root}/session/subagents`];
  using poller = new Poller();
  using folders = new ChildFolders();
  const watch = () => folders.watch([root, session, subagents]);
  const noticed = async () => folders.hasChanged(await poller.wait(folders.interests, 0));
  assertEquals([watch(), await noticed()], [true, false]);
  Deno.mkdirSync(session);
  assertEquals([await noticed(), await noticed(), watch()], [true, false, true]);
  append(`${subagents}/agent.jsonl`, "{}\n");
  assertEquals([await noticed(), watch(), await noticed()], [true, true, false]);
  append(`${subagents}/agent.jsonl`, "{}\n");
  assertEquals([await noticed(), await noticed()], [true, false]);
  Deno.removeSync(session, { recursive: true });
  Deno.mkdirSync(session);
  assertEquals([await noticed(), watch()], [true, true]);
  append(`${session}/file`, "");
  assertEquals([await noticed(), await noticed()], [true, false]);
  assertEquals(folders.watch(["/etc/passwd"]), false, "a file");
});

testIn("taskOutput() reads the end of a shell's output", (tempDir) => {
  const read = (task: string) => readTaskOutput(tempDir, { sessionId: "s", task });
  const nothing = { output: "", total_bytes: 0, truncated: false };
  assertEquals(read("b1"), nothing);
  const folder = `${tempDir}/claude-0/-w/s/tasks`;
  append(`${folder}/b1.output`, "one\n");
  assertEquals(read("b1"), { output: "one\n", total_bytes: 4, truncated: false });
  append(`${folder}/b1.output`, `${"-".repeat(10_000)}end`);
  assertEquals(read("b1"), {
    output: `${"-".repeat(8189)}end`,
    total_bytes: 10_007,
    truncated: true,
  });
  Deno.symlinkSync(`${folder}/b1.output`, `${folder}/b2.output`);
  append(`${tempDir}/claude-0/-w/other/tasks/b3.output`, "of another session");
  for (const task of ["b2", "b3"]) assertEquals(read(task), nothing);
});

testIn("runningShells() lists the shells of one session", (tempDir) => {
  const running = () => listShells(tempDir, "s");
  // The child may have its temporary files elsewhere.
  assertEquals(running(), { ids: [], startedAt: [] });
  Deno.mkdirSync(`${tempDir}/claude-0`);
  assertEquals(running(), { ids: [], startedAt: [], unused: true });
  const folder = `${tempDir}/claude-0/-w`;
  append(`${folder}/other/tasks/b3.output`, "");
  Deno.mkdirSync(`${folder}/s/started`, { recursive: true });
  assertEquals(running(), { ids: [], startedAt: [], unused: true });
  Deno.mkdirSync(`${folder}/s/tasks`);
  assertEquals(running(), { ids: [], startedAt: [] });
  for (const id of ["b1", "b2"]) append(`${folder}/s/tasks/${id}.output`, "");
  const { ids, startedAt } = running();
  assertEquals(ids.toSorted(), ["b1", "b2"]);
  // Writing does not change the start of a shell; a file system without birth times says 0.
  append(`${folder}/s/tasks/b1.output`, "more");
  assertEquals(running().startedAt, startedAt);
  assert(startedAt.every((time) => time === 0 || time <= Date.now()));
});
