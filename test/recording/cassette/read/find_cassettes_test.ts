import { assert, assertEquals, assertThrows } from "@std/assert";
import { findCassettes } from "../../../../src/recording/cassette/read/find_cassettes.ts";
import { CliError } from "../../../../src/cli_error.ts";
import { tempFolder } from "../../../temp_folder.ts";

/** A folder with these files, which are empty; a path that ends in a slash is a folder. */
const folderOf = (paths: readonly string[]) =>
  tempFolder(Object.fromEntries(paths.map((path) => [path, ""])));

/** Each row: files, what is found as `kind path`, and the path to search, if it is not the folder. */
type Row = readonly [
  files: readonly string[],
  found: readonly string[],
  options?: { readonly at?: readonly string[]; readonly inputName?: string },
];

function assertFound(rows: readonly Row[]): void {
  for (const [files, expected, { at = [""], ...options } = {}] of rows) {
    using folder = folderOf(files);
    const cassettes = findCassettes(at.map((path) => `${folder.path}/${path}`), options);
    const found = cassettes.map(({ kind, path }) =>
      `${kind} ${path.slice(folder.path.length + 1)}`.trimEnd()
    );
    assertEquals(found, expected, files.join(", "));
  }
}

/** The error for a folder with these files, or for a path in it. */
function refusal(files: readonly string[], at = ""): string {
  using folder = folderOf(files);
  const { message, suggestion } = assertThrows(
    () => findCassettes([`${folder.path}/${at}`]),
    CliError,
  );
  assert(suggestion !== undefined);
  return message.replaceAll(folder.path, "it");
}

Deno.test("a folder with any part is a cassette", () => {
  assertFound([
    [["child.cast", "tape.jsonl", "meta.json", "api/0.json"], ["folder"]],
    [["api/0.json"], ["folder"]],
    [
      ["one/tape.jsonl", "one/2/child.cast", "one/3/child.cast", "two/child.cast"],
      ["folder one", "folder one/2", "folder one/3", "folder two"],
    ],
    [
      ["2.1.285/tools/child.cast", "2.1.332/answer/child.cast"],
      ["folder 2.1.285/tools", "folder 2.1.332/answer"],
    ],
  ]);
});

Deno.test("tapes are found alone, in flat and in nested folders", () => {
  const flat = ["b.jsonl", "a.jsonl", "a.fields.json", "notes/more.txt"];
  const nested = ["one/input.jsonl", "one/expected.jsonl", "one/meta.json", "two/input.jsonl"];
  const wires = ["one/wire.jsonl", "one/input.jsonl", "two/wire.jsonl"];
  const named = ["top.jsonl", ...wires, "three/x.jsonl"];
  const inputName = "wire.jsonl";
  assertFound([
    [flat, ["tape a.jsonl", "tape b.jsonl"]],
    [flat, ["tape b.jsonl", "tape a.jsonl"], { at: ["b.jsonl", "", "a.jsonl"] }],
    [nested, ["tape one/input.jsonl", "tape two/input.jsonl"]],
    [named, ["tape one/wire.jsonl", "tape two/wire.jsonl"], { inputName }],
    [named, ["tape one/wire.jsonl"], { at: ["one"], inputName }],
    [["one/input.jsonl"], ["tape one/input.jsonl"], { at: ["one"] }],
    [["notes.txt", "empty/"], []],
  ]);
  using folder = folderOf(nested);
  assertEquals(findCassettes([`${folder.path}//`])[0]?.name, `${folder.path}/one`);
});

Deno.test("a folder of two layouts is refused", () => {
  const rows = [
    [["a.jsonl", "one/input.jsonl"], "it", "cassettes in folders (one) and tapes (a.jsonl)"],
    [
      ["suite/a.jsonl", "suite/one/child.cast"],
      "it/suite",
      "cassettes in folders (one) and tapes (a.jsonl)",
    ],
    [
      ["one/input.jsonl", "one/expected.jsonl"],
      "it/one",
      "input.jsonl and tapes (expected.jsonl)",
      "one",
    ],
    [["one/child.cast", "one/input.jsonl"], "it/one", "a cassette and tapes (input.jsonl)"],
  ] as const;
  for (const [files, where, what, at] of rows) {
    assertEquals(
      refusal(files, at),
      `Cannot tell what is a cassette in ${where}: it holds ${what} at once`,
    );
  }
});

Deno.test("missing paths, parts and deep folders are refused", () => {
  assertEquals(refusal([], "gone.jsonl"), "Cannot read it/gone.jsonl: it does not exist");
  assertEquals(
    refusal(["child.cast"], "child.cast"),
    "Cannot take it/child.cast for a cassette: it is a part of one",
  );
  assertEquals(
    refusal([`${"deep/".repeat(20)}a.jsonl`]).replaceAll("/deep", ""),
    "Cannot look for cassettes in it: it is too deep",
  );
});

Deno.test("links out of the folder are refused unless named", () => {
  using folder = folderOf(["suite/a.jsonl", "elsewhere/b.jsonl"]);
  const suite = `${folder.path}/suite`;
  Deno.symlinkSync(`${suite}/a.jsonl`, `${suite}/same.jsonl`);
  Deno.symlinkSync("nowhere", `${suite}/.lock`);
  assertEquals(findCassettes([suite]).length, 1);
  for (const [target, name] of [["elsewhere", "more"], ["elsewhere/b.jsonl", "b.jsonl"]]) {
    Deno.symlinkSync(`../${target}`, `${suite}/${name}`);
    assertThrows(() => findCassettes([suite]), CliError, "leads out of the folder");
    if (name === "b.jsonl") assertEquals(findCassettes([`${suite}/${name}`]).length, 1);
    Deno.removeSync(`${suite}/${name}`);
  }
});
