import { assert, assertEquals } from "@std/assert";
import { findCassettes } from "../../../src/cassette/read/find_cassettes.ts";
import { Findings } from "../../../src/drift/findings.ts";
import { knownShapes } from "../../../src/drift/known_shapes.ts";
import { addExchange } from "../../../src/relay/exchanges/exchange_folder.ts";
import { keyOf } from "../../../src/relay/exchanges/request_key.ts";
import { lookForDrift } from "../../../src/drift/examine/look_for_drift.ts";

const RECORDINGS = new URL("../../../fixtures/recordings/", import.meta.url).pathname;
const RUN = `${RECORDINGS}runs/2.1.332/tools`;

function look(...paths: readonly string[]) {
  const findings = new Findings();
  const checked = lookForDrift(findCassettes(paths), { known: knownShapes(), findings });
  return { checked, findings: findings.sorted() };
}

/** A folder with the files of a recorded run, changed. */
function changed(
  change: (read: (name: string) => string, folder: string) => void,
  use: (folder: string) => void,
): void {
  const folder = Deno.makeTempDirSync();
  try {
    for (const name of ["child.cast", "tape.jsonl", "meta.json"]) {
      Deno.copyFileSync(`${RUN}/${name}`, `${folder}/${name}`);
    }
    change((name) => Deno.readTextFileSync(`${folder}/${name}`), folder);
    use(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("nothing in the recordings of this project is unknown", () => {
  const { checked, findings } = look(
    ...["runs", "sdk", "readme"].map((name) => `${RECORDINGS}${name}`),
  );
  assertEquals(findings, []);
  assert(checked.recordings > 20 && checked.frames > 200 && checked.events > 2000);
  assert([...checked.versions.keys()].includes("2.1.285"));
});

Deno.test("a damaged line is told by its number, and the rest is looked at", () => {
  changed((read, folder) => {
    Deno.writeTextFileSync(
      `${folder}/tape.jsonl`,
      `{"dir":"read"}\nnonsense\n${read("tape.jsonl")}{"dir":"re`,
    );
    Deno.writeTextFileSync(
      `${folder}/child.cast`,
      `${read("child.cast")}[1,2]\n${"[".repeat(2000)}\n`,
    );
  }, (folder) => {
    const { checked, findings } = look(folder);
    const frames = look(RUN).checked.frames;
    assertEquals(checked.frames, frames);
    const told = findings.map(({ check, where, what, first }) =>
      `${check} | ${where} | ${what} | ${first.path.slice(folder.length + 1)}`
    );
    assertEquals(
      told,
      [
        "frame rejected | line of the cast | it is nested too deeply | child.cast",
        "frame rejected | line of the cast | it is no event of a cast | child.cast",
        "frame rejected | line of the tape | it is neither a frame nor a line of the caller | tape.jsonl",
        "frame rejected | line of the tape | it is not JSON | tape.jsonl",
        "frame rejected | line of the tape | it was cut short | tape.jsonl",
      ].toSorted(),
    );
    const [foreign] = findings.filter(({ what }) => what === "it is not JSON");
    assertEquals(foreign?.first.line, 2);
  });
});

Deno.test("a cast of another program is told once, and a cassette of a later format is not read", () => {
  changed((read, folder) => {
    Deno.writeTextFileSync(
      `${folder}/child.cast`,
      `{"version":2,"width":80,"height":24}\n${read("child.cast")}`,
    );
  }, (folder) => {
    const { findings, checked } = look(folder);
    assertEquals(findings.map(({ what }) => what), ["it was not recorded by claude-print"]);
    assertEquals(checked.events, 0);
  });
  changed(
    (_, folder) => Deno.writeTextFileSync(`${folder}/meta.json`, '{"format":99}'),
    (folder) => {
      const { findings, checked } = look(folder);
      assertEquals(checked.recordings, 0);
      assertEquals(findings.map(({ check, where }) => `${check} ${where}`), [
        "frame rejected file",
      ]);
    },
  );
});

Deno.test("tapes of others are checked like one's own, and what holds nothing does not count", () => {
  const folder = Deno.makeTempDirSync();
  try {
    Deno.writeTextFileSync(`${folder}/a.jsonl`, '{"type":"news"}\n');
    Deno.writeTextFileSync(`${folder}/b.jsonl`, "");
    const { checked, findings } = look(folder);
    assertEquals(checked.recordings, 1);
    assertEquals(findings.map(({ check, what }) => `${check} ${what}`), ["type unknown news"]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("what the API said is checked where there is nothing else, and of which version it is", () => {
  const folder = Deno.makeTempDirSync();
  const events = [
    { type: "message_start", message: {} },
    { type: "content_block_start", index: 0, content_block: { type: "hologram" } },
    { type: "content_block_delta", index: 0, delta: { type: "hologram_delta" } },
    { type: "content_block_stop", index: 0, mood: "fine" },
    { type: "message_delta", delta: {} },
    { type: "message_stop" },
  ];
  const stream = events.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join("");
  try {
    makeExchange(`${folder}/streamed/api`, { answer: stream, version: "2.1.332" });
    makeExchange(`${folder}/at-once/api`, {
      answer: '{"type":"message","content":[{"type":"hologram"}]}',
      headers: { "content-type": "application/json" },
    });
    makeExchange(`${folder}/failed/api`, { answer: '{"type":"news"}', status: 529 });
    const { checked, findings } = look(folder);
    assertEquals([checked.recordings, checked.answers, checked.empty], [
      2,
      2,
      [`${folder}/failed`],
    ]);
    assertEquals([...checked.versions], [["", 1], ["2.1.332", 1]]);
    const ofStreams = findings.filter(({ where }) => !/ of (?:assistant|a message)/u.test(where));
    assertEquals(ofStreams.map(({ check, where, what, count }) => [check, where, what, count]), [
      ["type unknown", "event", "content_block_delta/hologram_delta", 1],
      ["block dropped", "block", "hologram", 2],
      ["field new", "event content_block_stop", "mood", 1],
      ["field gone", "event message_delta", "usage", 1],
    ]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

/** Makes an exchange in a folder of them. */
function makeExchange(
  api: string,
  { answer, version, status = 200, headers = { "content-type": "text/event-stream" } }: {
    readonly answer: string;
    readonly version?: string;
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
  },
): void {
  const [body, bytes] = [`{"system":"cc_version=${version}.d3d;"}`, answer]
    .map((text) => new TextEncoder().encode(text)) as [
      Uint8Array<ArrayBuffer>,
      Uint8Array<ArrayBuffer>,
    ];
  const request = { method: "POST", path: "/v1/messages?beta=true", body };
  const response = {
    status,
    headers: Object.entries(headers),
    chunks: [{ ms: 0, bytes }],
    whole: true,
  };
  addExchange(api, { exchange: { at: 0, request, response }, key: keyOf(request) });
}

Deno.test("the same is counted, names are cut, and no more than so many are told apart", () => {
  const findings = new Findings();
  const place = { path: "tape.jsonl", line: 1 };
  const found = { check: "type unknown", where: "frame", what: "x" } as const;
  for (const line of [7, 8, 9]) findings.add(found, { place: { ...place, line } });
  findings.add({ ...found, what: "é".repeat(10_000) }, { place });
  findings.add(found, { place, by: "an SDK" });
  const [one, long, other] = findings.sorted();
  assertEquals([other?.by, one?.count, one?.first.line], ["an SDK", 3, 7]);
  assertEquals(long?.what, `${"é".repeat(200)}…`);
  for (let at = 0; at < 2000; at++) findings.add({ ...found, what: `${at}` }, { place });
  assertEquals([findings.sorted().length, findings.left], [1000, 1003]);
});

Deno.test("an answer of the API that cannot be read is told, but not where it breaks off", () => {
  const told = (text: string, { whole = true, type = "text/event-stream" } = {}) => {
    const folder = Deno.makeTempDirSync();
    try {
      const bytes = new TextEncoder();
      const request = { method: "POST", path: "/v1/messages", body: bytes.encode("{}") };
      const response = {
        status: 200,
        headers: [["content-type", type]] as const,
        chunks: [{ ms: 0, bytes: bytes.encode(text) }],
        whole,
      };
      addExchange(`${folder}/api`, { exchange: { at: 0, request, response }, key: keyOf(request) });
      const { checked, findings } = look(folder);
      return [checked.answers, ...findings.map(({ where, what }) => `${where} | ${what}`)];
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  };
  const unreadable = "answer of the API | it cannot be read as JSON";
  const ping = 'data: {"type":"ping"}\n\n';
  assertEquals(told(ping), [1]);
  assertEquals(told(`${ping}data: {"type":\n\n`), [1, unreadable]);
  assertEquals(told(`${ping}data: {"type":`, { whole: false }), [1]);
  assertEquals(told("<html>", { type: "application/json" }), [1, unreadable]);
});
