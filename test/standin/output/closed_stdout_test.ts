import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { StandIn } from "../stand_in.ts";

const FORMATS = [[], ["--output-format", "stream-json", "--verbose"]];

/** A shell line around the run that notes its exit code. */
function around(line: string) {
  return (command: readonly string[]) => ["/bin/sh", "-c", line, "sh", ...command];
}

Deno.test("a reader that leaves early is no error", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "{prompt}" }]] });
  const note = `${claude.home.path}/code`;
  // The shell's own word at the end stands for the output that nobody reads.
  const wrap = around(`{ "$@"; echo $? > ${note}; } | head -c 1 > /dev/null; echo gone`);
  const run = await claude.print([], { wrap, stdin: "0123456789\n".repeat(20_000) });
  assertEquals([run.code, run.stdout, run.stderr], [0, "gone\n", ""]);
  assertEquals(await Deno.readTextFile(note), "0\n");
  assertEquals(claude.transcripts().size, 1);
});

Deno.test("a reader that leaves while frames are still to come ends the run, quietly", async () => {
  const tools = [{ name: "Bash", input: { command: "sleep 0.1" } }];
  await using claude = await StandIn.set({ turns: [Array(600).fill({ tools })] });
  const note = `${claude.home.path}/code`;
  const result = '{"type":"result","subtype":"success","is_error":false}';
  const wrap = around(`{ "$@"; echo $? > ${note}; } | head -n 1 > /dev/null; echo '${result}'`);
  const args = ["--output-format", "stream-json", "--verbose", "hello"];
  const run = await claude.print(args, { wrap });
  assertEquals([run.code, run.stderr], [0, ""]);
  assertEquals(await Deno.readTextFile(note), "141\n");
  assertEquals(await claude.keys(), ["\x1b"], "the child is told to stop as by a person");
  assertEquals(claude.transcripts().size, 1);
});

Deno.test("a reader that leaves with the last frame is no error", async () => {
  await using claude = await StandIn.set();
  const note = `${claude.home.path}/code`;
  const wrap = around(`{ "$@"; echo $? > ${note}; } | grep -m 1 '"type":"result"'`);
  const args = ["--output-format", "stream-json", "--verbose", "hello"];
  const run = await claude.print(args, { wrap });
  assertEquals([run.code, run.result["result"], run.stderr], [0, "Hello from the stand-in.", ""]);
  assertEquals(await Deno.readTextFile(note), "0\n");
});

// Deno finds /dev/null in their place, as it does where a caller has put it there; claude -p ends with 0 too.
Deno.test("fds that were closed before the start are no error", async () => {
  await using claude = await StandIn.set();
  for (const closed of [">&-", "2>&-", "<&- >&- 2>&-"]) {
    const wrap = around(`out=$("$@" ${closed}); code=$?; echo "\${out:-gone}"; exit $code`);
    const run = await claude.print(["hello"], { wrap });
    const printed = closed === "2>&-" ? "Hello from the stand-in.\n" : "gone\n";
    assertEquals([run.code, run.stdout, run.stderr], [0, printed, ""]);
  }
  assertEquals(claude.transcripts().size, 3);
});

for (const format of FORMATS) {
  Deno.test(`a stdout on a full disk is told, and the transcript kept: ${format[1] ?? "text"}`, async () => {
    const tools = [{ name: "Bash", input: { command: "sleep 0.3" } }];
    await using claude = await StandIn.set({ turns: [[{ tools }, { text: "Done." }]] });
    const end = format.length === 0
      ? ":"
      : `echo '{"type":"result","subtype":"internal_error","is_error":true}'`;
    const wrap = around(`"$@" > /dev/full; code=$?; ${end}; exit $code`);
    const run = await claude.print([...format, "hello"], { wrap });
    assertEquals(run.code, 2);
    assertMatch(
      run.stderr,
      /^claude-print: Cannot write the output: No space left on device.*\n {2}\S.*\n$/,
    );
    assertEquals(await claude.keys(), [], "the turn is not cut short");
    const [transcript = ""] = claude.transcripts().values();
    assertStringIncludes(transcript, "Done.");
  });
}

Deno.test("a stderr on a full disk leaves the exit code as it is", async () => {
  await using claude = await StandIn.set({ crash: { at: "prompt", code: 7 } });
  const wrap = around('"$@" 2> /dev/full; code=$?; echo "claude-print: Told" >&2; exit $code');
  const run = await claude.print(["hello"], { wrap });
  assertEquals([run.code, run.stdout], [2, ""]);
});
