import { assertEquals, assertMatch } from "@std/assert";
import { gzipSync } from "node:zlib";
import { inFolder, lintAt, makeCassette, makeExchange, scrubAt } from "./scene.ts";

const KEY = `sk-ant-${"a1b2".repeat(6)}`;
const BOTH = { prompts: true, answers: true };

/**
 * Lints a cassette that was changed, after it was scrubbed if `blanked` is given.
 *
 * @param options.only the only files of the cassette
 */
function lint(
  change: (folder: string) => void,
  { blanked, known = {}, only }: {
    readonly only?: "api" | "tape.jsonl";
    readonly blanked?: { readonly prompts: boolean; readonly answers: boolean };
    readonly known?: Parameters<typeof lintAt>[1];
  } = {},
): ReturnType<typeof lintAt> {
  let linted: ReturnType<typeof lintAt> = { replays: [], problems: [] };
  inFolder((folder) => {
    const path = `${folder}/it`;
    if (only === "api") makeExchange(`${path}/api`);
    else makeCassette(path);
    if (only === "tape.jsonl") {
      for (const name of ["api", "child.cast"]) {
        Deno.removeSync(`${path}/${name}`, { recursive: true });
      }
    }
    if (blanked !== undefined) scrubAt(path, { blanked });
    change(path);
    const { replays, problems } = lintAt(path, known);
    const named = (text: string) => text.replaceAll(folder, "").replace(/\b[\da-f]{16}\b/u, "KEY");
    linted = { replays, problems: problems.map(named) };
  });
  return linted;
}

const edit = (path: string, change: (text: string) => string) =>
  Deno.writeTextFileSync(path, change(Deno.readTextFileSync(path)));
const append = (path: string, ...lines: readonly unknown[]) =>
  edit(path, (text) => text + lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
const exchangeIn = (folder: string) => [...Deno.readDirSync(`${folder}/api`)][0]?.name ?? "";

Deno.test("a cassette replays by the files that it has", () => {
  for (
    const [removed, replays] of [
      [[], ["world", "program", "api"]],
      [["child.cast"], ["program", "api"]],
      [["tape.jsonl"], ["world", "api"]],
      [["child.cast", "tape.jsonl", "meta.json"], ["api"]],
    ] as const
  ) {
    const linted = lint((folder) => {
      for (const name of removed) Deno.removeSync(`${folder}/${name}`);
    });
    assertEquals(linted, { replays, problems: [] });
  }
});

Deno.test("a replay that prints another frame is a problem", () => {
  const { replays, problems } = lint((folder) =>
    edit(`${folder}/tape.jsonl`, (text) => text.replaceAll('"num_turns":3', '"num_turns":4'))
  );
  assertEquals(replays, ["program", "api"]);
  assertMatch(
    problems.join("\n"),
    /^Frame \d+ \(result\/success\): the recorded run printed 4 as num_turns, /u,
  );
});

Deno.test("a tape that cannot be replayed is a problem", () => {
  inFolder((folder) => {
    const path = `${folder}/a.jsonl`;
    const request = { subtype: "ask_the_moon" };
    const frame = { type: "control_request", request_id: "1", request };
    Deno.writeTextFileSync(path, JSON.stringify({ dir: "read", frame }));
    const { replays, problems } = lintAt(path);
    assertEquals([replays, problems.length], [[], 1]);
    assertMatch(problems.join(), /ask_the_moon/u);
    Deno.writeTextFileSync(path, "");
    assertEquals(lintAt(path).problems, [`There is nothing on ${path}`]);
  });
});

Deno.test("a missing answer of the caller is a problem", () => {
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

Deno.test("a damaged, renamed or missing exchange is a problem", () => {
  const name = `${"0".repeat(16)}-0.json`;
  for (
    const [change, problem] of [
      [
        (api: string, path: string) => Deno.renameSync(path, `${api}/${name}`),
        /^api\/KEY-0\.json has the key of another request: its own begins with [\da-f]{16}$/u,
      ],
      [
        (_api: string, path: string) => edit(path, (text) => text.slice(0, -9)),
        /^Cannot read the exchange \/it\/api\/\S+: it is no JSON$/u,
      ],
      [
        (api: string) => Deno.writeTextFileSync(`${api}/notes.json`, "{}"),
        /^api\/notes\.json is no exchange$/u,
      ],
      [(_api: string, path: string) => Deno.removeSync(path), /^There is no exchange in api$/u],
    ] as const
  ) {
    const { replays, problems } = lint(
      (folder) => change(`${folder}/api`, `${folder}/api/${exchangeIn(folder)}`),
      { only: "api" },
    );
    assertMatch(problems.join(), problem);
    assertEquals(replays, []);
  }
});

Deno.test("a secret is reported by its place, and not printed", () => {
  const [half, rest] = [KEY.slice(0, 14), KEY.slice(14)];
  const delta = (text: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text },
  });
  const rows: readonly (readonly [
    name: string,
    change: (folder: string) => void,
    place: RegExp,
    count: number,
  ])[] = [
    [
      "two pieces of output",
      (folder) =>
        edit(
          `${folder}/child.cast`,
          (text) =>
            text.replace(/^\[([\d.]+),"o",.*\n/mu, (first, at) =>
              first + [half, `\x1b[1m${rest} `].map((data) =>
                `${JSON.stringify([Number(at), "o", data])}\n`
              ).join("")),
        ),
      /^A secret is left in line \d+ of child\.cast$/u,
      2,
    ],
    [
      "two stream events",
      (folder) =>
        append(
          `${folder}/tape.jsonl`,
          ...[half, rest].map((text) => ({
            dir: "read",
            frame: { type: "stream_event", event: delta(text) },
          })),
        ),
      /^A secret is left in line \d+ of tape\.jsonl$/u,
      2,
    ],
    [
      "two events of the API",
      (folder) => {
        const answer = [half, rest].map((text) => `data: ${JSON.stringify(delta(text))}\n\n`).join(
          "",
        );
        makeExchange(`${folder}/api`, { answer });
      },
      /^A secret is left in api\/KEY-1\.json$/u,
      1,
    ],
    [
      "a compressed body",
      (folder) => {
        const name = makeExchange(`${folder}/api`, { headers: [["content-encoding", "gzip"]] });
        edit(`${folder}/api/${name}`, (text) => {
          const file = JSON.parse(text);
          const base64 = new Uint8Array(gzipSync(KEY)).toBase64();
          file.response.chunks = [{ ms: 0, body: { base64 } }];
          return JSON.stringify(file);
        });
      },
      /^A secret is left in api\/KEY-1\.json$/u,
      1,
    ],
    [
      "meta.json",
      (folder) => edit(`${folder}/meta.json`, (text) => text.replace('"linux-x86_64"', `"${KEY}"`)),
      /^A secret is left in meta\.json$/u,
      1,
    ],
  ];
  for (const [name, change, place, count] of rows) {
    const { problems } = lint(change, / of the API|body$/u.test(name) ? { only: "api" } : {});
    assertEquals(problems.filter((problem) => place.test(problem)).length, count, name);
    assertEquals(problems.join().includes("a1b2"), false, name);
  }
});

Deno.test("at most five problems of a kind are listed", () => {
  const { problems } = lint((folder) => {
    for (let number = 0; number < 8; number++) makeExchange(`${folder}/api`, { answer: KEY });
  }, { only: "api" });
  assertEquals(problems.filter((problem) => /^A secret is left in api/u.test(problem)).length, 5);
  assertEquals(problems.at(-1), "And 3 more of that kind");
});

Deno.test("a secret is found in deeply nested values", () => {
  for (
    const [innermost, secrets] of [
      ['"nothing"', 0],
      ['{"text":"nothing","number":1}', 0],
      [`"${KEY}"`, 1],
      ['{"password":"nothing that has a shape"}', 1],
    ] as const
  ) {
    const data = `{"in":${"[".repeat(450)}${innermost}${"]".repeat(450)}}`;
    const { problems } = lint(
      (folder) => void makeExchange(`${folder}/api`, { answer: `data: ${data}\n\n` }),
      { only: "api" },
    );
    assertEquals(problems.filter((problem) => problem.startsWith("A secret")).length, secrets);
  }
});

Deno.test("scrubbed recordings have no problems", () => {
  for (
    const [name, blanked] of [
      ["conversation", { prompts: false, answers: true }],
      ["subagents", BOTH],
    ] as const
  ) {
    inFolder((folder) => {
      makeCassette(folder, `2.1.332/${name}`);
      scrubAt(folder, { blanked });
      assertEquals(lintAt(folder).problems, [], name);
    });
  }
});

Deno.test("traces in a tape are reported by kind and line", () => {
  const frames = [
    ...["at /home/bob/secret", "mail bob@acme.io", "zoe was here"].map((text) => ({
      type: "system",
      subtype: "status",
      text,
    })),
    { type: "system", account_uuid: "1234abcd-1234-4234-8234-123456789abc" },
    { type: "user", message: { role: "user", content: "Hello" } },
  ];
  const left = (blanked: typeof BOTH) =>
    lint((folder) => {
      const tape = `${folder}/tape.jsonl`;
      Deno.writeTextFileSync(tape, "");
      append(tape, ...frames.map((frame) => ({ dir: "read", at: 9e9, frame })));
    }, { blanked, known: { users: ["zoe"] }, only: "tape.jsonl" }).problems.filter((each) =>
      each.includes("is left")
    );
  assertEquals(left({ prompts: false, answers: false }), [
    "A path is left in line 1 of tape.jsonl",
    "An address of mail is left in line 2 of tape.jsonl",
    "The name of a user is left in line 3 of tape.jsonl",
    "The number or name of an account is left in line 4 of tape.jsonl",
  ]);
  assertEquals(
    left({ prompts: true, answers: false }).at(-1),
    "A prompt is left in line 5 of tape.jsonl",
  );
  assertEquals(left(BOTH).at(-1), "A prompt or an answer is left in line 5 of tape.jsonl");
});

Deno.test("traces in exchanges, meta.json and the name are reported", () => {
  const blanked = { prompts: false, answers: false };
  const api = lint(
    (folder) =>
      edit(
        `${folder}/api/${exchangeIn(folder)}`,
        (text) => text.replace('"content-type",', '"x-by","bob@acme.io"],["content-type",'),
      ),
    { blanked },
  );
  assertEquals(api.problems, ["An address of mail is left in api/KEY-0.json"]);
  const meta = lint(
    (folder) =>
      edit(
        `${folder}/meta.json`,
        (text) => JSON.stringify({ ...JSON.parse(text), more: "/home/bob/x" }),
      ),
    { blanked },
  );
  assertEquals(meta.problems, ["A path is left in meta.json"]);
  const named = lint(() => {}, { blanked, known: { words: ["it"] } });
  assertEquals(named.problems[0], "A name is left in what it is called");
});
