import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { StandIn } from "../standin/stand_in.ts";

/** Sets the title, the clipboard and colours, moves and reorders: by 7-bit, 8-bit and invisible characters. */
const EVIL =
  "\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x1b\\\x1b[31mred\x1b[2J\x9b5mC1\x85\u202egnp.exe\u2066\r\x08";

/** Has a terminal count for minutes. */
const ENDLESS = "\x1b[2147483647b\x1b[2147483647L\x1b[2147483647S";

/** Whether a text could do anything to a terminal but show. */
function isHarmless(text: string): boolean {
  return !/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text);
}

Deno.test("the last screen of a failure reaches the terminal as text alone", async () => {
  await using claude = await StandIn.set({
    crash: { at: "prompt", code: 3, screen: `before ${ENDLESS}${EVIL} after\r\n` },
  });
  const { code, stderr } = await claude.print(["hello"]);
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
    const { code, stderr } = await claude.print(["--output-format", format, ...verbose, "hello"]);
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
  ];
  for (const run of runs) {
    const { stderr } = await run.ended;
    assert(stderr !== "");
    assert(isHarmless(stderr), JSON.stringify(stderr));
    assertStringIncludes(stderr, "<U+001B>");
  }
});

Deno.test("an answer is data: stdout carries it byte for byte, as claude -p does", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: `answer ${EVIL}.` }]] });
  const { code, stdout, stderr } = await claude.print(["hello"]);
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout, `answer ${EVIL}.\n`);
});
