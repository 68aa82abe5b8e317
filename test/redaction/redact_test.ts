import { Buffer } from "node:buffer";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { createRedactor } from "../../src/redaction/redact.ts";

const HEX = "0123456789abcdef0123456789abcdef01234567";

/** One of each shape, as it stands in a text, and what is left of it. */
const SHAPES: readonly (readonly [text: string, left: string])[] = [
  [`sk-ant-api03-${HEX}-AA`, "[redacted]"],
  [`sk-ant-oat01-${HEX}`, "[redacted]"],
  [`ghp_${HEX}`, "[redacted]"],
  [`github_pat_11ABCDE_${HEX}`, "[redacted]"],
  [`glpat-${HEX.slice(0, 20)}`, "[redacted]"],
  [`xoxb-1234567890-${HEX}`, "[redacted]"],
  [`npm_${HEX}`, "[redacted]"],
  ["AKIAIOSFODNN7EXAMPLE", "[redacted]"],
  [
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws_secret_access_key = [redacted]",
  ],
  [`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${HEX}`, "[redacted]"],
  [`bearer ${HEX}`, "bearer [redacted]"],
  ["Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"],
  ['"Authorization":"Bearer short"', '"Authorization":"Bearer [redacted]"'],
  ["x-api-key: abcdefgh", "x-api-key: [redacted]"],
  ['"refresh_token":"abcdefgh"', '"refresh_token":"[redacted]"'],
  ['"accessToken": "abcdefgh"', '"accessToken": "[redacted]"'],
  ["http://user:hunter2@proxy.example:3128", "http://user:[redacted]@proxy.example:3128"],
  [
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${HEX}\n${HEX}\n-----END OPENSSH PRIVATE KEY-----`,
    "[redacted]",
  ],
  [`-----BEGIN RSA PRIVATE KEY-----\n  ${HEX}`, "[redacted]"],
];

const BLIND = createRedactor({ env: {} });

for (const [text, left] of SHAPES) {
  Deno.test(`redacts by shape: ${left === "[redacted]" ? text.slice(0, 24) : left}`, () => {
    assertEquals(BLIND.text(text), left);
    assertEquals(BLIND.text(`one\ntwo (${text}) three\nfour`), `one\ntwo (${left}) three\nfour`);
  });
}

Deno.test("redacts the values of variables whose name says that they are secret", () => {
  const env = {
    ANTHROPIC_API_KEY: "plain-looking value",
    my_password: "hunter2hunter2",
    SHORT_TOKEN: "1234567",
    EDITOR: "something-else",
    ANTHROPIC_CUSTOM_HEADERS: "X-Team: team-seven\nX-Pass: letmein-now",
  };
  const { text } = createRedactor({ env });
  assertEquals(
    text("plain-looking value, hunter2hunter2!, 1234567, something-else, letmein-now, X-Pass"),
    "[redacted], [redacted]!, 1234567, something-else, [redacted], X-Pass",
  );
});

Deno.test("redacts a known secret as JSON writes it, with all that patterns mean something by", () => {
  const secret = 'a"b\\c.*(d)[e]{2}+|^$/';
  const { text } = createRedactor({ env: { A_SECRET: secret } });
  assertEquals(
    text(`<${secret}> ${JSON.stringify({ secret })}`),
    '<[redacted]> {"secret":"[redacted]"}',
  );
});

Deno.test("redacts a known secret in base64 at each place among other bytes", () => {
  for (
    const secret of ["swordfish", "plain-looking-value", "S3cr3t/value+of=mine?", "Pässwörter"]
  ) {
    const { text } = createRedactor({ env: { A_SECRET: secret } });
    for (const before of ["", "u", "us", "user:", "user:x"]) {
      for (const after of ["", "\n", "12", "123"]) {
        const encoded = Buffer.from(before + secret + after).toString("base64");
        for (const spelled of [encoded, encoded.replaceAll("+", "-").replaceAll("/", "_")]) {
          const left = text(`<${spelled}>`).split("[redacted]");
          assertEquals(left.length, 2, spelled);
          // A character at either end may hold bits of what stands beside the secret.
          const most = (beside: string) => Math.ceil(beside.length * 8 / 6);
          assert(`${left[0]}`.length <= "<".length + most(before), left.join());
          assert(`${left[1]}`.length <= "==>".length + 1 + most(after), left.join());
        }
      }
    }
  }
});

Deno.test("redacts base64 that is wrapped, also where JSON spells the rows", () => {
  const secret = `${HEX}${HEX}`;
  const { text } = createRedactor({ env: { A_SECRET: secret } });
  const wrapped = Buffer.from(secret).toString("base64").replace(/.{76}/gu, "$&\n");
  assertStringIncludes(wrapped, "\n");
  let said = wrapped;
  for (const _depth of [0, 1, 2]) {
    assertEquals(text(said).replaceAll(/[\\"]/gu, "").replace(/\]..?=?$/u, "]"), "[redacted]");
    const rows = said.replaceAll("\n", "\r\n").replaceAll("\\n", "\\r\\n");
    assertEquals(text(rows).replaceAll(/[\\"]/gu, "").replace(/\]..?=?$/u, "]"), "[redacted]");
    said = JSON.stringify(said);
  }
});

Deno.test("redacts a known secret in URLs and in hexadecimal digits", () => {
  const secret = "S3cr3t/value+of=mine (é)";
  const { text } = createRedactor({ env: { A_SECRET: secret } });
  const url = encodeURIComponent(secret);
  const hex = Buffer.from(secret).toString("hex");
  for (
    const spelled of [
      url,
      url.replaceAll(/%../gu, (escape) => escape.toLowerCase()),
      url.replaceAll("%2F", "/"),
      url.replaceAll("%20", "+"),
      url.replaceAll("(", "%28").replaceAll(")", "%29"),
      encodeURI(secret),
      `${new URLSearchParams({ secret })}`.slice("secret=".length),
      hex,
      hex.toUpperCase(),
    ]
  ) assertEquals(text(`a=${spelled}&b=1`), "a=[redacted]&b=1", spelled);
});

Deno.test("redacts what the end of a row cuts in two", () => {
  const { text } = createRedactor({ env: { A_SECRET: "plain-looking-value" } });
  assertEquals(text("│ is plain-loo  │\n│ king-value so │"), "│ is [redacted] so │");
  assertEquals(text(`key sk-ant-api03-${HEX}\n  ${HEX}\nnext`), "key [redacted]\nnext");
});

Deno.test("redacts the longer of two secrets that begin alike", () => {
  const { text } = createRedactor({ env: { A_KEY: "abcdefgh", B_KEY: "abcdefghijkl" } });
  assertEquals(text("abcdefghijkl abcdefgh"), "[redacted] [redacted]");
});

Deno.test("a command line tells the names in env and headers, not the values", () => {
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
    "--append-system-prompt=Use letmein-now, not debug, and {env}",
  ];
  const redactor = createRedactor({ env: {}, args });
  assertEquals(
    redactor.commandLine(args),
    "--permission-mode=default " +
      '--mcp-config={"mcpServers":{"a":{"command":"a","args":["-v"],' +
      '"env":{"LEVEL":"[redacted]","A_TOKEN":"[redacted]"}},' +
      '"b":{"type":"http","url":"http://b","headers":{"Authorization":"[redacted]"}}}} ' +
      "--mcp-config=servers.json " +
      "--append-system-prompt=Use [redacted], not debug, and {env}",
  );
});

Deno.test("leaves text alone that is no secret", () => {
  for (
    const text of [
      "Bearer authentication is what the API wants; basic understanding is enough",
      "a token, the key: value pairs, and the password prompt",
      "sk-ant- is how they begin, ghp_ too, AKIA as well",
      "https://example.com:8080/a@b and mailto:someone@example.com",
      "src/driver/redact.ts 3f2c1b7e-5d44-4c58-9d6b-3a2f6f1f2e11 c989f41b0d8f9c1e2a3b4c5d6e7f8091a2b3c4d5",
      "/tmp/claude-print-1000-4242/config/projects/-home-user-project/0b9a.jsonl",
    ]
  ) assertEquals(BLIND.text(text), text);
});

/** Words that belong to no secret. */
const word = fc.stringMatching(/^[a-z .,;:(){}<>\n\t│äöü日本語-]{0,40}$/u);
const SECRET = "S3cr3t/value+of=mine";
const planted = fc.constantFrom(
  SECRET,
  ...SHAPES.filter(([, left]) => left === "[redacted]").map(([text]) => text)
    .filter((text) => !text.startsWith("-----BEGIN RSA")),
);

Deno.test("redacts every secret and nothing else, whatever is around it", () => {
  const { text } = createRedactor({ env: { MY_SECRET: SECRET } });
  fc.assert(fc.property(word, fc.array(fc.tuple(planted, word)), (first, rest) => {
    const whole = first + rest.map(([secret, after]) => ` ${secret}; ${after}`).join("");
    assertEquals(text(whole), first + rest.map(([, after]) => ` [redacted]; ${after}`).join(""));
  }));
});

Deno.test("redacts once and for all: a second time changes nothing", () => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "[redacted]",
      "redacted",
      "Bearer ",
      '"token":"',
      "\n",
      "sk-ant-",
      "://a:",
      "@",
    ),
    planted,
  );
  fc.assert(fc.property(fc.array(piece), fc.string({ minLength: 8 }), (pieces, secret) => {
    const { text } = createRedactor({ env: { A_KEY: secret, B_KEY: SECRET } });
    const once = text(pieces.join(""));
    assertEquals(text(once), once);
    assert(!once.includes(SECRET));
  }));
});

Deno.test("takes its time over long texts, but not too much of it", () => {
  const { text } = createRedactor({ env: { A_KEY: SECRET } });
  const long = `${"eyJ.-_ x-api-key \n".repeat(20_000)}${SECRET}`;
  assertStringIncludes(text(long), "[redacted]");
});
