import { assertEquals, assertStringIncludes } from "@std/assert";
import { forEachVersion, forNewestVersion, REAL_VERSIONS } from "../for_each_version.ts";
import { parseObject } from "../print_mode_facts.ts";
import type { RealClaude, StartOptions } from "../real_claude.ts";
import { textsIn } from "../texts_in.ts";

/** Runs a prompt from stdin and returns what the API received as the user's text. */
async function received(real: RealClaude, options: StartOptions, args: readonly string[] = []) {
  const before = real.api.turns.length;
  const run = await real.printInProcess(args, options);
  assertEquals(run, { code: 0, stdout: "Hello from the scripted API\n", stderr: "" });
  const [turn, ...more] = real.api.turns.slice(before);
  assertEquals(more, [], "one request");
  return textsIn(turn?.body, "user").at(-1);
}

/** A text of that many bytes in lines, with a number in each so that no piece can be mistaken for another. */
function textOfBytes(bytes: number): string {
  const lines: string[] = [];
  for (let length = 0; length < bytes; length += 64) {
    lines.push(`${`${lines.length}`.padStart(8, "0")} ünïcödé ${"x".repeat(40)}`);
  }
  return lines.join("\n").slice(0, bytes);
}

/** A prompt with all that may be taken for something else, and a text of so many bytes in its middle. */
const awkward = (bytes: number): string =>
  [
    "\n\n  white space\n\tat both ends\n\n",
    "❤️ 👩‍👩‍👧‍👦 🇩🇪🇫🇷 🏴󠁧󠁢󠁳󠁣󠁴󠁿 👍🏽 漢字 한국어 e\u0301 עברית می\u200cخواهم",
    "CRLF line ends\r\ntwo\r\n",
    "@nofile and @/no/such/file",
    "\"a\" 'b' `touch x` $(touch y) ${HOME} \\n %s [201~ ^[[201~",
    `ultracode, please: ${"word ".repeat(4000)}`,
    textOfBytes(bytes),
    "  \n\n",
  ].join("\n");

const AWKWARD_BEGINNINGS = ["//x", "!touch pressed"];

forEachVersion("a prompt of 1 MB reaches the API exactly", async (real) => {
  const prompt = `# remember this${awkward(1024 * 1024)}`;
  assertEquals(await received(real, { stdin: prompt }) === prompt, true);
}, { versions: REAL_VERSIONS });

forNewestVersion("a prompt that begins like a command reaches the API", async (real) => {
  const [first = "", ...others] = AWKWARD_BEGINNINGS;
  // A path at the beginning of a prompt is in test/daily/real/turns/slash_test.ts.
  for (const prompt of others) assertEquals(await received(real, { stdin: prompt }), prompt);
  const file = `${real.home.path}/prompt.txt`;
  await Deno.writeTextFile(file, `${first}\nfrom a file\n`);
  assertEquals(await received(real, {}, ["--input-file", file]), `${first}\nfrom a file\n`);
  assertEquals([...Deno.readDirSync(real.home.project)], [], "nothing was carried out");
});

/** Prompts that 2.1.330 takes characters out of on stdin, or turns some into others. */
const ALTERED = [
  "zero width\u200bspace",
  "byte order\ufeffmark",
  "soft\u00adhyphen",
  "an escape \x1b[31msequence\x1b[0m",
  "a bell \x07",
  "a lone carriage\rreturn",
  'a <pasted_content id="abcd">\nb',
];

forNewestVersion(
  "characters that stdin alters are exact, or refused when long",
  async (real) => {
    const altered = ALTERED.join("\n");
    const prompt = `${"x".repeat(1_048_576)}${altered}`;
    const run = await real.printInProcess(["--output-format", "json"], { stdin: prompt });
    assertEquals(run.code, 2);
    assertStringIncludes(run.stderr, "U+200B");
    const result = parseObject(run.stdout);
    assertEquals(result.subtype, "internal_error");
    assertEquals(result.result, undefined, "no answer to another prompt");
    const exact = prompt.slice(2000);
    const argument = "--help -p -- \\ ";
    assertEquals(
      await received(real, { stdin: exact }, ["-p", "--", argument]),
      `${argument}\n${exact}`,
    );
  },
);
