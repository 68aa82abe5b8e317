import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import {
  createTraceScrubber,
  fillNeutral,
  fillSameLength,
} from "../../../src/recording/redaction/scrub_traces.ts";
import { collectTraces } from "../../../src/recording/redaction/known_traces.ts";

const collector = collectTraces({
  homes: ["/home/alice", "/dat"],
  users: ["o'hara"],
  hosts: ["alpenglow", "ann's mac"],
});
collector.value({
  cwd: "/work/acme-billing",
  output: "alice@thinkpad7:~/notes$ ls",
  project_dir: "/home/alice/clients/acme",
  project: "/work/acme-billing/web",
  projectDir: "/dat/shop",
  context: "Git user: Alice Example \nPrimary working directory: /srv/other",
  read: { "/home/zelda/a.ts": 1 },
});
const KNOWN = collector.known();
const ALIKE = createTraceScrubber(KNOWN, fillSameLength(KNOWN));
const NOBODY = createTraceScrubber(KNOWN, fillNeutral(KNOWN));

const ID = "12345678-1234-1234-1234-123456789012";

/** A text, its scrubbed text of the same length, and the text that is the same for any machine. */
const ROWS: readonly (readonly [text: string, alike: string, nobody: string])[] = [
  [
    "see /work/acme-billing/src/a.ts, and /work/acme-billing2/b.",
    "see /work/xxxx-xxxxxxx/src/a.ts, and /work/xxxx-xxxxxxxx/x.",
    "see /home/user/project/src/a.ts, and /work/xxxx-xxxxxxxx/x.",
  ],
  [
    "/home/alice/.claude/projects/-work-acme-billing/memory/",
    "/home/xxxxx/.claude/projects/-xxxx-xxxx-xxxxxxx/memory/",
    "/home/user/.claude/projects/-home-user-project/memory/",
  ],
  [
    "~/.claude/projects/-work-acme-billing-web ./projects/-work-acme-billing-x",
    "~/.claude/projects/-xxxx-xxxx-xxxxxxx-xxx ./projects/-xxxx-xxxx-xxxxxxx-x",
    "~/.claude/projects/-home-user-project ./projects/-home-user-project-x",
  ],
  [
    "~/.claude/projects/-home-alice-notes ./projects/-root",
    "~/.claude/projects/-xxxx-xxxxx-xxxxx ./projects/-xxxx",
    "~/.claude/projects/-home-user-xxxxx ./projects/-xxxx",
  ],
  [
    "/work/acme-billing/web/a.ts at ~/shop/b.ts in /root/.claude",
    "/work/xxxx-xxxxxxx/xxx/a.ts at ~/xxxx/b.ts in /root/.claude",
    "/home/user/project/a.ts at ~/project/b.ts in /home/user/.claude",
  ],
  [
    "at ~/clients/acme/x.ts, ~/notes",
    "at ~/xxxxxxx/xxxx/x.ts, ~/notes",
    "at ~/project/x.ts, ~/notes",
  ],
  ["/Users/bob/Plan für Ü.docx", "/Users/xxx/xxxx für Ü.docx", "/home/user/xxxx für Ü.docx"],
  ["/home/bob/plän/計画.txt", "/home/xxx/xxxx/ｘｘ.xxx", "/home/user/xxxx/ｘｘ.xxx"],
  [
    "PATH=/usr/bin:/home/alice/bin:/opt/acme/bin file:///mnt/nas/x -I/home/alice/inc",
    "PATH=/usr/bin:/home/xxxxx/bin:/opt/xxxx/bin file:///mnt/xxx/x -I/home/xxxxx/xxx",
    "PATH=/usr/bin:/home/user/bin:/opt/xxxx/bin file:///mnt/xxx/x -I/home/user/xxx",
  ],
  ["C:\\Users\\Alice\\Doc", "C:\\Users\\xxxxx\\xxx", "C:\\Users\\xxxxx\\xxx"],
  [
    "alice on thinkpad7, Alice Example",
    "xxxxx on xxxxxxxxx, xxxxx xxxxxxx",
    "user on host, someone",
  ],
  ["a field names zelda", "a field names xxxxx", "a field names user"],
  ["alice@acme.io now", "xxxxx@xxxx.xx now", "user@example.com now"],
  [`${"z".repeat(65)}@acme.io`, `z${"x".repeat(64)}@xxxx.xx`, "zuser@example.com"],
  // What reaches beyond another trace is a trace of its own.
  ["Alice Example@acme.io", "xxxxx xxxxxxx@xxxx.xx", "someoneuser@example.com"],
  ["mail a.b@acme.co.uk now", "mail x.x@xxxx.xx.xx now", "mail user@example.com now"],
  [
    `user_${"a1".repeat(32)}_account_${ID}_session_${ID}`,
    `user_${"00".repeat(32)}_account_${ID.replace(/\d/gu, "0")}_session_${ID}`,
    `user_${"00".repeat(32)}_account_${ID.replace(/\d/gu, "0")}_session_${ID}`,
  ],
];

/** Texts without a trace. */
const KEPT = [
  "https://x.dev/home/bob src/home/bob /usr/bin/env /etc/passwd /v1/messages a/tmp/b /home/",
  "noreply@anthropic.com, someone@example.org, git@github.com:x/y, react@18.2.0, logo@2x.png",
  "malice and alices; alpenglows; and/or -work",
  `/home/user/project/src/a.ts /tmp/ /tmp/${ID}/tasks/b1234567a`,
  "/projects/-home-user-project x.x@xxxx.xx ls -dat --shop",
];

Deno.test("paths, names, addresses and account numbers are scrubbed", () => {
  for (const [text, alike, nobody] of ROWS) {
    assertEquals(ALIKE.text(text), alike);
    assertEquals(NOBODY.text(text), nobody);
    assertEquals(alike.length, text.length);
    assertEquals(NOBODY.text(nobody), nobody);
  }
  for (const text of KEPT) {
    assertEquals(ALIKE.text(text), text);
    assertEquals(NOBODY.text(text), text);
  }
});

Deno.test("a path is found across pieces and cut alike", () => {
  assertEquals(ALIKE.pieces(["at /wo", "rk/ac", "me-bill", "ing/src/x and /ho", "me/bob."]), [
    "at /wo",
    "rk/xx",
    "xx-xxxx",
    "xxx/src/x and /ho",
    "me/xxx.",
  ]);
  assertEquals(
    NOBODY.pieces(["", "a /work/acme-", "", "billing/x", ""]).join("|"),
    "|a /home/user/||project/x|",
  );
  const all = ROWS.map(([text]) => text).join("\n");
  fc.assert(
    fc.property(fc.array(fc.nat(all.length), { maxLength: 12 }), (places) => {
      const cuts = [0, ...places.toSorted((a, b) => a - b), all.length];
      const pieces = cuts.slice(1).map((end, index) => all.slice(cuts[index], end));
      const alike = ALIKE.pieces(pieces);
      assertEquals(alike.map(({ length }) => length), pieces.map(({ length }) => length));
      assertEquals(alike.join(""), ALIKE.text(all));
      assertEquals(NOBODY.pieces(pieces).join(""), NOBODY.text(all));
    }),
    { numRuns: 50 },
  );
});

Deno.test("an unfinished path or name is left open", () => {
  const { openFrom } = ALIKE;
  assertEquals(openFrom("at /work/ac"), 3);
  assertEquals(openFrom("by Alice Exam"), 3);
  assertEquals(openFrom("on ann's m"), 3);
  assertEquals(openFrom("by o'ha"), 3);
  assertEquals(openFrom("a".repeat(5000)), 5000 - 4096);
  assertEquals(openFrom("it is over. "), Infinity);
});

Deno.test("values are scrubbed with all names of fields", () => {
  const value = {
    accountUuid: ID,
    organizationName: "Acme",
    sessionId: ID,
    files: { "/home/alice/a.ts": 1, "/home/alice/b.ts": 2, "c.ts": [null, "alice"] },
  };
  assertEquals(
    ALIKE.value(value),
    {
      accountUuid: ID.replace(/\d/gu, "0"),
      organizationName: "xxxx",
      sessionId: ID,
      files: { "/home/xxxxx/x.xx": 1, "/home/xxxxx/x.xx-2": 2, "c.ts": [null, "xxxxx"] },
    } as unknown as typeof value,
  );
  const same = { type: "system", text: "nothing" };
  assert(ALIKE.value(same) === same);
  const hostile = JSON.parse('{"__proto__":{"cwd":"/home/alice"},"toString":"alice"}');
  assertEquals(
    JSON.stringify(ALIKE.value(hostile)),
    '{"__proto__":{"cwd":"/home/xxxxx"},"toString":"xxxxx"}',
  );
});

Deno.test("folders are learned from fields", () => {
  const { value, known } = collectTraces();
  const projects = "cwd originalCwd project_dir projectDir project".split(" ");
  const homes = "home HOME".split(" ");
  for (const name of [...projects, ...homes]) value([{ [name]: `/data/${name}/.` }]);
  // None of these is the folder of a project.
  for (const cwd of ["/", "/ a", "C:\\a", "/a\nb", `/${"a".repeat(999)}`, "/data/home"]) {
    value({ cwd, file: "/data/file", "none": [null] });
  }
  assertEquals(known().projects.toSorted(), projects.map((name) => `/data/${name}`).toSorted());
  assertEquals(known().homes.toSorted(), homes.map((name) => `/data/${name}`).toSorted());
});

Deno.test("common words are not learned as names", () => {
  const { value, known } = collectTraces({
    users: ["root", "runner", "ab", "Will", "123", "xxx", "bob_"],
    hosts: ["localhost", "desktop"],
    words: [" "],
  });
  value({ cwd: "/root", home: "/home/runner", text: "/Users/you/x /home/max/y root@server:" });
  assertEquals(known(), {
    projects: [],
    homes: ["/home/runner"],
    users: ["bob"],
    hosts: [],
    words: [],
  });
});

Deno.test("at most 500 names of a kind are learned", () => {
  const { value, known } = collectTraces({ users: ["kay", "zoe"] });
  value("kay@tower:");
  for (let number = 0; number < 500; number++) value(`/home/kay${number} bob${number}@castle: `);
  value("zoe@castle:");
  const { users, hosts } = known();
  assertEquals([users.length, hosts], [500, ["tower"]]);
});

/** All folders below which users keep files. */
const ROOTS = "home Users root tmp private var/folders var/tmp mnt media Volumes srv opt work " +
  "workspace workspaces";

Deno.test("names below every folder of users are scrubbed", () => {
  for (const root of ROOTS.split(" ")) {
    assertEquals(ALIKE.text(`see /${root}/acme-corp/q.ts`), `see /${root}/xxxx-xxxx/x.xx`);
    assertEquals(ALIKE.text(`see /${root}x/acme-corp/q.ts`), `see /${root}x/acme-corp/q.ts`);
  }
});

Deno.test("scrubbing reads a number of characters linear in the text", () => {
  const exec = RegExp.prototype.exec;
  let read = 0;
  RegExp.prototype.exec = function (text) {
    read += text.length;
    return exec.call(this, text);
  };
  try {
    for (const part of ["a@", "@", "a@b.", "x.@", "user_@-"]) {
      const text = part.repeat(3000);
      read = 0;
      assertEquals(ALIKE.text(text).length, text.length);
      assert(read < 400 * text.length, `${read} characters for ${part}`);
    }
  } finally {
    RegExp.prototype.exec = exec;
  }
});
