import { assertEquals, assertMatch } from "@std/assert";
import { gzipSync } from "node:zlib";
import { inFolder, lintAt, makeCassette, makeExchange } from "./scene.ts";

const KEY = `sk-ant-${"a1b2".repeat(6)}`;

/** What is said of a cassette to which something was done. */
function linted(spoil: (folder: string) => void) {
  let said: ReturnType<typeof lintAt> = { replays: [], problems: [] };
  inFolder((folder) => {
    makeCassette(folder);
    spoil(folder);
    const { replays, problems } = lintAt(folder);
    said = { replays, problems: problems.map((problem) => problem.replaceAll(folder, "it")) };
  });
  return said;
}

const edit = (path: string, change: (text: string) => string) =>
  Deno.writeTextFileSync(path, change(Deno.readTextFileSync(path)));

Deno.test("a cassette replays in the ways for which it has the parts", () => {
  assertEquals(linted(() => {}), { replays: ["world", "program", "api"], problems: [] });
  assertEquals(linted((folder) => Deno.removeSync(`${folder}/child.cast`)), {
    replays: ["program", "api"],
    problems: [],
  });
  assertEquals(linted((folder) => Deno.removeSync(`${folder}/tape.jsonl`)), {
    replays: ["world", "api"],
    problems: [],
  });
  assertEquals(
    linted((folder) => {
      for (const name of ["child.cast", "tape.jsonl", "meta.json"]) {
        Deno.removeSync(`${folder}/${name}`);
      }
    }),
    { replays: ["api"], problems: [] },
  );
});

Deno.test("what is replayed otherwise than it was recorded is wrong", () => {
  const { replays, problems } = linted((folder) =>
    edit(`${folder}/tape.jsonl`, (text) => text.replaceAll('"num_turns":3', '"num_turns":4'))
  );
  assertEquals(replays, ["program", "api"]);
  assertMatch(
    problems.join("\n"),
    /^Frame \d+ \(result\/success\): the recorded run printed 4 as num_turns, /u,
  );
});

Deno.test("a tape with what cannot be replayed is wrong, whoever made it", () => {
  inFolder((folder) => {
    const path = `${folder}/a.jsonl`;
    const question = {
      type: "control_request",
      request_id: "1",
      request: { subtype: "ask_the_moon" },
    };
    Deno.writeTextFileSync(path, JSON.stringify({ dir: "read", frame: question }));
    const { replays, problems } = lintAt(path);
    assertEquals([replays, problems.length], [[], 1]);
    assertMatch(problems.join(), /ask_the_moon/u);
    Deno.writeTextFileSync(path, "");
    assertEquals(lintAt(path).problems, [`There is nothing on ${path}`]);
  });
});

Deno.test("a tape on which an answer of the caller is missing is wrong", () => {
  inFolder((folder) => {
    makeCassette(folder, "2.1.332/asked");
    assertEquals(lintAt(folder).problems, []);
    edit(`${folder}/tape.jsonl`, (text) => {
      const lines = text.split("\n");
      const answer = lines.findIndex((line) => line.includes('control_response\\"'));
      return lines.toSpliced(answer, 1).join("\n");
    });
    const { replays, problems } = lintAt(folder);
    assertEquals([replays, problems.length], [["world", "api"], 1]);
    assertMatch(problems.join(), /^There is no answer to the question "can_use_tool" \(\S+\)$/u);
  });
});

Deno.test("an exchange that cannot be read, is none, or has the key of another is wrong", () => {
  const api = (spoil: (api: string, name: string) => void) =>
    linted((folder) => {
      const [file] = [...Deno.readDirSync(`${folder}/api`)];
      spoil(`${folder}/api`, file?.name ?? "");
    });
  const renamed = api((api, name) =>
    Deno.renameSync(`${api}/${name}`, `${api}/${"0".repeat(16)}-0.json`)
  );
  assertEquals(renamed.replays, ["world", "program"]);
  assertMatch(
    renamed.problems.join(),
    /^api\/0{16}-0\.json has the key of another request: its own begins with [\da-f]{16}$/u,
  );
  assertMatch(
    api((api, name) => edit(`${api}/${name}`, (text) => text.slice(0, -9))).problems.join(),
    /^Cannot read the exchange it\/api\/\S+: it is no JSON$/u,
  );
  assertEquals(
    api((api) => Deno.writeTextFileSync(`${api}/notes.json`, "{}")).problems,
    ["api/notes.json is no exchange"],
  );
  assertEquals(api((api, name) => Deno.removeSync(`${api}/${name}`)).problems, [
    "There is no exchange in api",
  ]);
});

Deno.test("a secret that was left is told by its place, whatever hides it, and not what it is", () => {
  const [half, rest] = [KEY.slice(0, 14), KEY.slice(14)];
  const line = (value: unknown) => `${JSON.stringify(value)}\n`;
  const append = (path: string, ...lines: readonly unknown[]) =>
    Deno.writeTextFileSync(path, lines.map(line).join(""), { append: true });
  const cast = linted((folder) => {
    edit(
      `${folder}/child.cast`,
      (text) =>
        text.replace(
          /^\[([\d.]+),"o",.*\n/mu,
          (first, at) =>
            `${first}${line([Number(at), "o", half])}${line([Number(at), "o", `\x1b[1m${rest} `])}`,
        ),
    );
  });
  assertMatch(
    cast.problems.join("\n"),
    /^A secret is left in line \d+ of child\.cast\nA secret is left in line \d+ of child\.cast$/u,
  );
  const delta = (text: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text },
  });
  const tape = linted((folder) =>
    append(
      `${folder}/tape.jsonl`,
      ...[half, rest].map((text) => ({
        dir: "read",
        frame: { type: "stream_event", event: delta(text) },
      })),
    )
  );
  assertEquals(tape.problems.filter((problem) => problem.startsWith("A secret")).length, 2);
  const stream = [half, rest].map((text) => `data: ${JSON.stringify(delta(text))}\n\n`).join("");
  const told = linted((folder) => void makeExchange(`${folder}/api`, { answer: stream }));
  assertMatch(told.problems.join(), /^A secret is left in api\/[\da-f]{16}-1\.json$/u);
  const packed = linted((folder) => {
    const name = makeExchange(`${folder}/api`, { headers: [["content-encoding", "gzip"]] });
    edit(`${folder}/api/${name}`, (text) => {
      const file = JSON.parse(text);
      file.response.chunks = [{
        ms: 0,
        body: { base64: new Uint8Array(gzipSync(KEY)).toBase64() },
      }];
      return JSON.stringify(file);
    });
  });
  assertMatch(packed.problems.join(), /^A secret is left in api\/[\da-f]{16}-1\.json$/u);
  const meta = linted((folder) =>
    edit(`${folder}/meta.json`, (text) => text.replace('"linux-x86_64"', `"${KEY}"`))
  );
  assertEquals(meta.problems, ["A secret is left in meta.json"]);
  for (const { problems } of [cast, tape, told, packed, meta]) {
    assertEquals(problems.join().includes("a1b2"), false);
  }
});

Deno.test("of many problems of a kind a few are told", () => {
  const { problems } = linted((folder) => {
    edit(
      `${folder}/tape.jsonl`,
      (text) => text.replaceAll('"type":"system"', `"key":"${KEY}","type":"system"`),
    );
    for (let number = 0; number < 8; number++) makeExchange(`${folder}/api`, { answer: KEY });
  });
  assertEquals(
    problems.filter((problem) => problem.startsWith("A secret is left in api")).length,
    5,
  );
  assertEquals(problems.at(-1), "And 3 more of that kind");
});

Deno.test("in what is nested deeply a secret is told where there is one", () => {
  const found = (innermost: string) =>
    linted((folder) => {
      const data = `{"in":${"[".repeat(450)}${innermost}${"]".repeat(450)}}`;
      makeExchange(`${folder}/api`, { answer: `data: ${data}\n\n` });
    }).problems.filter((problem) => problem.startsWith("A secret"));
  assertEquals(found('"nothing"'), []);
  assertEquals(found('{"text":"nothing","number":1}'), []);
  assertEquals(found(`"${KEY}"`).length, 1);
  assertEquals(found('{"password":"nothing that has a shape"}').length, 1);
});
