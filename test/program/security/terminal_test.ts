import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { StandIn } from "../stand_in.ts";
import { startProgram } from "../../start_program.ts";

/** Sets the title, the clipboard and colours, moves and reorders: by 7-bit, 8-bit and invisible characters. */
const EVIL =
  "\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x1b\\\x1b[31mred\x1b[2J\x9b5mC1\x85\u202egnp.exe\u2066\r\x08";

/** Has a terminal count for minutes. */
const ENDLESS = "\x1b[2147483647b\x1b[2147483647L\x1b[2147483647S";

/** Invisible characters. */
const HIDDEN = "\u3164\u115f\u2800\ufe0f\u034f\u{e0100}\u00a0";

/** Whether a text has only visible characters. */
function isHarmless(text: string): boolean {
  return !/(?![\n\t ])[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text);
}

Deno.test("the last screen of a failure is plain text", async () => {
  await using claude = await StandIn.set({
    crash: { at: "prompt", code: 3, screen: `before ${ENDLESS}${EVIL} after\r\n` },
  });
  const { code, stderr } = await claude.printInProcess(["hello"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "The last screen:");
  assert(isHarmless(stderr), JSON.stringify(stderr));
});

Deno.test("an API error on stderr is plain text", async () => {
  for (const format of ["text", "json", "stream-json"]) {
    await using claude = await StandIn.set({
      turns: [[{ failure: { error: "invalid_request", status: 400, message: `API: ${EVIL}` } }]],
    });
    const verbose = format === "stream-json" ? ["--verbose"] : [];
    const { code, stderr } = await claude.printInProcess([
      "--output-format",
      format,
      ...verbose,
      "hello",
    ]);
    assertEquals(code, 1);
    assert(isHarmless(stderr), JSON.stringify(stderr));
  }
});

Deno.test("names and values in messages are plain text", async () => {
  await using claude = await StandIn.set();
  const runs = [
    claude.start(["--settings", `/${EVIL}.json`, "hello"], { killed: true }),
    claude.start(["--claude-binary", EVIL, "hello"], { namesBinary: false, killed: true }),
    claude.start([`--${EVIL}`, "hello"], { killed: true }),
    claude.start(["--input-file", EVIL], { killed: true }),
    // The notice that only the first prompt counts.
    claude.start(["--input-file", `/${HIDDEN}`, "--", "", `${EVIL}${HIDDEN}`], { killed: true }),
  ];
  for (const run of runs) {
    const { stderr } = await run.ended;
    assert(stderr !== "");
    assert(isHarmless(stderr), JSON.stringify(stderr));
    assertMatch(stderr, /<U\+00[19]B>/);
  }
});

Deno.test("reports escape invisible characters of folders", async () => {
  await using claude = await StandIn.set();
  const tmp = `${claude.home.path}/${EVIL.replaceAll("/", "")}${HIDDEN}`;
  await Deno.mkdir(tmp);
  const report = async (...args: readonly string[]) => {
    const env = { ...claude.home.env, TMPDIR: tmp };
    const { stdout, stderr } = await startProgram([...CLAUDE_PRINT, ...args], {
      env,
      cwd: claude.home.project,
    }).ended;
    assertEquals(stderr, "");
    assert(isHarmless(stdout), JSON.stringify(stdout));
    return stdout;
  };
  // A sweep sees the folders of a doctor that is at work.
  const [swept, json] = await Promise.all([report("sweep"), report("sweep", "--json")]);
  const [checks, details, shim] = await Promise.all([
    report("doctor", "--offline"),
    report("doctor", "--offline", "--json"),
    report("shim", "status", tmp),
  ]);
  for (const text of [swept, checks, shim]) {
    assertStringIncludes(text, "<U+3164><U+115F><U+2800><U+FE0F>");
  }
  assertEquals(JSON.parse(json), []);
  assertStringIncludes(details, "\\u3164\\u115f\\u2800\\ufe0f\\u034f\\udb40\\udd00\\u00a0");
});

Deno.test("stdout has the answer byte for byte", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: `answer ${EVIL}.` }]] });
  const { code, stdout, stderr } = await claude.printInProcess(["hello"]);
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout, `answer ${EVIL}.\n`);
});

/** Secrets in every place where a caller of `claude -p` puts them; none has a shape that gives it away. */
const SECRETS = {
  apiKey: "qwertz-4711-asdfgh",
  oauth: "oauth-of-the-caller-0815",
  inline: "inline-setting-1234",
  file: "setting-in-a-file-5678",
  header: "header-value-9012",
  mcp: "mcp-variable-3456",
  custom: "custom-header-7890",
};

Deno.test("--trace prints steps but no secret or prompt", async () => {
  await using claude = await StandIn.set();
  const { home } = claude;
  const file = `${home.path}/mine.json`;
  const config = `${home.path}/mcp.json`;
  await Deno.writeTextFile(file, JSON.stringify({ env: { MY_TOKEN: SECRETS.file } }));
  const servers = {
    mcpServers: {
      web: { type: "http", url: "http://127.0.0.1:1", headers: { "X-Pass": SECRETS.header } },
      local: { command: "/bin/false", env: { PASS_WORD: SECRETS.mcp } },
    },
  };
  await Deno.writeTextFile(config, JSON.stringify(servers));
  const inline = JSON.stringify({ env: { OTHER_SECRET: SECRETS.inline } });
  const env = {
    ANTHROPIC_API_KEY: SECRETS.apiKey,
    CLAUDE_CODE_OAUTH_TOKEN: SECRETS.oauth,
    ANTHROPIC_CUSTOM_HEADERS: `X-One: ${SECRETS.custom}`,
  };
  const calls = [
    ["--settings", inline, "--mcp-config", JSON.stringify(servers), config],
    ["--settings", file],
  ];
  for (const args of calls) {
    const { code, stderr } = await claude.printInProcess(
      ["--trace", ...args, "--", "open sesame"],
      { warns: true, env },
    );
    assertEquals(code, 0, stderr);
    for (const line of stderr.trimEnd().split("\n")) assertMatch(line, /^\[ *\d+ ms\] \S/);
    for (const step of ["sandbox /", "hook Stop", "exit code 0", "--settings="]) {
      assertStringIncludes(stderr, step);
    }
    assert(!stderr.includes("open sesame"), "the prompt");
    for (const [name, secret] of Object.entries(SECRETS)) {
      assert(!stderr.includes(secret), `${name} in ${stderr}`);
    }
  }
});

Deno.test("the last screen of a failure has no secrets", async () => {
  const screen = "The door is open: swordfish-42, sk-ant-api03-0123456789abcdef\r\n";
  await using claude = await StandIn.set({ crash: { at: "prompt", code: 7, screen } });
  const { code, stderr } = await claude.printInProcess(["hello"], {
    env: { DOOR_PASSWORD: "swordfish-42" },
  });
  assertEquals(code, 2);
  assertStringIncludes(stderr, "  | The door is open: [redacted], [redacted]\n");
});
