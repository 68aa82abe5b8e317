import { assert, assertEquals } from "@std/assert";
import { makeFifo } from "../../ffi/descriptors/pipe.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { calledCommand, shellCommands } from "../../src/driver/sources/shells/shell_commands.ts";
import { type ShellNews, ShellSource } from "../../src/driver/sources/shells/shell_source.ts";
import { shellScript } from "../../src/sandbox/child/split_shell.ts";

/** The folder for temporary files of a session, and a source that looks at it. */
class Ground implements Disposable {
  readonly tempDir = Deno.makeTempDirSync();
  readonly source: ShellSource;
  readonly folder: string;
  #now = 0;

  constructor(options: { readonly limit?: number; readonly streamsDir?: string } = {}) {
    this.source = new ShellSource({
      tempDir: this.tempDir,
      sessionId: "s",
      cwd: "/w",
      ...options,
    });
    this.folder = `${this.tempDir}/claude-${Deno.uid()}/-w/s/tasks`;
  }

  write(id: string, text: string | Uint8Array<ArrayBuffer>): void {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    Deno.writeFileSync(`${this.folder}/${id}.output`, bytes, { append: true });
  }

  remove(id: string): void {
    Deno.removeSync(`${this.folder}/${id}.output`);
  }

  /** What is told after so many milliseconds. */
  read(ms = 1000, more: { readonly paused?: boolean } = {}): readonly ShellNews[] {
    this.#now += ms;
    return this.source.read({ at: this.#now, child: Deno.pid, ...more });
  }

  [Symbol.dispose](): void {
    this.source[Symbol.dispose]();
    Deno.removeSync(this.tempDir, { recursive: true });
  }
}

/** A shell that this process starts as Claude Code does, with a file as its stdout. */
function startShell(path: string, command: string): Deno.ChildProcess {
  const given = `source x || true && eval '${command}' < /dev/null && pwd -P >| /tmp/x-cwd`;
  // Only then is it the one that is looked for.
  const script = 'exec >> "$0" 2>&1; exec /bin/bash -c "$1"';
  return new Deno.Command("/bin/sh", {
    args: ["-c", script, path, given],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

async function until(found: () => boolean): Promise<void> {
  using poller = new Poller();
  for (let round = 0; !found(); round++) {
    assert(round < 1000, "it is not seen");
    await poller.wait([], 10);
  }
}

Deno.test("ShellSource tells what a shell writes once it is seen to run", async () => {
  using ground = new Ground();
  makeFifo(`${ground.tempDir}/fifo`);
  const command = `echo one; read x < "${ground.tempDir}/fifo"`;
  const shell = startShell(`${ground.folder}/b1.output`, command);
  await until(() => [...shellCommands(Deno.pid).values()].includes(command));
  assertEquals(ground.read(0), []);
  assertEquals(ground.read(150), [], "the calls may not be known yet");
  assertEquals(ground.read(150).slice(0, 1), [{ type: "shell", id: "b1", command, running: true }]);
  shell.kill();
  await shell.status;
  ground.source.leave("b1");
  assertEquals(ground.read().at(-1), { type: "shell-over", id: "b1" });
  assertEquals(ground.read(), []);
});

Deno.test("ShellSource holds a file whose name is gone, and tells when that was all", () => {
  using ground = new Ground();
  ground.write("b1", "one\n");
  assertEquals(ground.read(), []);
  ground.write("b1", "two\r\n");
  ground.remove("b1");
  assertEquals(ground.read(), [
    { type: "shell", id: "b1", running: false },
    { type: "shell-output", id: "b1", text: "one\ntwo\r\n" },
    { type: "shell-over", id: "b1" },
  ]);
  assertEquals(ground.read(), []);
  ground.source.leave("b1");
  ground.write("b1", "another file with its name");
  assertEquals(ground.read(), []);
});

Deno.test("ShellSource follows a shell whose id it is told, whoever has its file", () => {
  using ground = new Ground();
  ground.write("b1", "one\n");
  assertEquals(ground.read(), []);
  ground.source.follow("b1");
  assertEquals(ground.source.hasMore, true);
  assertEquals(ground.read(), [
    { type: "shell", id: "b1", running: true },
    { type: "shell-output", id: "b1", text: "one\n" },
  ]);
  ground.write("b1", "two");
  ground.source.leave("b1");
  ground.source.leave("never seen");
  assertEquals(ground.read(), [
    { type: "shell-over", id: "never seen" },
    { type: "shell-output", id: "b1", text: "two" },
    { type: "shell-over", id: "b1" },
  ]);
});

Deno.test("ShellSource cuts no character, and no BOM, and says what was never completed", () => {
  using ground = new Ground();
  const [first, second, third] = new TextEncoder().encode("€");
  ground.write("b1", new Uint8Array([0xef, 0xbb, 0xbf, 0x61, first ?? 0, second ?? 0]));
  ground.source.read({ at: 0, child: Deno.pid });
  ground.source.follow("b1");
  const texts = () => ground.read().flatMap((one) => one.type === "shell-output" ? [one.text] : []);
  assertEquals(texts(), ["\ufeffa"]);
  ground.write("b1", new Uint8Array([third ?? 0, 0xff, 0xe2]));
  assertEquals(texts(), ["€\ufffd"]);
  ground.source.leave("b1");
  assertEquals(texts(), ["\ufffd"]);
});

Deno.test("ShellSource tells what comes after a file was emptied", () => {
  using ground = new Ground();
  ground.write("b1", "one\ntwo\n");
  ground.read();
  ground.source.follow("b1");
  assertEquals(ground.read().length, 2);
  Deno.truncateSync(`${ground.folder}/b1.output`);
  ground.write("b1", "three\n");
  assertEquals(ground.read(), [{ type: "shell-output", id: "b1", text: "three\n" }]);
});

Deno.test("ShellSource tells of a strange shell only how it begins, and of a flood in portions", () => {
  using ground = new Ground({ limit: 300_000 });
  ground.write("b1", "");
  ground.write("b2", "x".repeat(100_000));
  // A file without end.
  Deno.truncateSync(`${ground.folder}/b1.output`, 2 ** 42);
  ground.read();
  for (const id of ["b1", "b2"]) ground.remove(id);
  const lengths = (id: string) =>
    ground.read().flatMap((one) =>
      one.type === "shell-output" && one.id === id ? one.text.length : []
    );
  assertEquals([lengths("b1"), lengths("b2"), ground.source.hasMore], [[65_536], [], false]);
  ground.source.follow("b1");
  assertEquals(ground.read(1, { paused: true }), []);
  assertEquals([lengths("b1"), ground.source.hasMore], [[65_536], true]);
  ground.source.leave("b1");
  const look = { at: 10_000, child: Deno.pid };
  const rest = ground.source.readAll(look).filter(({ id }) => id === "b1");
  assertEquals(rest.map((one) => one.type === "shell-output" ? one.text.length : one), [
    ...[65_536, 65_536, 37_856],
    { type: "shell-over", id: "b1", cut: true },
  ]);
});

Deno.test("ShellSource opens nothing that is no regular file, and follows no link", () => {
  using ground = new Ground();
  const outside = Deno.makeTempDirSync();
  Deno.writeTextFileSync(`${outside}/secret.output`, "secret");
  makeFifo(`${ground.folder}/fifo.output`);
  Deno.symlinkSync(`${outside}/secret.output`, `${ground.folder}/link.output`);
  Deno.symlinkSync("/dev/zero", `${ground.folder}/zero.output`);
  Deno.mkdirSync(`${ground.folder}/folder.output`);
  Deno.writeTextFileSync(`${ground.folder}/not a name.output`, "x");
  Deno.mkdirSync(`${ground.tempDir}/claude-1/slug/s`, { recursive: true });
  Deno.symlinkSync(outside, `${ground.tempDir}/claude-1/slug/s/tasks`);
  ground.source.findFolders(1000);
  ground.read();
  for (const id of ["fifo", "link", "zero", "folder", "secret", "not a name"]) {
    ground.source.follow(id);
  }
  assertEquals(ground.read(), []);
  Deno.removeSync(`${ground.folder}/link.output`);
  assertEquals(ground.read(), []);
  Deno.removeSync(outside, { recursive: true });
});

Deno.test("ShellSource finds the folder of another working directory", () => {
  using ground = new Ground();
  const other = `${ground.tempDir}/claude-${Deno.uid()}/-elsewhere/s/tasks`;
  Deno.mkdirSync(other, { recursive: true });
  Deno.mkdirSync(`${ground.tempDir}/claude-${Deno.uid()}/-w/another/tasks`, { recursive: true });
  ground.source.findFolders(1000);
  for (const folder of [other, other.replace("-elsewhere/s", "-w/another")]) {
    Deno.writeTextFileSync(`${folder}/b1.output`, folder);
  }
  ground.read();
  Deno.removeSync(`${other}/b1.output`);
  assertEquals(ground.read().slice(0, 2), [
    { type: "shell", id: "b1", running: false },
    { type: "shell-output", id: "b1", text: other },
  ]);
});

Deno.test("ShellSource lets the oldest files go that nobody has asked for", () => {
  using ground = new Ground();
  for (let number = 0; number < 200; number++) ground.write(`b${number}`, "x");
  ground.read();
  const held = [...Deno.readDirSync("/proc/self/fd")].filter(({ name }) => {
    try {
      return Deno.readLinkSync(`/proc/self/fd/${name}`).startsWith(ground.folder);
    } catch {
      // Another test's, closed meanwhile.
      return false;
    }
  });
  assert(held.length < 200, `${held.length}`);
});

Deno.test("ShellSource wakes whoever waits for it", async () => {
  using ground = new Ground();
  using poller = new Poller();
  assertEquals(ground.source.interests.length, 1);
  ground.write("b1", "x");
  const ready = await poller.wait(ground.source.interests, -1);
  assertEquals(ground.source.isNamedIn(ready), true);
  ground.read();
  assertEquals(await poller.wait(ground.source.interests, 0), []);
});

/** The lines of a stream among what was told. */
const linesOf = (news: readonly ShellNews[], stream?: "stdout" | "stderr") =>
  news.flatMap((one) => one.type === "shell-output" && one.stream === stream ? [one.text] : [])
    .join("");

Deno.test("ShellSource tells stdout from stderr of a shell that stands in the place of the user's", async () => {
  const tempDir = Deno.makeTempDirSync();
  using ground = new Ground({ streamsDir: `${tempDir}/streams` });
  const script = `${tempDir}/bash`;
  const shell = { path: script, shell: "/bin/bash", named: undefined };
  Deno.writeTextFileSync(script, shellScript({ ...shell, folder: `${tempDir}/streams` }), {
    mode: 0o700,
  });
  const news: ShellNews[] = [];
  const run = async (id: string, command: string) => {
    const path = `${ground.folder}/${id}.output`;
    const child = new Deno.Command("/bin/sh", {
      args: ["-c", 'exec >> "$0" 2>&1; exec "$1" -c "$2"', path, script, command],
      env: { CLAUDE_CODE_SHELL: script, SHELL: script },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    let ended: Deno.CommandStatus | undefined;
    child.status.then((status) => ended = status);
    ground.source.follow(id);
    await until(() => {
      news.push(...ground.read(1));
      ground.source.follow(id);
      return ended !== undefined;
    });
    ground.source.leave(id);
    news.push(...ground.read(), ...ground.read());
    const told = news.filter((one) => one.id === id);
    const text = Deno.readTextFileSync(path);
    return { code: ended?.code, told, text };
  };
  const both = await run("b1", "echo out; echo err >&2; echo more >&2; exit 3");
  assertEquals([both.code, both.text], [3, "out\nerr\nmore\n"]);
  assertEquals([linesOf(both.told, "stdout"), linesOf(both.told, "stderr")], [
    "out\n",
    "err\nmore\n",
  ]);
  assertEquals(both.told.at(-1), { type: "shell-over", id: "b1" });
  const same = await run("b3", '[ $SHELL = /bin/bash ] && echo "${CLAUDE_CODE_SHELL-unset}"');
  assertEquals(linesOf(same.told, "stdout"), "unset\n");
  // What others write on the FIFO is no shell of the child.
  const fifo = Deno.openSync(`${tempDir}/streams/calls`, { write: true, read: true });
  fifo.writeSync(new TextEncoder().encode(`1\n-1\nx\n${"9".repeat(4000)}\n\n${Deno.pid}\n`));
  fifo.close();
  assertEquals(ground.read(), []);
  assertEquals(
    [...Deno.readDirSync(`${tempDir}/streams`)].map(({ name }) => name).toSorted(),
    ["calls", "idle"],
  );
  Deno.removeSync(tempDir, { recursive: true });
});

Deno.test("calledCommand() finds what the tool Bash was called with", () => {
  const start = "source /x/snapshot.sh 2>/dev/null || true && shopt -u extglob || true && eval ";
  const end = " && pwd -P >| /x/claude-12-cwd";
  assertEquals(calledCommand(`${start}cat < /dev/null${end}`), "cat");
  assertEquals(
    calledCommand(`${start}'echo '"'"'it'"'"'; cat <<X\nX'${end}`),
    "echo 'it'; cat <<X\nX",
  );
  assertEquals(
    calledCommand(`${start}'x && eval y && pwd -P >| z' < /dev/null${end}`),
    "x && eval y && pwd -P >| z",
  );
  const others = ["sleep 1", `x${end}${start}`, `${start}${end} y`, "&& eval ".repeat(1_000_000)];
  for (const other of others) assertEquals(calledCommand(other), other);
});
