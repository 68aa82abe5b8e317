import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { CliError } from "../../src/cli_error.ts";
import { StagedFiles } from "../../src/hygiene/staged_files.ts";
import { filesBelow, inFolder, lintAt, makeCassette, makeExchange, scrubAt } from "./scene.ts";

Deno.test("a scrubbed cassette tells nothing of who recorded it, says so, and replays in each way", () => {
  inFolder((folder) => {
    makeCassette(folder);
    assertMatch(JSON.stringify(filesBelow(folder)), /alice.*acme|acme.*alice/u);
    const mode = Deno.statSync(`${folder}/child.cast`).mode;
    const [report] = Object.values(scrubAt(folder));
    assert((report?.["child.cast"] ?? 0) > 0 && (report?.["tape.jsonl"] ?? 0) > 0);
    assertEquals(report?.["api"], 1);
    const files = filesBelow(folder);
    assertEquals(/alice|acme/u.exec(JSON.stringify(files)), null);
    assertEquals(JSON.parse(files["meta.json"] ?? "").blanked, ["traces"]);
    assertEquals(Deno.statSync(`${folder}/child.cast`).mode, mode);
    assertEquals(Object.keys(files).length, 4);
    assertEquals(lintAt(folder), { replays: ["world", "program", "api"], problems: [] });
    assertEquals(Object.values(scrubAt(folder)), [{ "child.cast": 0, "tape.jsonl": 0, api: 0 }]);
    assertEquals(filesBelow(folder), files);
    scrubAt(folder, { said: { prompts: true, answers: false } });
    const meta = JSON.parse(filesBelow(folder)["meta.json"] ?? "");
    assertEquals(meta.blanked, ["traces", "prompts"]);
    assertEquals(lintAt(folder).problems, []);
  });
});

Deno.test("tapes are scrubbed where they lie, flat and nested, and what belongs to them stays", () => {
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

Deno.test("what cannot be read leaves everything as it was", () => {
  for (
    const [damage, message] of [
      [(folder: string) => append(`${folder}/tape.jsonl`, '{"dir":"re'), "was cut short"],
      [(folder: string) => append(`${folder}/child.cast`, "[1]\n"), "is no event of a cast"],
      [
        (folder: string) => Deno.writeTextFileSync(`${folder}/meta.json`, '{"format":2}'),
        "format 2",
      ],
      [
        (folder: string) => Deno.writeTextFileSync(`${folder}/api/${"0".repeat(16)}-0.json`, "{"),
        "is no JSON",
      ],
      [(folder: string) => append(`${folder}/child.cast`, `[9,"h","${"[".repeat(999)}"]\n`), ""],
    ] as const
  ) {
    inFolder((folder) => {
      makeCassette(folder);
      damage(folder);
      const before = filesBelow(folder);
      if (message === "") {
        scrubAt(folder);
        return;
      }
      const error = assertThrows(() => scrubAt(folder), CliError, message);
      assert(error.suggestion !== undefined);
      assertEquals(filesBelow(folder), before);
    });
  }
});

function append(path: string, text: string): void {
  Deno.writeTextFileSync(path, text, { append: true });
}

Deno.test("what cannot be written leaves everything as it was, and nothing beside it", () => {
  inFolder((folder) => {
    makeCassette(folder);
    const before = filesBelow(folder);
    const failed = () => {
      using staged = new StagedFiles("scrub it");
      staged.begin(`${folder}/child.cast`).write("new");
      staged.begin(`${folder}/tape.jsonl`).write("new");
      staged.begin(`${folder}/gone/meta.json`);
    };
    const { message, suggestion } = assertThrows(failed, CliError);
    assertMatch(message, /^Cannot scrub it: No such file or directory/u);
    assertEquals(suggestion, "Give it folders of yours on a disk with room");
    assertEquals(filesBelow(folder), before);
    // Whoever is stopped before the end has changed nothing.
    {
      using staged = new StagedFiles("scrub it");
      staged.begin(`${folder}/child.cast`).write("x".repeat(1_000_000));
    }
    assertEquals(filesBelow(folder), before);
  });
});

Deno.test("one who is stopped while files are put in their places leaves each old or new, as a whole", () => {
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

Deno.test("what a writer that was killed has left is removed", () => {
  inFolder((folder) => {
    makeCassette(folder);
    for (const place of ["", "/api"]) {
      Deno.writeTextFileSync(`${folder}${place}/.${crypto.randomUUID()}`, "half");
    }
    scrubAt(folder);
    assertEquals(Object.keys(filesBelow(folder)).filter((name) => /^\.|\/\./u.test(name)), []);
  });
});

Deno.test("nothing is written through a link, into whatever folder it leads", () => {
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

Deno.test("exchanges that have become the same are all kept, and one that was placed before is not doubled", () => {
  inFolder((folder) => {
    const names = ["1", "2"].map((digit) =>
      makeExchange(folder + "/api", { answer: `data: ${digit}\n\n` })
    );
    assertEquals(new Set(names).size, 2);
    const before = Object.entries(filesBelow(`${folder}/api`));
    scrubAt(folder);
    const scrubbed = filesBelow(`${folder}/api`);
    assertEquals(Object.keys(scrubbed).length, 2);
    // As if one had been killed after it had placed the first.
    const [name = "", text = ""] = before[0] ?? [];
    Deno.writeTextFileSync(`${folder}/api/${name}`, text);
    scrubAt(folder);
    assertEquals(filesBelow(`${folder}/api`), scrubbed);
  });
});
