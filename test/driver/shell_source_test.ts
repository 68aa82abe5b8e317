import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { makeFifo } from "../../ffi/descriptors/pipe.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { parseShellCommand } from "../../src/driver/inputs/shells/shell_commands.ts";
import { type ShellInput, ShellSource } from "../../src/driver/inputs/shells/shell_source.ts";
import {
  attributeParts,
  type ShellStream,
  type StreamPositions,
} from "../../src/driver/inputs/shells/shell_file.ts";

/** The folder for temporary files of a session, and a source that reads it. */
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

  /** The news after some milliseconds. */
  read(ms = 1000, more: { readonly paused?: boolean } = {}): readonly ShellInput[] {
    this.#now += ms;
    return this.source.read({ at: this.#now, child: Deno.pid, ...more });
  }

  [Symbol.dispose](): void {
    this.source[Symbol.dispose]();
    Deno.removeSync(this.tempDir, { recursive: true });
  }
}

Deno.test("ShellSource reads a removed file to its end", () => {
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
  ground.source.finish("b1");
  ground.write("b1", "another file with its name");
  assertEquals(ground.read(), []);
});

Deno.test("ShellSource follows a shell by its id", () => {
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
  ground.source.finish("b1");
  ground.source.finish("never seen");
  assertEquals(ground.read(), [
    { type: "shell-over", id: "never seen" },
    { type: "shell-output", id: "b1", text: "two" },
    { type: "shell-over", id: "b1" },
  ]);
});

Deno.test("ShellSource cuts no character and keeps a BOM", () => {
  using ground = new Ground();
  const [first, second, third] = new TextEncoder().encode("€");
  ground.write("b1", new Uint8Array([0xef, 0xbb, 0xbf, 0x61, first ?? 0, second ?? 0]));
  ground.source.read({ at: 0, child: Deno.pid });
  ground.source.follow("b1");
  const texts = () => ground.read().flatMap((one) => one.type === "shell-output" ? [one.text] : []);
  assertEquals(texts(), ["\ufeffa"]);
  ground.write("b1", new Uint8Array([third ?? 0, 0xff, 0xe2]));
  assertEquals(texts(), ["€\ufffd"]);
  ground.source.finish("b1");
  assertEquals(texts(), ["\ufffd"]);
});

Deno.test("ShellSource reads on after a file was emptied", () => {
  using ground = new Ground();
  ground.write("b1", "one\ntwo\n");
  ground.read();
  ground.source.follow("b1");
  assertEquals(ground.read().length, 2);
  Deno.truncateSync(`${ground.folder}/b1.output`);
  ground.write("b1", "three\n");
  assertEquals(ground.read(), [{ type: "shell-output", id: "b1", text: "three\n" }]);
});

Deno.test("ShellSource reads unknown shells briefly and floods in portions", () => {
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
  ground.source.finish("b1");
  const look = { at: 10_000, child: Deno.pid };
  const rest = ground.source.readAll(look).filter(({ id }) => id === "b1");
  assertEquals(rest.map((one) => one.type === "shell-output" ? one.text.length : one), [
    ...[65_536, 65_536, 37_856],
    { type: "shell-over", id: "b1", cut: true },
  ]);
});

Deno.test("ShellSource opens regular files only and no links", () => {
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

Deno.test("ShellSource closes the oldest files that nobody follows", () => {
  using ground = new Ground();
  for (let number = 0; number < 200; number++) ground.write(`b${number}`, "x");
  ground.read();
  const held = [...Deno.readDirSync("/proc/self/fd")].filter(({ name }) => {
    try {
      return Deno.readLinkSync(`/proc/self/fd/${name}`).startsWith(ground.folder);
    } catch {
      // Another test closed it meanwhile.
      return false;
    }
  });
  assert(held.length < 200, `${held.length}`);
});

Deno.test("ShellSource wakes its poller", async () => {
  using ground = new Ground();
  using poller = new Poller();
  assertEquals(ground.source.interests.length, 1);
  ground.write("b1", "x");
  const ready = await poller.wait(ground.source.interests, -1);
  assertEquals(ground.source.isNamedIn(ready), true);
  ground.read();
  assertEquals(await poller.wait(ground.source.interests, 0), []);
});

Deno.test("parseShellCommand() finds the command of the tool Bash", () => {
  const start = "source /x/snapshot.sh 2>/dev/null || true && shopt -u extglob || true && eval ";
  const end = " && pwd -P >| /x/claude-12-cwd";
  assertEquals(parseShellCommand(`${start}cat < /dev/null${end}`), "cat");
  assertEquals(
    parseShellCommand(`${start}'echo '"'"'it'"'"'; cat <<X\nX'${end}`),
    "echo 'it'; cat <<X\nX",
  );
  assertEquals(
    parseShellCommand(`${start}'x && eval y && pwd -P >| z' < /dev/null${end}`),
    "x && eval y && pwd -P >| z",
  );
  const others = ["sleep 1", `x${end}${start}`, `${start}${end} y`, "&& eval ".repeat(100)];
  for (const other of others) assertEquals(parseShellCommand(other), other);
});

/** Writes as a text, with the facts that are known about it. */
function since(
  writes: readonly (readonly [ShellStream, string])[],
  { known = true }: { readonly known?: boolean } = {},
): { readonly text: string; readonly since: StreamPositions } {
  const ends = { stdout: 0, stderr: 0 };
  let text = "";
  for (const [stream, piece] of writes) {
    text += piece;
    ends[stream] = text.length;
  }
  const runs = known ? { runs: writes.map(([stream]) => stream) } : {};
  const lineEnds = (to: number) =>
    [...text.slice(0, to)].flatMap((letter, index) => letter === "\n" ? [index + 1] : []);
  return { text, since: { from: 0, size: text.length, ...ends, ...runs, lineEnds } };
}

/** The parts as texts, each with its stream. */
function textsOf(...given: Parameters<typeof since>): readonly (readonly [string, string])[] {
  const { text, since: facts } = since(...given);
  let from = 0;
  return attributeParts(facts).map(({ end, stream = "either" }) => {
    const part = text.slice(from, end);
    from = end;
    return [stream, part] as const;
  });
}

const OUT = "stdout";
const ERR = "stderr";

Deno.test("attributeParts() assigns parts to streams as far as known", () => {
  const rows: readonly (readonly [
    writes: readonly (readonly [ShellStream, string])[],
    parts: readonly (readonly [string, string])[],
    known?: boolean,
  ])[] = [
    [[], []],
    [[[OUT, "a"], [OUT, "b\n"]], [[OUT, "ab\n"]]],
    [[[OUT, "a"], [OUT, "b\n"]], [[OUT, "ab\n"]], false],
    [[[ERR, "a"]], [[ERR, "a"]], false],
    [[[OUT, "a"], [OUT, "b"], [ERR, "c"]], [[OUT, "ab"], [ERR, "c"]]],
    [[[ERR, "a"], [OUT, "b"], [OUT, "c"]], [[ERR, "a"], [OUT, "bc"]]],
    [[[OUT, "a"], [ERR, "b"], [OUT, "c"]], [["either", "ab"], [OUT, "c"]]],
    [[[OUT, "a"], [ERR, "b"]], [["either", "a"], [ERR, "b"]], false],
    [
      [[OUT, "a\n"], [ERR, "b\n"], [OUT, "c\n"], [ERR, "d"]],
      [[OUT, "a\n"], [ERR, "b\n"], [OUT, "c\n"], [ERR, "d"]],
    ],
    [[[OUT, "a\nb\n"], [ERR, "c\n"], [OUT, "d\n"]], [["either", "a\nb\nc\n"], [OUT, "d\n"]]],
  ];
  for (const [writes, parts, known = true] of rows) {
    assertEquals(textsOf(writes, { known }), parts, JSON.stringify(writes));
  }
});

Deno.test("attributeParts() without positions counts lines", () => {
  const { since: facts } = since([[ERR, "a\n"], [OUT, "b\n"]]);
  assertEquals(attributeParts({ ...facts, stderr: 0 }), [
    { end: 2, stream: ERR },
    { end: 4, stream: OUT },
  ]);
  const { since: long } = since([[ERR, "a\na\n"], [OUT, "b\n"]]);
  assertEquals(attributeParts({ ...long, stderr: 0 }), [{ end: 6 }]);
});

Deno.test("attributeParts() assigns no line to the wrong stream", () => {
  const line = fc.tuple(fc.constantFrom<ShellStream>(OUT, ERR), fc.constantFrom("a\n", "bc\n"));
  const property = fc.property(fc.array(line), (writes) => {
    const { text, since: facts } = since(writes);
    const owners = writes.flatMap(([stream, piece]) => [...piece].map(() => stream));
    let from = 0;
    for (const { end, stream } of attributeParts(facts)) {
      if (stream !== undefined) {
        assertEquals(owners.slice(from, end).every((owner) => owner === stream), true);
      }
      from = end;
    }
    assertEquals(from, text.length);
  });
  fc.assert(property, { numRuns: 50 });
});
