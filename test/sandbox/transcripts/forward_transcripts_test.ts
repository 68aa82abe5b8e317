import { assertEquals } from "@std/assert";
import {
  type Forwarded,
  forwardTranscripts,
} from "../../../src/sandbox/transcripts/forward_transcripts.ts";

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

  forward(resumed: Readonly<Record<string, number>> = {}): Forwarded {
    return forwardTranscripts({ from: this.from, to: this.to, resumed });
  }

  /** Each file below a folder of the ground, with its text. */
  texts(folder: string): Readonly<Record<string, string>> {
    const texts: Record<string, string> = {};
    const visit = (path: string) => {
      for (const { name, isDirectory } of Deno.readDirSync(`${this.path}/${folder}/${path}`)) {
        const inner = path === "" ? name : `${path}/${name}`;
        if (isDirectory) visit(inner);
        else texts[inner] = Deno.readTextFileSync(`${this.path}/${folder}/${inner}`);
      }
    };
    visit("");
    return texts;
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
  assertEquals(ground.forward(), { files: 2, left: 0, failures: [] });
  assertEquals(ground.texts("from"), {}, "what is home is not here any more");
  assertEquals(Deno.readFileSync(`${ground.to}/projects/-w/s1.jsonl`), bytes);
  assertEquals((Deno.statSync(`${ground.to}/projects/-w/s1.jsonl`).mode ?? 0) & 0o777, 0o600);
  assertEquals(Deno.readTextFileSync(`${ground.to}/projects/-w/s1/subagents/a.jsonl`), "sub\n");
  assertEquals([...Deno.readDirSync(`${ground.to}/projects/-w`)].length, 2);
});

Deno.test("forwardTranscripts() names what comes home as it is there, wherever a portion ends", () => {
  for (const [before, known] of [[0, undefined], [0, 4], [127_950, undefined], [255_990, 4]]) {
    using ground = new Ground();
    const line = (dir: string) =>
      JSON.stringify({ text: "é".repeat((before ?? 0) / 2), saved: `${dir}/projects/-w/s1/x.txt` });
    const begun = known === undefined ? "" : "old\n";
    ground.write("from/projects/-w/s1.jsonl", `${begun}${`${line(ground.from)}\n`.repeat(3)}`);
    ground.write("from/projects/-w/s1/x.txt", `${ground.from}/projects/`);
    if (known !== undefined) {
      Deno.mkdirSync(`${ground.to}/projects/-w`, { recursive: true });
      ground.write("to/projects/-w/s1.jsonl", begun);
    }
    for (let time = 0; time < 2; time++) {
      assertEquals(ground.forward(known === undefined ? {} : { "-w/s1.jsonl": known }).left, 0);
    }
    assertEquals(ground.texts("to/projects"), {
      "-w/s1.jsonl": `${begun}${`${line(ground.to)}\n`.repeat(3)}`,
      "-w/s1/x.txt": `${ground.from}/projects/`,
    });
  }
});

const ID = "3b241101-e2bb-4255-8caf-4136c566a961";

Deno.test("forwardTranscripts() gives prompts the ids that callers gave them, wherever a portion ends", () => {
  for (const given of [ID.toUpperCase().replace("3B", "4C"), 'the "first"', ""]) {
    for (const [before, known] of [[0, undefined], [0, 4], [127_950, undefined]] as const) {
      // That no end of a portion matters is tested where portions are named; here are some of them.
      for (let shift = 0; shift < (before === 0 ? 1 : 90); shift += 9) {
        using ground = new Ground();
        const lines = (id: string) => {
          const pad = { pad: "x".repeat(before + shift) };
          const quoted = `a text ends with "${ID}" and "${ID}"`;
          return [
            { ...pad, uuid: id },
            { parentUuid: id, snapshot: { messageId: id }, ids: [ID.replace("3b", "3c"), id] },
            { text: `no value by itself: ${ID}`, quoted, more: JSON.stringify(quoted) },
          ].map((line) => `${JSON.stringify(line)}\n`).join("");
        };
        const begun = known === undefined ? "" : "old\n";
        ground.write("from/projects/-w/s1.jsonl", `${begun}${lines(ID)}`);
        ground.write("from/projects/-w/s1/subagents/a.jsonl", lines(ID));
        ground.write("from/projects/-w/s1/x.txt", `"${ID}"`);
        if (known !== undefined) {
          Deno.mkdirSync(`${ground.to}/projects/-w`, { recursive: true });
          ground.write("to/projects/-w/s1.jsonl", begun);
        }
        const { from, to } = ground;
        const resumed: Record<string, number> = known === undefined ? {} : { "-w/s1.jsonl": known };
        const forwarded = forwardTranscripts({ from, to, resumed, given: new Map([[ID, given]]) });
        assertEquals(forwarded.failures, []);
        assertEquals(ground.texts("to/projects"), {
          "-w/s1.jsonl": `${begun}${lines(given)}`,
          "-w/s1/subagents/a.jsonl": lines(given),
          "-w/s1/x.txt": `"${ID}"`,
        });
      }
    }
  }
});

Deno.test("forwardTranscripts() knows what comes home by the path that its folder had", () => {
  using ground = new Ground();
  ground.write("from/projects/-w/s1.jsonl", '{"saved":"/before/.claude/projects/x"}\n');
  const { from, to } = ground;
  forwardTranscripts({ from, known: "/before/.claude", to, resumed: {} });
  assertEquals(ground.texts("to/projects"), { "-w/s1.jsonl": `{"saved":"${to}/projects/x"}\n` });
});

Deno.test("forwardTranscripts() appends to a resumed session, and keeps what others added to it", () => {
  using ground = new Ground();
  Deno.mkdirSync(`${ground.to}/projects/-w`, { recursive: true });
  ground.write("to/projects/-w/s1.jsonl", "old\nsomebody else's\n");
  ground.write("from/projects/-w/s1.jsonl", "old\nnew\n");
  assertEquals(ground.forward({ "-w/s1.jsonl": 4 }).failures, []);
  assertEquals(
    Deno.readTextFileSync(`${ground.to}/projects/-w/s1.jsonl`),
    "old\nsomebody else's\nnew\n",
  );
});

Deno.test("forwardTranscripts() writes anew what is noted of a resumed subagent that went on", () => {
  using ground = new Ground();
  const dir = "projects/-w/s1/subagents";
  Deno.mkdirSync(`${ground.to}/${dir}`, { recursive: true });
  const notes = ["more", "less", "others"].map((name) => `${dir}/agent-${name}.meta.json`);
  const resumed = Object.fromEntries(notes.map((path) => [path.slice("projects/".length), 7]));
  ground.write(`to/${notes[0]}`, '{"a":1}');
  Deno.renameSync(`${ground.to}/${notes[0]}`, `${ground.path}/linked`);
  Deno.symlinkSync(`${ground.path}/linked`, `${ground.to}/${notes[0]}`);
  ground.write(`to/${notes[1]}`, '{"a":1}');
  ground.write(`to/${notes[2]}`, '{"a":2,"of":"others"}');
  for (const files of [2, 0]) {
    ground.write(`from/${notes[0]}`, '{"a":1,"b":2}');
    ground.write(`from/${notes[1]}`, "{}");
    ground.write(`from/${notes[2]}`, '{"a":1}');
    assertEquals(ground.forward(resumed), { files, left: 0, failures: [] });
    assertEquals(Object.values(ground.texts("to")).toSorted(), [
      '{"a":1,"b":2}',
      '{"a":2,"of":"others"}',
      "{}",
    ]);
    assertEquals(Deno.readTextFileSync(`${ground.path}/linked`), '{"a":1,"b":2}');
  }
});

Deno.test("forwardTranscripts() finishes what an earlier call did not, and brings nothing twice", () => {
  using ground = new Ground();
  Deno.mkdirSync(`${ground.to}/projects/-w`, { recursive: true });
  const names = ["old", "half", "others", "halfbehind"].map((name) => `-w/${name}.jsonl`);
  const resumed = Object.fromEntries(names.map((name) => [name, 4]));
  const write = () => {
    ground.write("from/projects/-w/new.jsonl", "new\n");
    for (const path of Object.keys(resumed)) ground.write(`from/projects/${path}`, "old\nnew\n");
  };
  ground.write("to/projects/-w/old.jsonl", "old\n");
  ground.write("to/projects/-w/half.jsonl", "old\nne");
  ground.write("to/projects/-w/halfbehind.jsonl", "old\nsomebody else's\nne");
  ground.write("to/projects/-w/others.jsonl", "old\nnew\nsomebody else's\n");
  ground.write("to/projects/-w/new.jsonl", "ne");
  const expected = {
    "-w/half.jsonl": "old\nnew\n",
    "-w/halfbehind.jsonl": "old\nsomebody else's\nnew\n",
    "-w/new.jsonl": "new\n",
    "-w/old.jsonl": "old\nnew\n",
    "-w/others.jsonl": "old\nnew\nsomebody else's\n",
  };
  for (const files of [4, 0]) {
    write();
    assertEquals(ground.forward(resumed), { files, left: 0, failures: [] });
    assertEquals(ground.texts("to/projects"), expected);
  }
});

Deno.test("forwardTranscripts() brings all home of a session that has a transcript there since", () => {
  using ground = new Ground();
  Deno.mkdirSync(`${ground.to}/projects/-w`, { recursive: true });
  // The second one was killed in the middle of a line.
  for (const [theirs, both] of [["one\n", "one\nours\n"], ["tw", "tw\nours\n"]] as const) {
    ground.write("to/projects/-w/s1.jsonl", theirs);
    for (const files of [1, 0]) {
      ground.write("from/projects/-w/s1.jsonl", "ours\n");
      assertEquals(ground.forward(), { files, left: 0, failures: [] });
      assertEquals(ground.texts("to/projects"), { "-w/s1.jsonl": both });
    }
  }
});

Deno.test("forwardTranscripts() moves a resumed session that was moved, and then appends to it", () => {
  using ground = new Ground();
  const old = `${ground.to}/projects/-w`;
  Deno.mkdirSync(`${old}/s1/subagents`, { recursive: true });
  ground.write("to/projects/-w/s1.jsonl", "old\nsomebody else's\n");
  ground.write("to/projects/-w/s1/subagents/a.jsonl", "sub\n");
  ground.write("to/projects/-w/s2.jsonl", "another\n");
  Deno.renameSync(`${ground.from}/projects/-w`, `${ground.from}/projects/-w-tree`);
  ground.write("from/projects/-w-tree/s1.jsonl", "old\nnew\n");
  ground.write("from/projects/-w-tree/s1/subagents/a.jsonl", "sub\nmore\n");
  const resumed = { "-w/s1.jsonl": 4, "-w/s1/subagents/a.jsonl": 4 };
  assertEquals(ground.forward(resumed), { files: 2, left: 0, failures: [] });
  assertEquals(ground.texts("to/projects"), {
    "-w-tree/s1.jsonl": "old\nsomebody else's\nnew\n",
    "-w-tree/s1/subagents/a.jsonl": "sub\nmore\n",
    "-w/s2.jsonl": "another\n",
  });
});

Deno.test("forwardTranscripts() takes the place of nothing, follows no links, and leaves what it cannot bring home", () => {
  using ground = new Ground();
  Deno.mkdirSync(`${ground.to}/projects/-w`, { recursive: true });
  Deno.mkdirSync(`${ground.path}/memory`);
  ground.write("memory/MEMORY.md", "remember");
  Deno.symlinkSync(`${ground.path}/memory`, `${ground.from}/projects/-w/memory`);
  ground.write("to/projects/-w/note.md", "somebody else's\n");
  Deno.mkdirSync(`${ground.to}/projects/-w/folder.jsonl`);
  const ours = { "-w/folder.jsonl": "ours\n", "-w/note.md": "ours\n" };
  for (const [path, text] of Object.entries(ours)) ground.write(`from/projects/${path}`, text);
  ground.write("from/projects/-w/s1.jsonl", "ours\n");
  const { files, left, failures } = ground.forward();
  assertEquals([files, left], [1, 2]);
  assertEquals(failures.toSorted(), [
    `Cannot copy the transcript to ${ground.to}/projects/-w/folder.jsonl: there is something else than a file`,
    `Cannot copy the transcript to ${ground.to}/projects/-w/note.md: there is another file of this name`,
  ]);
  assertEquals(ground.texts("to/projects"), {
    "-w/note.md": "somebody else's\n",
    "-w/s1.jsonl": "ours\n",
  });
  Deno.removeSync(`${ground.from}/projects/-w/memory`);
  assertEquals(ground.texts("from/projects"), ours);
});

Deno.test("forwardTranscripts() has nothing to do for a run without a prompt", () => {
  using ground = new Ground();
  Deno.removeSync(`${ground.from}/projects`, { recursive: true });
  assertEquals(ground.forward(), { files: 0, left: 0, failures: [] });
});

Deno.test("forwardTranscripts() names what it cannot copy, and goes on", () => {
  using ground = new Ground();
  ground.write("from/projects/-w/s1.jsonl", "line\n");
  ground.write("to/projects", "a file where a folder should be");
  assertEquals(ground.forward(), {
    files: 0,
    left: 1,
    failures: [
      `Cannot copy the transcript to ${ground.to}/projects/-w/s1.jsonl: Not a directory`,
    ],
  });
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
    JSON.stringify(
      new URL("../../../src/sandbox/transcripts/forward_transcripts.ts", import.meta.url).href,
    )
  };
    const { failures } = forwardTranscripts({
      from: ${JSON.stringify(ground.from)},
      to: ${JSON.stringify(ground.to)},
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
  assertEquals([...Deno.readDirSync(`${ground.to}/projects/-w`)].map(({ name }) => name), [
    "old.jsonl",
  ]);
  assertEquals(Deno.readTextFileSync(`${ground.to}/projects/-w/old.jsonl`), "old\n");
});

const line = (id: string, more: Readonly<Record<string, unknown>> = {}) =>
  `${JSON.stringify({ uuid: id, ...more })}\n`;

/** What is at home by what a child has written so far, and then by all. */
class GoingOn extends Ground {
  brought: NonNullable<Forwarded["brought"]> = {};

  bring(upTo?: string, given: ReadonlyMap<string, string> = new Map()): Forwarded {
    const { from, to, brought } = this;
    const goesOn = upTo === undefined ? {} : { upTo };
    const forwarded = forwardTranscripts({ from, to, resumed: {}, brought, given, goesOn });
    this.brought = forwarded.brought ?? {};
    return forwarded;
  }

  end(given: ReadonlyMap<string, string> = new Map()): Forwarded {
    const { from, to, brought } = this;
    return forwardTranscripts({ from, to, resumed: {}, brought, given });
  }
}

Deno.test("forwardTranscripts() brings home what a child has written that goes on, in whole lines, and the rest at its end", () => {
  using ground = new GoingOn();
  const own = "-w/s1.jsonl";
  const inner = "-w/s1/subagents/agent-a";
  assertEquals(ground.bring("1").files, 0);
  ground.write(`from/projects/${own}`, line("1") + line("2") + line("3").slice(0, 5));
  ground.write("from/projects/-w/s1/x.txt", "not yet");
  ground.write(`from/projects/${inner}.jsonl`, line("a"));
  ground.write(`from/projects/${inner}.meta.json`, '{"half":');
  assertEquals(ground.bring("1").files, 2);
  assertEquals(ground.texts("to/projects"), { [own]: line("1"), [`${inner}.jsonl`]: line("a") });
  ground.write(`from/projects/${inner}.meta.json`, '{"a":1}');
  assertEquals(ground.bring("2").files, 2);
  assertEquals(ground.bring("2").files, 0);
  assertEquals(ground.bring("not there yet").files, 0);
  ground.write(`from/projects/${own}`, line("1") + line("2") + line("3"));
  ground.write(`from/projects/${inner}.meta.json`, '{"a":1,"b":2}');
  assertEquals(ground.bring().files, 2);
  const home = {
    [own]: line("1") + line("2") + line("3"),
    [`${inner}.jsonl`]: line("a"),
    [`${inner}.meta.json`]: '{"a":1,"b":2}',
  };
  assertEquals(ground.texts("to/projects"), home);
  ground.write(`from/projects/${own}`, home[own] + line("4"));
  assertEquals(ground.end(), { files: 2, left: 0, failures: [] });
  assertEquals(ground.texts("to/projects"), {
    ...home,
    [own]: home[own] + line("4"),
    "-w/s1/x.txt": "not yet",
  });
  assertEquals(ground.texts("from/projects"), {});
});

Deno.test("forwardTranscripts() names what comes home early as it is there, and keeps what others add meanwhile", () => {
  using ground = new GoingOn();
  const own = "-w/s1.jsonl";
  const given = new Map([[ID, "the caller's"]]);
  const first = (id: string, dir: string) => line(id, { saved: `${dir}/projects/-w/s1/x.txt` });
  ground.write(`from/projects/${own}`, first(ID, ground.from));
  ground.bring(ID, given);
  const there = first("the caller's", ground.to);
  assertEquals(ground.texts("to/projects"), { [own]: there });
  Deno.writeTextFileSync(`${ground.to}/projects/${own}`, line("others"), { append: true });
  const rest = line("2", { parentUuid: ID });
  ground.write(`from/projects/${own}`, first(ID, ground.from) + rest);
  const told = line("2", { parentUuid: "the caller's" });
  ground.bring("2", given);
  assertEquals(ground.texts("to/projects"), { [own]: there + line("others") + told });
  // Whoever is killed between two steps has noted nothing of what is home.
  ground.brought = {};
  Deno.removeSync(`${ground.to}/projects/${own}`);
  ground.bring("2", given);
  ground.brought = {};
  ground.end(given);
  assertEquals(ground.texts("to/projects"), { [own]: there + told });
});

Deno.test("forwardTranscripts() brings a session home anew that somebody has removed there", () => {
  using ground = new GoingOn();
  const own = "-w/s1.jsonl";
  ground.write(`from/projects/${own}`, line("1"));
  ground.bring("1");
  Deno.removeSync(`${ground.to}/projects/${own}`);
  ground.write(`from/projects/${own}`, line("1") + line("2"));
  ground.bring("2");
  assertEquals(ground.texts("to/projects"), { [own]: line("1") + line("2") });
});
