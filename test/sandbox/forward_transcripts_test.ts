import { assertEquals, assertStringIncludes } from "@std/assert";
import { forwardTranscripts } from "../../src/sandbox/forward_transcripts.ts";

class Ground implements Disposable {
  readonly path = Deno.makeTempDirSync();
  readonly from = `${this.path}/from`;
  readonly to = `${this.path}/to`;

  constructor() {
    Deno.mkdirSync(`${this.from}/projects/-w/s1/subagents`, { recursive: true });
    Deno.mkdirSync(this.to);
  }

  write(path: string, text: string): void {
    Deno.writeTextFileSync(`${this.path}/${path}`, text);
  }

  forward(resumed: Readonly<Record<string, number>> = {}): readonly string[] {
    return forwardTranscripts({
      from: this.from,
      to: this.to,
      resumed,
      run: "0123abcd",
    }).failures;
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

Deno.test("forwardTranscripts() copies everything below projects byte for byte, for the user alone", () => {
  using ground = new Ground();
  const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 256);
  Deno.writeFileSync(`${ground.from}/projects/-w/s1.jsonl`, bytes);
  ground.write("from/projects/-w/s1/subagents/a.jsonl", "sub\n");
  assertEquals(ground.forward(), []);
  assertEquals(Deno.readFileSync(`${ground.to}/projects/-w/s1.jsonl`), bytes);
  assertEquals((Deno.statSync(`${ground.to}/projects/-w/s1.jsonl`).mode ?? 0) & 0o777, 0o600);
  assertEquals(Deno.readTextFileSync(`${ground.to}/projects/-w/s1/subagents/a.jsonl`), "sub\n");
  assertEquals([...Deno.readDirSync(`${ground.to}/projects/-w`)].length, 2);
});

Deno.test("forwardTranscripts() appends to a resumed session, and keeps what others added to it", () => {
  using ground = new Ground();
  Deno.mkdirSync(`${ground.to}/projects/-w`, { recursive: true });
  ground.write("to/projects/-w/s1.jsonl", "old\nsomebody else's\n");
  ground.write("from/projects/-w/s1.jsonl", "old\nnew\n");
  assertEquals(ground.forward({ "-w/s1.jsonl": 4 }), []);
  assertEquals(
    Deno.readTextFileSync(`${ground.to}/projects/-w/s1.jsonl`),
    "old\nsomebody else's\nnew\n",
  );
});

Deno.test("forwardTranscripts() finishes what an earlier call did not, and brings nothing twice", () => {
  using ground = new Ground();
  Deno.mkdirSync(`${ground.to}/projects/-w`, { recursive: true });
  const resumed = { "-w/old.jsonl": 4, "-w/half.jsonl": 4, "-w/others.jsonl": 4 };
  ground.write("from/projects/-w/new.jsonl", "new\n");
  for (const path of Object.keys(resumed)) ground.write(`from/projects/${path}`, "old\nnew\n");
  ground.write("to/projects/-w/old.jsonl", "old\n");
  ground.write("to/projects/-w/half.jsonl", "old\nne");
  ground.write("to/projects/-w/others.jsonl", "old\n");
  ground.write("to/projects/-w/new.jsonl.0123abcd.part", "ne");
  assertEquals(ground.forward(resumed), []);
  ground.write("to/projects/-w/others.jsonl", "old\nnew\nsomebody else's\n");
  const texts = () =>
    [...Deno.readDirSync(`${ground.to}/projects/-w`)].map(({ name }) =>
      `${name} ${Deno.readTextFileSync(`${ground.to}/projects/-w/${name}`)}`
    ).toSorted();
  const expected = [
    "half.jsonl old\nnew\n",
    "new.jsonl new\n",
    "old.jsonl old\nnew\n",
    "others.jsonl old\nnew\nsomebody else's\n",
  ];
  assertEquals(texts(), expected);
  assertEquals(ground.forward(resumed), []);
  assertEquals(texts(), expected);
});

Deno.test("forwardTranscripts() takes the place of nothing, and follows no links", () => {
  using ground = new Ground();
  Deno.mkdirSync(`${ground.to}/projects/-w`, { recursive: true });
  Deno.mkdirSync(`${ground.path}/memory`);
  ground.write("memory/MEMORY.md", "remember");
  Deno.symlinkSync(`${ground.path}/memory`, `${ground.from}/projects/-w/memory`);
  ground.write("to/projects/-w/s1.jsonl", "somebody else's\n");
  ground.write("from/projects/-w/s1.jsonl", "ours\n");
  const [failure] = ground.forward();
  assertStringIncludes(failure ?? "", "exists");
  assertEquals(Deno.readTextFileSync(`${ground.to}/projects/-w/s1.jsonl`), "somebody else's\n");
  assertEquals([...Deno.readDirSync(`${ground.to}/projects/-w`)].map(({ name }) => name), [
    "s1.jsonl",
  ]);
});

Deno.test("forwardTranscripts() has nothing to do for a run without a prompt", () => {
  using ground = new Ground();
  Deno.removeSync(`${ground.from}/projects`, { recursive: true });
  assertEquals(ground.forward(), []);
});

Deno.test("forwardTranscripts() names what it cannot copy, and goes on", () => {
  using ground = new Ground();
  ground.write("from/projects/-w/s1.jsonl", "line\n");
  ground.write("to/projects", "a file where a folder should be");
  const [failure, ...more] = ground.forward();
  assertStringIncludes(
    failure ?? "",
    `Cannot copy the transcript to ${ground.to}/projects/-w/s1.jsonl`,
  );
  assertEquals(more, []);
});

Deno.test("forwardTranscripts() leaves no half of a file when the disk takes no more", async () => {
  using ground = new Ground();
  Deno.mkdirSync(`${ground.to}/projects/-w`, { recursive: true });
  ground.write("from/projects/-w/new.jsonl", "x".repeat(100_000));
  ground.write("from/projects/-w/old.jsonl", `old\n${"y".repeat(100_000)}`);
  ground.write("to/projects/-w/old.jsonl", "old\n");
  // A file size limit fails writes as a full disk does, halfway through.
  const script = `
    import { forwardTranscripts } from ${
    JSON.stringify(new URL("../../src/sandbox/forward_transcripts.ts", import.meta.url).href)
  };
    const { failures } = forwardTranscripts({
      from: ${JSON.stringify(ground.from)},
      to: ${JSON.stringify(ground.to)},
      resumed: { "-w/old.jsonl": 4 },
      run: "0123abcd",
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
  assertEquals([...Deno.readDirSync(`${ground.to}/projects/-w`)].map(({ name }) => name), [
    "old.jsonl",
  ]);
  assertEquals(Deno.readTextFileSync(`${ground.to}/projects/-w/old.jsonl`), "old\n");
});
