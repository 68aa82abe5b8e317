import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { StandIn } from "../standin/stand_in.ts";
import { startProgram } from "../start_program.ts";

/** Sets the title, the clipboard and colours, moves and reorders: by 7-bit, 8-bit and invisible characters. */
const EVIL =
  "\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x1b\\\x1b[31mred\x1b[2J\x9b5mC1\x85\u202egnp.exe\u2066\r\x08";

/** Has a terminal count for minutes. */
const ENDLESS = "\x1b[2147483647b\x1b[2147483647L\x1b[2147483647S";

/** Seen by nobody, in any name. */
const HIDDEN = "\u3164\u115f\u2800\ufe0f\u034f\u{e0100}\u00a0";

/** Whether a text could do anything to a terminal but show, or hide anything from whoever reads it. */
function isHarmless(text: string): boolean {
  return !/(?![\n\t ])[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text);
}

Deno.test("the last screen of a failure reaches the terminal as text alone", async () => {
  await using claude = await StandIn.set({
    crash: { at: "prompt", code: 3, screen: `before ${ENDLESS}${EVIL} after\r\n` },
  });
  const { code, stderr } = await claude.printHere(["hello"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "The last screen:");
  assert(isHarmless(stderr), JSON.stringify(stderr));
});

Deno.test("an error of the API reaches stderr as text alone", async () => {
  for (const format of ["text", "json", "stream-json"]) {
    await using claude = await StandIn.set({
      turns: [[{ failure: { error: "invalid_request", status: 400, message: `API: ${EVIL}` } }]],
    });
    const verbose = format === "stream-json" ? ["--verbose"] : [];
    const { code, stderr } = await claude.printHere([
      "--output-format",
      format,
      ...verbose,
      "hello",
    ]);
    assertEquals(code, 1);
    assert(isHarmless(stderr), JSON.stringify(stderr));
  }
});

Deno.test("names of files and values in messages are text alone", async () => {
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

Deno.test("reports name folders in which nothing hides, and JSON escapes it", async () => {
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

Deno.test("an answer is data: stdout carries it byte for byte, as claude -p does", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: `answer ${EVIL}.` }]] });
  const { code, stdout, stderr } = await claude.printHere(["hello"]);
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout, `answer ${EVIL}.\n`);
});
