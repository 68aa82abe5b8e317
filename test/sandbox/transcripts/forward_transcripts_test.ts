import { assertEquals } from "@std/assert";
import { copySession } from "../../../src/sandbox/transcripts/copy_transcripts.ts";
import {
  type Forwarded,
  forwardTranscripts,
} from "../../../src/sandbox/transcripts/forward_transcripts.ts";
import {
  buildRenames,
  renameAll,
  renamePortions,
} from "../../../src/sandbox/transcripts/transcript_renames.ts";
import { tempFolder } from "../../temp_folder.ts";

/** Two config dirs: `from` of a run, and `to` of the user. */
class Ground implements Disposable {
  readonly #folder = tempFolder({ "from/projects/-w/s1/subagents/": "", "to/projects/-w/": "" });
  readonly path = this.#folder.path;
  readonly from = `${this.path}/from`;
  readonly to = `${this.path}/to`;

  write(path: string, text: string): void {
    Deno.writeTextFileSync(`${this.path}/${path}`, text);
  }

  forward(
    resumed: Readonly<Record<string, number>> = {},
    given: ReadonlyMap<string, string> = new Map(),
  ): Forwarded {
    return forwardTranscripts({ from: this.from, to: this.to, resumed, given });
  }

  /** The text of each file below a folder, by its path. */
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
    this.#folder[Symbol.dispose]();
  }
}

Deno.test("forwardTranscripts() moves all files below projects for the user", () => {
  using ground = new Ground();
  const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 256);
  Deno.writeFileSync(`${ground.from}/projects/-w/s1.jsonl`, bytes);
  ground.write("from/projects/-w/s1/subagents/a.jsonl", "sub\n");
  assertEquals(ground.forward(), { files: 2, left: 0, failures: [] });
  assertEquals(ground.texts("from"), {}, "moved");
  assertEquals(Deno.readFileSync(`${ground.to}/projects/-w/s1.jsonl`), bytes);
  assertEquals((Deno.statSync(`${ground.to}/projects/-w/s1.jsonl`).mode ?? 0) & 0o777, 0o600);
  assertEquals(Deno.readTextFileSync(`${ground.to}/projects/-w/s1/subagents/a.jsonl`), "sub\n");
  assertEquals([...Deno.readDirSync(`${ground.to}/projects/-w`)].length, 2);
});

Deno.test("forwardTranscripts() renames the config dir in transcripts", () => {
  for (const [before, known] of [[0, undefined], [127_950, 4]]) {
    using ground = new Ground();
    const line = (dir: string) =>
      JSON.stringify({ text: "é".repeat((before ?? 0) / 2), saved: `${dir}/projects/-w/s1/x.txt` });
    const begun = known === undefined ? "" : "old\n";
    ground.write("from/projects/-w/s1.jsonl", `${begun}${`${line(ground.from)}\n`.repeat(3)}`);
    ground.write("from/projects/-w/s1/x.txt", `${ground.from}/projects/`);
    if (known !== undefined) ground.write("to/projects/-w/s1.jsonl", begun);
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

Deno.test("forwardTranscripts() gives prompts the ids of their callers", () => {
  const lines = (id: string) => {
    const quoted = `a text ends with "${ID}" and "${ID}"`;
    return [
      { uuid: id },
      { parentUuid: id, snapshot: { messageId: id }, ids: [ID.replace("3b", "3c"), id] },
      { text: `no value by itself: ${ID}`, quoted, more: JSON.stringify(quoted) },
    ].map((line) => `${JSON.stringify(line)}\n`).join("");
  };
  for (const given of [ID.toUpperCase().replace("3B", "4C"), 'the "first"', ""]) {
    for (const resumed of [{}, { "-w/s1.jsonl": 4 }]) {
      using ground = new Ground();
      const begun = "-w/s1.jsonl" in resumed ? "old\n" : "";
      if (begun !== "") ground.write("to/projects/-w/s1.jsonl", begun);
      ground.write("from/projects/-w/s1.jsonl", `${begun}${lines(ID)}`);
      ground.write("from/projects/-w/s1/subagents/a.jsonl", lines(ID));
      ground.write("from/projects/-w/s1/x.txt", `"${ID}"`);
      assertEquals(ground.forward(resumed, new Map([[ID, given]])).failures, []);
      assertEquals(ground.texts("to/projects"), {
        "-w/s1.jsonl": `${begun}${lines(given)}`,
        "-w/s1/subagents/a.jsonl": lines(given),
        "-w/s1/x.txt": `"${ID}"`,
      });
    }
  }
});

Deno.test("namedPortions() renames like named() wherever a portion ends", () => {
  const quoting = {
    uuid: ID,
    parentUuid: ID,
    text: `He says: "${ID}`,
    path: "/run/.claude/projects/x",
  };
  const names = buildRenames({
    from: "/run/.claude",
    to: "/home",
    given: new Map([[ID, "given"]]),
  });
  const bytes = new TextEncoder().encode(`${JSON.stringify(quoting)}\n`.repeat(2));
  const expected = new TextDecoder().decode(renameAll(bytes, names));
  assertEquals(
    expected,
    `${
      JSON.stringify({ ...quoting, uuid: "given", parentUuid: "given", path: "/home/projects/x" })
    }\n`
      .repeat(2),
  );
  for (let full = 1; full <= bytes.length + 1; full++) {
    const portions: Uint8Array<ArrayBuffer>[] = [];
    for (let from = 0; from <= bytes.length; from += full) {
      portions.push(bytes.slice(from, from + full));
    }
    const decoder = new TextDecoder();
    const said = [...renamePortions(portions, { names, full })]
      .map((each) => decoder.decode(each, { stream: true })).join("");
    assertEquals(said, expected, `${full} bytes a portion`);
  }
});

Deno.test("forwardTranscripts() renames a former config dir", () => {
  using ground = new Ground();
  ground.write("from/projects/-w/s1.jsonl", '{"saved":"/before/.claude/projects/x"}\n');
  const { from, to } = ground;
  forwardTranscripts({ from, known: "/before/.claude", to, resumed: {} });
  assertEquals(ground.texts("to/projects"), { "-w/s1.jsonl": `{"saved":"${to}/projects/x"}\n` });
});

Deno.test("forwardTranscripts() appends to a session that others extended", () => {
  using ground = new Ground();
  ground.write("to/projects/-w/s1.jsonl", "old\nsomebody else's\n");
  ground.write("from/projects/-w/s1.jsonl", "old\nnew\n");
  assertEquals(ground.forward({ "-w/s1.jsonl": 4 }).failures, []);
  assertEquals(
    Deno.readTextFileSync(`${ground.to}/projects/-w/s1.jsonl`),
    "old\nsomebody else's\nnew\n",
  );
});

Deno.test("forwardTranscripts() replaces the notes of a resumed subagent", () => {
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

Deno.test("forwardTranscripts() completes an interrupted call, and copies nothing twice", () => {
  using ground = new Ground();
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

Deno.test("forwardTranscripts() appends to a session that began elsewhere", () => {
  using ground = new Ground();
  // The second transcript ends in the middle of a line.
  for (const [theirs, both] of [["one\n", "one\nours\n"], ["tw", "tw\nours\n"]] as const) {
    ground.write("to/projects/-w/s1.jsonl", theirs);
    for (const files of [1, 0]) {
      ground.write("from/projects/-w/s1.jsonl", "ours\n");
      assertEquals(ground.forward(), { files, left: 0, failures: [] });
      assertEquals(ground.texts("to/projects"), { "-w/s1.jsonl": both });
    }
  }
});

Deno.test("forwardTranscripts() moves a resumed session to its new project", () => {
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
  assertEquals((Deno.statSync(`${ground.to}/projects/-w-tree`).mode ?? 0) & 0o777, 0o700);
});

Deno.test("forwardTranscripts() replaces no other file and follows no link", () => {
  using ground = new Ground();
  Deno.mkdirSync(`${ground.path}/memory`);
  ground.write("memory/MEMORY.md", "remember");
  Deno.symlinkSync(`${ground.path}/memory`, `${ground.from}/projects/-w/memory`);
  Deno.symlinkSync("/etc/passwd", `${ground.from}/projects/-w/link.jsonl`);
  ground.write("to/projects/-w/note.md", "somebody else's\n");
  Deno.mkdirSync(`${ground.to}/projects/-w/folder.jsonl`);
  const ours = { "-w/folder.jsonl": "ours\n", "-w/note.md": "ours\n" };
  for (const [path, text] of Object.entries(ours)) ground.write(`from/projects/${path}`, text);
  ground.write("from/projects/-w/s1.jsonl", "ours\n");
  const { files, left, failures } = ground.forward();
  assertEquals([files, left], [1, 2]);
  assertEquals(failures.toSorted(), [
    `Cannot copy the transcript to ${ground.to}/projects/-w/folder.jsonl: it is not a regular file`,
    `Cannot copy the transcript to ${ground.to}/projects/-w/note.md: another file has this name`,
    "Cannot move the transcript -w/link.jsonl: it is not a regular file",
  ]);
  assertEquals(ground.texts("to/projects"), {
    "-w/note.md": "somebody else's\n",
    "-w/s1.jsonl": "ours\n",
  });
  Deno.removeSync(`${ground.from}/projects/-w/memory`);
  Deno.removeSync(`${ground.from}/projects/-w/link.jsonl`);
  assertEquals(ground.texts("from/projects"), ours);
});

Deno.test("forwardTranscripts() without transcripts does nothing", () => {
  using ground = new Ground();
  Deno.removeSync(`${ground.from}/projects`, { recursive: true });
  assertEquals(ground.forward(), { files: 0, left: 0, failures: [] });
  Deno.mkdirSync(`${ground.path}/elsewhere/-w`, { recursive: true });
  ground.write("elsewhere/-w/s1.jsonl", "theirs\n");
  Deno.symlinkSync(`${ground.path}/elsewhere`, `${ground.from}/projects`);
  assertEquals(ground.forward(), {
    files: 0,
    left: 0,
    failures: ["Cannot read the child's transcripts: projects is not a folder"],
  });
});

Deno.test("forwardTranscripts() reports files that it cannot copy", () => {
  using ground = new Ground();
  ground.write("from/projects/-w/s1.jsonl", "line\n");
  Deno.removeSync(`${ground.to}/projects`, { recursive: true });
  ground.write("to/projects", "a file where a folder should be");
  assertEquals(ground.forward(), {
    files: 0,
    left: 1,
    failures: [
      `Cannot copy the transcript to ${ground.to}/projects/-w/s1.jsonl: Not a directory`,
    ],
  });
});

const line = (id: string, more: Readonly<Record<string, unknown>> = {}) =>
  `${JSON.stringify({ uuid: id, ...more })}\n`;

/** Transcripts of a child that still writes. */
class RunningGround extends Ground {
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

Deno.test("forwardTranscripts() copies whole lines while the child writes", () => {
  using ground = new RunningGround();
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

Deno.test("forwardTranscripts() keeps lines that others add meanwhile", () => {
  using ground = new RunningGround();
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
  // A killed run has not noted the lines that it copied.
  ground.brought = {};
  Deno.removeSync(`${ground.to}/projects/${own}`);
  ground.bring("2", given);
  ground.brought = {};
  ground.end(given);
  assertEquals(ground.texts("to/projects"), { [own]: there + told });
});

Deno.test("forwardTranscripts() keeps the notes of others while the child writes", () => {
  using ground = new RunningGround();
  const note = "-w/s1/subagents/agent-b.meta.json";
  Deno.mkdirSync(`${ground.to}/projects/-w/s1/subagents`, { recursive: true });
  ground.write(`to/projects/${note}`, '{"of":"others"}');
  ground.write(`from/projects/${note}`, '{"a":1}');
  const { files, failures } = ground.bring();
  assertEquals([files, failures], [0, []]);
  assertEquals(ground.texts("to/projects"), { [note]: '{"of":"others"}' });
});

Deno.test("forwardTranscripts() copies a removed session again", () => {
  using ground = new RunningGround();
  const own = "-w/s1.jsonl";
  ground.write(`from/projects/${own}`, line("1"));
  ground.bring("1");
  Deno.removeSync(`${ground.to}/projects/${own}`);
  ground.write(`from/projects/${own}`, line("1") + line("2"));
  ground.bring("2");
  assertEquals(ground.texts("to/projects"), { [own]: line("1") + line("2") });
});

const SESSION = "123e4567-e89b-42d3-a456-426614174000";
const PATH = `-w/${SESSION}.jsonl`;

/** A user's config dir `to` with a session, which is copied to `from`. */
class CopyGround extends Ground {
  constructor() {
    super();
    for (const slug of ["-w", "-old"]) {
      Deno.mkdirSync(`${this.to}/projects/${slug}/${SESSION}`, { recursive: true });
      this.write(`to/projects/${slug}/${SESSION}.jsonl`, "1\n2\n3\n");
    }
    this.write(`to/projects/-w/${SESSION}/agent.jsonl`, "a\n");
  }

  copy(id: string, more: { readonly shortened?: { path: string; text: string } } = {}) {
    return Object.fromEntries(copySession(id, { from: this.to, to: this.from, ...more }));
  }

  read(dir: "from" | "to"): string {
    return Deno.readTextFileSync(`${this.path}/${dir}/projects/${PATH}`);
  }
}

Deno.test("copySession() copies a session of any project, also large", () => {
  using ground = new CopyGround();
  const text = "0123456789\n".repeat(210_000);
  ground.write("elsewhere.jsonl", text);
  Deno.removeSync(`${ground.to}/projects/${PATH}`);
  Deno.symlinkSync(`${ground.path}/elsewhere.jsonl`, `${ground.to}/projects/${PATH}`);
  assertEquals(ground.copy(SESSION), {
    [PATH]: text.length,
    [`-old/${SESSION}.jsonl`]: 6,
    [`-w/${SESSION}/agent.jsonl`]: 2,
  });
  assertEquals(ground.read("from"), text);
  assertEquals(ground.copy("none"), {});
});

Deno.test("a session that was copied in part loses nothing", () => {
  using ground = new CopyGround();
  const resumed = ground.copy(SESSION, { shortened: { path: PATH, text: "1\n3\n" } });
  assertEquals(resumed, { [PATH]: 4, [`-w/${SESSION}/agent.jsonl`]: 2 });
  assertEquals(ground.read("from"), "1\n3\n");
  assertEquals((Deno.statSync(`${ground.from}/projects/${PATH}`).mode ?? 0) & 0o777, 0o600);
  // Nothing is new.
  assertEquals(ground.forward(resumed), { files: 0, left: 0, failures: [] });
  assertEquals(ground.read("to"), "1\n2\n3\n");
  // New lines are appended once, also if another run brought some of them.
  ground.write(`to/projects/${PATH}`, "1\n2\n3\n4\n");
  for (const files of [1, 0]) {
    ground.write(`from/projects/${PATH}`, "1\n3\n4\n5\n");
    assertEquals(ground.forward(resumed), { files, left: 0, failures: [] });
    assertEquals(ground.read("to"), "1\n2\n3\n4\n5\n");
  }
});
