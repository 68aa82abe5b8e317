import { assert, assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { findCassettes } from "../../../src/cassette/read/find_cassettes.ts";

/** A folder with these files; a path that ends in a slash is a folder. */
function inFolder(paths: readonly string[], test: (folder: string) => void): void {
  const folder = Deno.makeTempDirSync();
  try {
    for (const path of paths) {
      Deno.mkdirSync(`${folder}/${path}`.replace(/[^/]*$/u, ""), { recursive: true });
      if (!path.endsWith("/")) Deno.writeTextFileSync(`${folder}/${path}`, "");
    }
    test(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** What is found in a folder with these files, and at other paths there, as `kind path`. */
function found(
  files: readonly string[],
  { at = [""], inputName }: { readonly at?: readonly string[]; readonly inputName?: string } = {},
): readonly string[] {
  let all: readonly string[] = [];
  inFolder(files, (folder) => {
    const given = at.map((path) => `${folder}/${path}`);
    const cassettes = findCassettes(given, inputName === undefined ? {} : { inputName });
    all = cassettes.map(({ kind, path }) => `${kind} ${path.slice(folder.length + 1)}`);
  });
  return all;
}

/** Why nothing is found there, without the folder. */
function refused(files: readonly string[], at: readonly string[] = [""]): string {
  let said = "";
  inFolder(files, (folder) => {
    const given = at.map((path) => `${folder}/${path}`);
    const { message, suggestion } = assertThrows(() => findCassettes(given), CliError);
    assert(suggestion !== undefined);
    said = message.replaceAll(folder, "it");
  });
  return said;
}

Deno.test("a folder with any part is a cassette", () => {
  const parts = ["child.cast", "tape.jsonl", "meta.json", "api/0.json"];
  assertEquals(found(parts), ["folder "]);
  assertEquals(found(["api/0.json"]), ["folder "]);
  assertEquals(
    found(["one/tape.jsonl", "one/2/child.cast", "one/3/child.cast", "two/child.cast"]),
    [
      "folder one",
      "folder one/2",
      "folder one/3",
      "folder two",
    ],
  );
  assertEquals(found(["2.1.285/tools/child.cast", "2.1.332/answer/child.cast"]), [
    "folder 2.1.285/tools",
    "folder 2.1.332/answer",
  ]);
});

Deno.test("tapes are found alone, in flat and in nested folders", () => {
  const flat = ["b.jsonl", "a.jsonl", "a.fields.json", "notes/more.txt"];
  assertEquals(found(flat), ["tape a.jsonl", "tape b.jsonl"]);
  assertEquals(found(flat, { at: ["b.jsonl", "", "a.jsonl"] }), ["tape b.jsonl", "tape a.jsonl"]);
  const nested = ["one/input.jsonl", "one/expected.jsonl", "one/meta.json", "two/input.jsonl"];
  assertEquals(found(nested), ["tape one/input.jsonl", "tape two/input.jsonl"]);
  inFolder(nested, (folder) => {
    const [first] = findCassettes([`${folder}//`]);
    assertEquals(first?.name, `${folder}/one`);
  });
  const named = [
    "top.jsonl",
    "one/wire.jsonl",
    "one/input.jsonl",
    "two/wire.jsonl",
    "three/x.jsonl",
  ];
  assertEquals(found(named, { inputName: "wire.jsonl" }), [
    "tape one/wire.jsonl",
    "tape two/wire.jsonl",
  ]);
  assertEquals(found(named, { at: ["one"], inputName: "wire.jsonl" }), ["tape one/wire.jsonl"]);
  assertEquals(found(["one/input.jsonl"], { at: ["one"] }), ["tape one/input.jsonl"]);
  assertEquals(found(["notes.txt", "empty/"]), []);
});

Deno.test("a folder of two layouts is refused", () => {
  assertEquals(
    refused(["a.jsonl", "one/input.jsonl"]),
    "Cannot tell what is a cassette in it: it holds cassettes in folders (one) and tapes (a.jsonl) at once",
  );
  assertEquals(
    refused(["suite/a.jsonl", "suite/one/child.cast"]),
    "Cannot tell what is a cassette in it/suite: it holds cassettes in folders (one) and tapes (a.jsonl) at once",
  );
  assertEquals(
    refused(["one/input.jsonl", "one/expected.jsonl"], ["one"]),
    "Cannot tell what is a cassette in it/one: it holds input.jsonl and tapes (expected.jsonl) at once",
  );
  assertEquals(
    refused(["one/child.cast", "one/input.jsonl"]),
    "Cannot tell what is a cassette in it/one: it holds a cassette and tapes (input.jsonl) at once",
  );
});

Deno.test("missing paths, parts and outward links are refused", () => {
  assertEquals(refused([], ["gone.jsonl"]), "Cannot read it/gone.jsonl: it does not exist");
  assertEquals(
    refused(["child.cast"], ["child.cast"]),
    "Cannot take it/child.cast for a cassette: it is a part of one",
  );
  inFolder(["suite/a.jsonl", "elsewhere/b.jsonl"], (folder) => {
    Deno.symlinkSync(`${folder}/suite/a.jsonl`, `${folder}/suite/same.jsonl`);
    Deno.symlinkSync("nowhere", `${folder}/suite/.lock`);
    assertEquals(findCassettes([`${folder}/suite`]).length, 1);
    Deno.symlinkSync("../elsewhere", `${folder}/suite/more`);
    assertThrows(() => findCassettes([`${folder}/suite`]), CliError, "leads out of the folder");
    Deno.removeSync(`${folder}/suite/more`);
    Deno.symlinkSync("../elsewhere/b.jsonl", `${folder}/suite/b.jsonl`);
    assertThrows(() => findCassettes([`${folder}/suite`]), CliError, "leads out of the folder");
    assertEquals(findCassettes([`${folder}/suite/b.jsonl`]).length, 1);
  });
  assertEquals(
    refused([`${"deep/".repeat(20)}a.jsonl`]).replaceAll("/deep", ""),
    "Cannot look for cassettes in it: it is too deep",
  );
});
