import { assertEquals } from "@std/assert";
import { findCassettes } from "../../src/cassette/read/find_cassettes.ts";
import { lintCassette } from "../../src/hygiene/lint_cassette.ts";
import { RECORDED_RUNS } from "../cassette/recorded_runs.ts";
import { inFolder, lintAt, makeCassette, makeExchange, REDACTOR, scrubAt } from "./scene.ts";

const BOTH = { prompts: true, answers: true };

/** What is said of a scrubbed cassette that was changed afterwards. */
function problemsOf(
  spoil: (folder: string) => void,
  { said = { prompts: false, answers: false }, known = {} } = {},
): readonly string[] {
  let problems: readonly string[] = [];
  inFolder((folder) => {
    makeCassette(`${folder}/it`);
    scrubAt(`${folder}/it`, { said });
    spoil(`${folder}/it`);
    const [found] = findCassettes([`${folder}/it`]);
    if (found === undefined) return;
    problems = lintCassette(found, { redactor: REDACTOR, known }).problems;
  });
  return problems;
}

const append = (path: string, value: unknown) =>
  Deno.writeTextFileSync(path, `${JSON.stringify(value)}\n`, { append: true });
const lastLine = (path: string) => Deno.readTextFileSync(path).split("\n").length - 1;

Deno.test("nothing is left in what was scrubbed, whatever was taken out", () => {
  const runs = RECORDED_RUNS.filter(({ name }) =>
    /^2\.1\.332\/(?:subagents|conversation|asked|hooks|partial-messages|tools|resumed)$/u.test(name)
  );
  for (const { name } of runs) {
    const either = name.endsWith("/conversation")
      ? [{ prompts: true, answers: false }, { prompts: false, answers: true }]
      : [];
    for (const said of [{ prompts: false, answers: false }, ...either, BOTH]) {
      inFolder((folder) => {
        makeCassette(folder, name);
        scrubAt(folder, { said });
        assertEquals(lintAt(folder).problems, [], `${name} ${JSON.stringify(said)}`);
      });
    }
  }
});

Deno.test("what was left in a scrubbed cassette is told by its kind and place, and not what it is", () => {
  let line = 0;
  const tape = (frame: unknown) => (folder: string) => {
    append(`${folder}/tape.jsonl`, { dir: "read", at: 9e9, frame });
    line = lastLine(`${folder}/tape.jsonl`);
  };
  const replays = /^Frame \d+|^The recorded run/u;
  const left = (frame: unknown, options = {}) =>
    problemsOf(tape(frame), options).filter((problem) => !replays.test(problem))
      .map((problem) => problem.replace(String(line), "N"));
  const status = (text: string) => ({ type: "system", subtype: "status", text });
  assertEquals(left(status("at /home/bob/secret")), ["A path is left in line N of tape.jsonl"]);
  assertEquals(left(status("mail bob@acme.io")), [
    "An address of mail is left in line N of tape.jsonl",
  ]);
  assertEquals(left(status("zoe was here"), { known: { users: ["zoe"] } }), [
    "The name of a user is left in line N of tape.jsonl",
  ]);
  assertEquals(left({ type: "system", account_uuid: "1234abcd-1234-4234-8234-123456789abc" }), [
    "The number or name of an account is left in line N of tape.jsonl",
  ]);
  const said = { type: "user", message: { role: "user", content: "Hello" } };
  assertEquals(left(said), []);
  assertEquals(left(said, { said: { prompts: true, answers: false } }), [
    "A prompt is left in line N of tape.jsonl",
  ]);
  assertEquals(left(said, { said: BOTH }), [
    "A prompt or an answer is left in line N of tape.jsonl",
  ]);
});

Deno.test("what is left in api, in meta.json and in the name of a cassette is told too", () => {
  assertEquals(
    problemsOf((folder) => {
      const [file] = [...Deno.readDirSync(`${folder}/api`)];
      const path = `${folder}/api/${file?.name}`;
      const text = Deno.readTextFileSync(path);
      Deno.writeTextFileSync(
        path,
        text.replace('"content-type",', '"x-by","bob@acme.io"],["content-type",'),
      );
    }).map((problem) => problem.replace(/[\da-f]{16}/u, "KEY")),
    ["An address of mail is left in api/KEY-0.json"],
  );
  assertEquals(
    problemsOf((folder) => {
      const path = `${folder}/meta.json`;
      const meta = JSON.parse(Deno.readTextFileSync(path));
      Deno.writeTextFileSync(path, JSON.stringify({ ...meta, more: "/home/bob/x" }));
    }),
    ["A path is left in meta.json"],
  );
  assertEquals(
    problemsOf(() => {}, { known: { words: ["it"] } })[0],
    "A name is left in what it is called",
  );
  // Of one that was not scrubbed nothing of the kind is said.
  inFolder((folder) => {
    makeExchange(`${folder}/api`);
    assertEquals(lintAt(folder).problems, []);
  });
});
