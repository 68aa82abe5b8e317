import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { StagedFiles } from "../../../src/recording/lint/scrub_cassette.ts";
import { scrubInto } from "../../../src/recording/lint/scrub_into.ts";
import {
  filesBelow,
  inFolder,
  lintAt,
  makeCassette,
  makeExchange,
  REDACTOR,
  scrubAt,
} from "./scene.ts";

Deno.test("a scrubbed cassette names nobody and replays in each way", () => {
  inFolder((folder) => {
    makeCassette(folder);
    const secret = `sk-ant-${"a1b2".repeat(6)}`;
    makeExchange(`${folder}/api`, { answer: `data: ${secret} ${secret}\n\n` });
    assertMatch(JSON.stringify(filesBelow(folder)), /alice.*acme|acme.*alice/u);
    const mode = Deno.statSync(`${folder}/child.cast`).mode;
    const [report] = Object.values(scrubAt(folder));
    assert((report?.["child.cast"] ?? 0) > 0 && (report?.["tape.jsonl"] ?? 0) > 0);
    assertEquals(report?.["api"], 2);
    const files = filesBelow(folder);
    assertEquals(/alice|acme/u.exec(JSON.stringify(files)), null);
    const { blanked, scrubbed } = JSON.parse(files["meta.json"] ?? "");
    assertEquals(blanked, ["traces"]);
    assertEquals(scrubbed, { "child.cast": 0, "tape.jsonl": 0, api: 2 });
    assertEquals(Deno.statSync(`${folder}/child.cast`).mode, mode);
    assertEquals(Object.keys(files).length, 5);
    assertEquals(lintAt(folder), { replays: ["world", "program", "api"], problems: [] });
    assertEquals(Object.values(scrubAt(folder)), [{ "child.cast": 0, "tape.jsonl": 0, api: 0 }]);
    assertEquals(filesBelow(folder), files);
    scrubAt(folder, { blanked: { prompts: true, answers: false } });
    const meta = JSON.parse(filesBelow(folder)["meta.json"] ?? "");
    assertEquals(meta.blanked, ["traces", "prompts"]);
    assertEquals(lintAt(folder).problems, []);
  });
});

Deno.test("tapes are scrubbed in place, and neighbouring files stay", () => {
  inFolder((folder) => {
    const tape = '{"type":"system","cwd":"/home/alice/x"}\n';
    for (
      const path of [
        "flat/a.jsonl",
        "flat/a.fields.json",
        "nested/one/wire.jsonl",
        "nested/one/expected.jsonl",
      ]
    ) {
      Deno.mkdirSync(`${folder}/${path}`.replace(/[^/]*$/u, ""), { recursive: true });
      Deno.writeTextFileSync(`${folder}/${path}`, tape);
    }
    assertEquals(scrubAt(`${folder}/flat`), { [`${folder}/flat/a.jsonl`]: { "a.jsonl": 1 } });
    assertEquals(scrubAt(`${folder}/nested`, { inputName: "wire.jsonl" }), {
      [`${folder}/nested/one`]: { "wire.jsonl": 1 },
    });
    const scrubbed = '{"type":"system","cwd":"/home/xxxxx/x"}\n';
    assertEquals(filesBelow(folder), {
      "flat/a.fields.json": tape,
      "flat/a.jsonl": scrubbed,
      "nested/one/expected.jsonl": tape,
      "nested/one/wire.jsonl": scrubbed,
    });
  });
});

Deno.test("names that only tape or API reveal are scrubbed", () => {
  inFolder((folder) => {
    const text = "in /data/acme/a.ts and /data/else/a.ts";
    const frames = [{ type: "system", cwd: "/data/acme" }, { type: "x", text }];
    const tape = frames.map((frame) => JSON.stringify({ dir: "read", at: 0, frame })).join("\n");
    Deno.writeTextFileSync(`${folder}/tape.jsonl`, `${tape}\n`);
    makeExchange(`${folder}/api`, { answer: "Working directory: /data/else\n" });
    scrubAt(folder);
    assertEquals(/acme|else/u.exec(filesBelow(folder)["tape.jsonl"] ?? "acme"), null);
  });
});

Deno.test("a damaged cassette is refused and left as it was", () => {
  for (
    const [name, text, message] of [
      ["tape.jsonl", '{"dir":"re', "was cut short"],
      ["child.cast", "[1]\n", "is no event of a cast"],
      ["meta.json", "{", "meta.json"],
      [`api/${"0".repeat(16)}-0.json`, "{", "is no JSON"],
    ] as const
  ) {
    inFolder((folder) => {
      makeCassette(folder);
      append(`${folder}/${name}`, text);
      const before = filesBelow(folder);
      const error = assertThrows(() => scrubAt(folder), CliError, message);
      assert(error.suggestion !== undefined);
      assertEquals(filesBelow(folder), before);
    });
  }
});

Deno.test("a deeply nested event of a cast is scrubbed", () => {
  inFolder((folder) => {
    makeCassette(folder);
    append(`${folder}/child.cast`, `[9,"h","${"[".repeat(999)}"]\n`);
    scrubAt(folder);
  });
});

function append(path: string, text: string): void {
  Deno.writeTextFileSync(path, text, { append: true });
}

Deno.test("failed writes leave the cassette as it was", () => {
  inFolder((folder) => {
    makeCassette(folder);
    const before = filesBelow(folder);
    const stage = () => {
      using staged = new StagedFiles("scrub it");
      staged.begin(`${folder}/child.cast`).write("new");
      staged.begin(`${folder}/tape.jsonl`).write("new");
      staged.begin(`${folder}/gone/meta.json`);
    };
    const { message, suggestion } = assertThrows(stage, CliError);
    assertMatch(message, /^Cannot scrub it: No such file or directory/u);
    assertEquals(suggestion, "Give it folders of yours on a disk with room");
    assertEquals(filesBelow(folder), before);
    {
      using staged = new StagedFiles("scrub it");
      staged.begin(`${folder}/child.cast`).write("x".repeat(300_000));
      const [part] = namesIn(folder).filter((name) => name.startsWith("."));
      assertEquals(Deno.statSync(`${folder}/${part}`).size, 300_000, "written at once");
    }
    assertEquals(filesBelow(folder), before, "nothing was committed");
  });
});

Deno.test("a failed commit leaves each file old or new", () => {
  inFolder((folder) => {
    makeCassette(folder);
    const before = filesBelow(folder);
    const stopped = () => {
      using staged = new StagedFiles("scrub it");
      staged.begin(`${folder}/child.cast`).write("new");
      staged.begin(`${folder}/tape.jsonl`, () => {
        throw new Error("stopped");
      }).write("new");
      staged.begin(`${folder}/meta.json`).write("new");
      staged.commit();
    };
    assertThrows(stopped, CliError, "Cannot scrub it: stopped");
    assertEquals(filesBelow(folder), { ...before, "child.cast": "new" });
  });
});

Deno.test("more exchanges than files can be open are scrubbed", () => {
  inFolder((folder) => {
    for (let number = 0; number < 220; number++) {
      makeExchange(`${folder}/api`, { answer: `data: ${number} /home/alice\n\n` });
    }
    assertEquals(Object.values(scrubAt(folder)), [{ api: 220 }]);
    const files = filesBelow(`${folder}/api`);
    assertEquals(Object.keys(files).length, 220);
    assertEquals(JSON.stringify(files).includes("alice"), false);
  });
});

Deno.test("files that a killed writer left are removed", () => {
  inFolder((folder) => {
    makeCassette(folder);
    for (const place of ["", "/api"]) {
      Deno.writeTextFileSync(`${folder}${place}/.${crypto.randomUUID()}`, "half");
    }
    scrubAt(folder);
    assertEquals(Object.keys(filesBelow(folder)).filter((name) => /^\.|\/\./u.test(name)), []);
  });
});

Deno.test("nothing is written through a link", () => {
  inFolder((folder) => {
    makeCassette(`${folder}/one`);
    makeExchange(`${folder}/two`);
    const two = filesBelow(`${folder}/two`);
    Deno.removeSync(`${folder}/one/api`, { recursive: true });
    Deno.symlinkSync(`${folder}/two`, `${folder}/one/api`);
    assertThrows(() => scrubAt(`${folder}/one`), CliError, "leads out of the folder");
    Deno.removeSync(`${folder}/one/api`);
    Deno.renameSync(`${folder}/one/tape.jsonl`, `${folder}/tape.jsonl`);
    Deno.symlinkSync(`../tape.jsonl`, `${folder}/one/tape.jsonl`);
    assertThrows(() => scrubAt(`${folder}/one`), CliError, "leads out of the folder");
    assertEquals(filesBelow(`${folder}/two`), two);
  });
});

Deno.test("exchanges that become equal are all kept, each once", () => {
  inFolder((folder) => {
    const names = ["1", "2"].map((digit) =>
      makeExchange(folder + "/api", { answer: `data: ${digit}\n\n` })
    );
    assertEquals(new Set(names).size, 2);
    const before = Object.entries(filesBelow(`${folder}/api`));
    scrubAt(folder);
    const scrubbed = filesBelow(`${folder}/api`);
    assertEquals(Object.keys(scrubbed).length, 2);
    // As if a scrub had been killed after it placed the first exchange.
    const [name = "", text = ""] = before[0] ?? [];
    Deno.writeTextFileSync(`${folder}/api/${name}`, text);
    scrubAt(folder);
    assertEquals(filesBelow(`${folder}/api`), scrubbed);
  });
});

const OPTIONS = {
  blanked: { prompts: false, answers: false },
  redactor: REDACTOR,
  known: { homes: [], users: [], hosts: [] },
};
const TAPE = '{"type":"system","cwd":"/home/alice/x"}\n';
const SCRUBBED = '{"type":"system","cwd":"/home/xxxxx/x"}\n';

const write = (path: string, text = TAPE) => {
  Deno.mkdirSync(path.replace(/[^/]*$/u, ""), { recursive: true });
  Deno.writeTextFileSync(path, text);
};

/** The names of all files and folders in a folder, hidden or not. */
const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

Deno.test("scrubInto() scrubs into a new folder and keeps the cassette", () => {
  inFolder((folder) => {
    const one = `${folder}/one`;
    makeCassette(one);
    makeCassette(`${one}/2`);
    write(`${one}/notes.txt`);
    const before = filesBelow(one);
    const out = `${folder}/out`;
    const { reports, leftOut } = scrubInto(`${out}/`, { ...OPTIONS, paths: [one] });
    assertEquals(reports.map(([name, report]) => [name, report["api"]]), [
      [one, 1],
      [`${one}/2`, 1],
    ]);
    assertEquals(leftOut, [`${one}/notes.txt`]);
    assertEquals(filesBelow(one), before);
    assertEquals(/alice|acme/u.exec(JSON.stringify(filesBelow(out))), null);
    assertEquals(namesIn(out), ["2", "api", "child.cast", "meta.json", "tape.jsonl"]);
    assertEquals(Deno.statSync(out).mode! & 0o777, 0o700);
    assertEquals(lintAt(out), { replays: ["world", "program", "api"], problems: [] });
    // A scrubbed cassette is copied as it is, with its exchanges.
    scrubInto(`${folder}/again`, { ...OPTIONS, paths: [out] });
    assertEquals(filesBelow(`${folder}/again`), filesBelow(out));
  });
});

Deno.test("scrubInto() keeps the places of tapes", () => {
  inFolder((folder) => {
    for (const path of ["flat/a.jsonl", "flat/a.fields.json", "nested/one/wire.jsonl"]) {
      write(`${folder}/${path}`);
    }
    Deno.mkdirSync(`${folder}/empty`);
    const into = (out: string, paths: readonly string[], inputName?: string) => {
      scrubInto(`${folder}/${out}`, {
        ...OPTIONS,
        paths: paths.map((path) => `${folder}/${path}`),
        ...(inputName === undefined ? {} : { inputName }),
      });
      return filesBelow(`${folder}/${out}`);
    };
    assertEquals(into("empty", ["flat"]), { "a.jsonl": SCRUBBED });
    assertEquals(into("named", ["nested"], "wire.jsonl"), { "one/wire.jsonl": SCRUBBED });
    assertEquals(into("single", ["flat/a.jsonl"]), { "a.jsonl": SCRUBBED });
    assertEquals(into("both", ["flat", "nested/one/wire.jsonl", "flat/."]), {
      "flat/a.jsonl": SCRUBBED,
      "wire.jsonl": SCRUBBED,
    });
    assertThrows(
      () => into("alike", ["flat/a.jsonl", "empty/a.jsonl"]),
      CliError,
      "are called alike",
    );
    assertEquals(namesIn(folder).includes("alike"), false);
  });
});

Deno.test("scrubInto() refuses a folder that is used, and leaves nothing", () => {
  inFolder((folder) => {
    const one = `${folder}/one`;
    makeCassette(one);
    Deno.mkdirSync(`${folder}/full/.unfinished`, { recursive: true });
    write(`${folder}/file`);
    Deno.mkdirSync(`${folder}/empty`);
    const before = namesIn(folder);
    for (
      const [out, reason] of [
        ...["one", "one/api", "one/meta.json", "one/new"].map((out) =>
          [out, "it is in /one, which is to stay as it is"] as const
        ),
        ["full", "there is something in it"],
        ["file", "it is not a folder"],
        ["no/new", "the folder above it does not exist"],
      ] as const
    ) {
      const error = assertThrows(
        () => scrubInto(`${folder}/${out}`, { ...OPTIONS, paths: [one] }),
        CliError,
      );
      assertEquals(error.message.replaceAll(folder, ""), `Cannot scrub in /${out}: ${reason}`);
    }
    Deno.writeTextFileSync(`${one}/api/${"0".repeat(16)}-0.json`, "{");
    for (const out of ["out", "empty"]) {
      assertThrows(() => scrubInto(`${folder}/${out}`, { ...OPTIONS, paths: [one] }), CliError);
    }
    assertEquals(namesIn(folder), before);
    assertEquals(namesIn(one), ["api", "child.cast", "meta.json", "tape.jsonl"]);
  });
});
