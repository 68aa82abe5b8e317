import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../src/cli_error.ts";
import { scrubInto } from "../../src/hygiene/scrub_into.ts";
import { filesBelow, inFolder, lintAt, makeCassette, REDACTOR } from "./scene.ts";

const OPTIONS = {
  said: { prompts: false, answers: false },
  redactor: REDACTOR,
  known: { homes: [], users: [], hosts: [] },
};
const TAPE = '{"type":"system","cwd":"/home/alice/x"}\n';
const SCRUBBED = '{"type":"system","cwd":"/home/xxxxx/x"}\n';

const write = (path: string, text = TAPE) => {
  Deno.mkdirSync(path.replace(/[^/]*$/u, ""), { recursive: true });
  Deno.writeTextFileSync(path, text);
};

/** The names of all that is in a folder, hidden or not. */
const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

Deno.test("a cassette is scrubbed into a folder of its own, and stays as it is", () => {
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
    // What was scrubbed is copied as it is, exchanges too.
    scrubInto(`${folder}/again`, { ...OPTIONS, paths: [out] });
    assertEquals(filesBelow(`${folder}/again`), filesBelow(out));
  });
});

Deno.test("tapes have the same places in the new folder, flat and nested, each by its own name", () => {
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

Deno.test("nothing is overwritten, and nothing is left of what went wrong", () => {
  inFolder((folder) => {
    const one = `${folder}/one`;
    makeCassette(one);
    const before = filesBelow(folder);
    const refused = (out: string, message: string) => {
      const error = assertThrows(() => scrubInto(out, { ...OPTIONS, paths: [one] }), CliError);
      assertEquals(error.message.replaceAll(folder, ""), message);
      assertEquals(filesBelow(folder), before);
    };
    refused(`${folder}/one`, "Cannot scrub in /one: it is in /one, which is to stay as it is");
    refused(
      `${folder}/one/api`,
      "Cannot scrub in /one/api: it is in /one, which is to stay as it is",
    );
    Deno.mkdirSync(`${folder}/full/.unfinished`, { recursive: true });
    refused(`${folder}/full`, "Cannot scrub in /full: there is something in it");
    Deno.removeSync(`${folder}/full`, { recursive: true });
    refused(
      `${folder}/one/meta.json`,
      "Cannot scrub in /one/meta.json: it is in /one, which is to stay as it is",
    );
    refused(
      `${folder}/one/new`,
      "Cannot scrub in /one/new: it is in /one, which is to stay as it is",
    );
    refused(`${folder}/no/new`, "Cannot scrub in /no/new: the folder above it does not exist");
    Deno.writeTextFileSync(`${one}/api/${"0".repeat(16)}-0.json`, "{");
    assertThrows(() => scrubInto(`${folder}/out`, { ...OPTIONS, paths: [one] }), CliError);
    assertEquals(namesIn(folder), ["one"]);
  });
});
