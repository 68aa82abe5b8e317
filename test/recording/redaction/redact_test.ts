import { Buffer } from "node:buffer";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { escapeInvisible, visibleScreen } from "../../../src/recording/redaction/visible_text.ts";
import { ownTraces } from "../../../src/recording/redaction/known_traces.ts";
import { createRedactor } from "../../../src/recording/redaction/redact.ts";

const HEX = "0123456789abcdef0123456789abcdef01234567";
const BLIND = createRedactor({ env: {} });

/** Redacts with a single known secret. */
const redactWith = (secret: string) => createRedactor({ env: { A_SECRET: secret } }).text;

/** A text with a secret of a known shape, and the text without it. */
const SHAPES: readonly (readonly [text: string, left: string])[] = [
  ["AKIAIOSFODNN7EXAMPLE", "[redacted]"],
  ["ASIAIOSFODNN7EXAMPLE", "[redacted]"],
  [
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws_secret_access_key = [redacted]",
  ],
  ["Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"],
  ['"Authorization":"Bearer short"', '"Authorization":"Bearer [redacted]"'],
  ["authorization=token x", "authorization=token [redacted]"],
  ['"refresh_token":"abcdefgh"', '"refresh_token":"[redacted]"'],
  ['"accessToken": "abcdefgh"', '"accessToken": "[redacted]"'],
  ["http://user:hunter2@proxy.example:3128", "http://user:[redacted]@proxy.example:3128"],
  [
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${HEX}\n${HEX}\n-----END OPENSSH PRIVATE KEY-----`,
    "[redacted]",
  ],
  [`-----BEGIN RSA PRIVATE KEY-----\n  ${HEX}`, "[redacted]"],
];

Deno.test("secrets of known shapes are redacted in any text", () => {
  for (const [text, left] of SHAPES) {
    assertEquals(BLIND.text(text), left);
    assertEquals(BLIND.text(`one\ntwo (${text}) three\nfour`), `one\ntwo (${left}) three\nfour`);
  }
});

/** The text before a secret, the shortest length of the secret, and the text after it. */
const SHORTEST: readonly (readonly [before: string, least: number, after?: string])[] = [
  ["sk-ant-", 8],
  ...[..."pousr"].map((kind) => [`gh${kind}_`, 20] as const),
  ["github_pat_", 20],
  ["glpat-", 16],
  ...[..."abeoprs"].map((kind) => [`xox${kind}-`, 10] as const),
  ["npm_", 30],
  ["rk_live_", 16],
  ["sk_live_", 16],
  ["AIza", 30],
  ["eyJ", 8, ".01234567.01234567"],
  ["eyJ01234567.", 8, ".01234567"],
  ["eyJ01234567.01234567.", 8],
  ["bearer ", 16],
  ["x-api-key: ", 8],
  ["aws_secret_access_key=", 40],
  ...["apikey", "api_key", "token", "secret", "password"].map((name) =>
    [`"${name}": "`, 8, '"'] as const
  ),
];

Deno.test("each shape of secret needs its shortest length", () => {
  for (const [before, least, after = ""] of SHORTEST) {
    const textOf = (length: number) => `see ${before}${HEX.slice(0, length)}${after} there`;
    const left = BLIND.text(textOf(least));
    assert(left.includes("[redacted]") && !left.includes(HEX.slice(0, least)), textOf(least));
    assertEquals(BLIND.text(textOf(least - 1)), textOf(least - 1));
  }
});

Deno.test("text without secrets stays as it is", () => {
  for (
    const text of [
      "Bearer authentication is what the API wants; basic understanding is enough",
      "a token, the key: value pairs, and the password prompt",
      "sk-ant- is how they begin, ghp_ too, AKIA as well, not AKIAIOSFODNN7EXAMPLES",
      "https://example.com:8080/a@b and mailto:someone@example.com",
      "src/driver/redact.ts 3f2c1b7e-5d44-4c58-9d6b-3a2f6f1f2e11 c989f41b0d8f9c1e2a3b4c5d6e7f8091a2b3c4d5",
      "/tmp/claude-print-1000-4242/config/projects/-home-user-project/0b9a.jsonl",
    ]
  ) assertEquals(BLIND.text(text), text);
});

Deno.test("values of variables with secret names are redacted", () => {
  const { text } = createRedactor({
    env: {
      ANTHROPIC_API_KEY: "plain-looking value",
      my_password: "hunter2hunter2",
      SHORT_TOKEN: "1234567",
      EDITOR: "something-else",
      ANTHROPIC_CUSTOM_HEADERS: "X-Team: team-seven\nX-Pass: letmein-now",
      A_KEY: "abcdefgh",
      B_KEY: "abcdefghijkl",
    },
  });
  assertEquals(
    text("plain-looking value, hunter2hunter2!, 1234567, something-else, letmein-now, X-Pass"),
    "[redacted], [redacted]!, 1234567, something-else, [redacted], X-Pass",
  );
  assertEquals(text("abcdefghijkl abcdefgh"), "[redacted] [redacted]");
});

Deno.test("a known secret is redacted in base64 between other bytes", () => {
  for (const secret of ["swordfish", "~~>~~>~~?~~?", "Pässwörter"]) {
    const text = redactWith(secret);
    for (const before of ["", "u", "us", "user:x"]) {
      for (const after of ["", "\n", "12", "123"]) {
        const encoded = Buffer.from(before + secret + after).toString("base64");
        for (const spelled of [encoded, encoded.replaceAll("+", "-").replaceAll("/", "_")]) {
          const left = text(`<${spelled}>`).split("[redacted]");
          assertEquals(left.length, 2, spelled);
          // The first and the last character may hold bits of the neighbouring bytes.
          const most = (neighbour: string) => Math.ceil(neighbour.length * 8 / 6);
          assert(`${left[0]}`.length <= "<".length + most(before), left.join());
          assert(`${left[1]}`.length <= "==>".length + 1 + most(after), left.join());
        }
      }
    }
  }
});

Deno.test("wrapped base64 is redacted, also inside JSON", () => {
  const secret = `${HEX}${HEX}`;
  const text = redactWith(secret);
  const ink = (left: string) => left.replaceAll(/[\\"]/gu, "").replace(/\]..?=?$/u, "]");
  let wrapped = Buffer.from(secret).toString("base64").replace(/.{76}/gu, "$&\n");
  for (const _depth of [0, 1, 2]) {
    assertEquals(ink(text(wrapped)), "[redacted]");
    const rows = wrapped.replaceAll("\n", "\r\n").replaceAll("\\n", "\\r\\n");
    assertEquals(ink(text(rows)), "[redacted]");
    wrapped = JSON.stringify(wrapped);
  }
});

Deno.test("a known secret is redacted in JSON, URLs and hexadecimal", () => {
  const special = 'a"b\\c.*(d)[e]{2}+|^$/';
  assertEquals(
    redactWith(special)(`<${special}> ${JSON.stringify({ special })}`),
    '<[redacted]> {"special":"[redacted]"}',
  );
  const secret = "S3cr3t/value+of=mine (é)";
  const text = redactWith(secret);
  const url = encodeURIComponent(secret);
  const hex = Buffer.from(secret).toString("hex");
  for (
    const spelled of [
      url,
      url.replaceAll(/%../gu, (escape) => escape.toLowerCase()),
      url.replaceAll("%2F", "/"),
      url.replaceAll("%20", "+"),
      url.replaceAll("(", "%28").replaceAll(")", "%29"),
      url.replaceAll("(", "%28").replaceAll(")", "%29").replaceAll("%2F", "/"),
      encodeURI(secret),
      `${new URLSearchParams({ secret })}`.slice("secret=".length),
      hex,
      hex.toUpperCase(),
    ]
  ) assertEquals(text(`a=${spelled}&b=1`), "a=[redacted]&b=1", spelled);
});

Deno.test("a secret is redacted across the end of a row", () => {
  const text = redactWith("plain-looking-value");
  assertEquals(text("│ is plain-loo  │\n│ king-value so │"), "│ is [redacted] so │");
  assertEquals(text(`key sk-ant-api03-${HEX}\n  ${HEX}\nnext`), "key [redacted]\nnext");
});

Deno.test("a command line shows names in env and headers only", () => {
  const args = [
    "--permission-mode=default",
    `--mcp-config=${
      JSON.stringify({
        mcpServers: {
          a: { command: "a", args: ["-v"], env: { LEVEL: "debug", A_TOKEN: "letmein-now" } },
          b: { type: "http", url: "http://b", headers: { Authorization: "Bearer letmein" } },
        },
      })
    }`,
    "--mcp-config=servers.json",
    '--settings={"env":null,"headers":"debug"}',
    "--append-system-prompt=Use letmein-now, not debug, and {env}",
  ];
  assertEquals(
    createRedactor({ env: {}, args }).commandLine(args),
    "--permission-mode=default " +
      '--mcp-config={"mcpServers":{"a":{"command":"a","args":["-v"],' +
      '"env":{"LEVEL":"[redacted]","A_TOKEN":"[redacted]"}},' +
      '"b":{"type":"http","url":"http://b","headers":{"Authorization":"[redacted]"}}}} ' +
      '--mcp-config=servers.json --settings={"env":null,"headers":"debug"} ' +
      "--append-system-prompt=Use [redacted], not debug, and {env}",
  );
});

const SECRET = "S3cr3t/value+of=mine";
const harmless = fc.stringMatching(/^[a-z .,;:(){}<>\n\t│äöü日本語-]{0,40}$/u);
const planted = fc.constantFrom(
  SECRET,
  `sk-ant-oat01-${HEX}`,
  `npm_${HEX}`,
  `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${HEX}`,
  "AKIAIOSFODNN7EXAMPLE",
);

Deno.test("every secret and nothing else is redacted from random text", () => {
  const text = redactWith(SECRET);
  fc.assert(
    fc.property(harmless, fc.array(fc.tuple(planted, harmless)), (first, rest) => {
      const whole = first + rest.map(([secret, after]) => ` ${secret}; ${after}`).join("");
      assertEquals(text(whole), first + rest.map(([, after]) => ` [redacted]; ${after}`).join(""));
    }),
    { numRuns: 50 },
  );
});

Deno.test("redacting a second time changes nothing", () => {
  const pieces = ["[redacted]", "redacted", "Bearer ", '"token":"', "\n", "sk-ant-", "://a:", "@"];
  const piece = fc.oneof(fc.string(), fc.constantFrom(...pieces), planted);
  fc.assert(
    fc.property(fc.array(piece), fc.string({ minLength: 8 }), (pieces, secret) => {
      const { text } = createRedactor({ env: { A_KEY: secret, B_KEY: SECRET } });
      const once = text(pieces.join(""));
      assertEquals(text(once), once);
      assert(!once.includes(SECRET));
    }),
    { numRuns: 50 },
  );
});

Deno.test("a screen is shown without invisible characters and secrets", () => {
  const screen = [
    "\u3164\u2800\u00a0",
    "│ Do you\u200b trust\u202e\u3000this? │",
    "❯ 1. Yes\ufe0f\u{e0041} ☎\ufe0f \x9b6n",
    "",
  ];
  assertEquals(visibleScreen(screen, { text: (text) => text.replace("Yes", "[redacted]") }), [
    "│ Do you trust this? │",
    "❯ 1. [redacted] ☎\ufe0f 6n",
  ]);
  assertEquals(visibleScreen(["\u200b", " "], { text: (text) => text }), []);
});

Deno.test("invisible characters and piles of marks are named", () => {
  const text = `a b\tc\n\x1b[1m ☎\ufe0f \u{e0041} e${"\u0301".repeat(10)} \u{1d159}`;
  assertEquals(
    escapeInvisible(text, { keep: "\n\t" }),
    `a b\tc\n<U+001B>[1m ☎\ufe0f <U+E0041> e${"\u0301".repeat(8)}<2 marks> <U+1D159>`,
  );
  assertEquals(escapeInvisible("a\n"), "a<U+000A>");
});

Deno.test("the own machine and user are known from variables", () => {
  const env = { HOME: "/home/alice", USER: "alice", LOGNAME: "", HOSTNAME: "box", SHELL: "sh" };
  const known = { homes: ["/home/alice"], users: ["alice"], hosts: ["box", Deno.hostname()] };
  assertEquals(ownTraces({ env, cwd: "/work" }), { ...known, projects: ["/work"] });
  assertEquals(ownTraces({ env }), { ...known, projects: [] });
});
