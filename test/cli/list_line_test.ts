import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../src/cli_error.ts";
import { parseListInput, readListInput } from "../../src/cli/list_line.ts";
import { parseArguments } from "../../src/cli/parse_arguments.ts";

Deno.test("readListInput() takes a string for a prompt", () => {
  assertEquals(readListInput("two\nlines"), { prompt: "two\nlines", args: [] });
});

Deno.test("readListInput() takes an object with a prompt and flags", () => {
  assertEquals(readListInput({ id: 7, prompt: "hello", args: ["--model", "haiku"] }), {
    prompt: "hello",
    args: ["--model", "haiku"],
  });
});

for (
  const [line, message] of [
    ["hello", "Cannot read the line: it is not JSON"],
    ["null", "Cannot read the line: it has no prompt"],
    ["[1]", "Cannot read the line: it has no prompt"],
    ['{"prompt": 1}', "Cannot read the line: it has no prompt"],
    [
      '{"prompt": "x", "args": "--model"}',
      'Cannot read the line: its "args" are not a list of strings',
    ],
  ] as const
) {
  Deno.test(`a list refuses the line ${line}`, () => {
    assertThrows(() => readListInput(parseListInput(line)), CliError, message);
  });
}

async function requestOf(argv: readonly string[], more?: readonly string[]) {
  const command = await parseArguments(argv, more === undefined ? {} : { more });
  if (command.kind !== "run") throw new Error(`"${argv.join(" ")}" is no run`);
  return command.request;
}

Deno.test("--jsonl prints json", async () => {
  const { jsonl, outputFormat } = await requestOf(["--jsonl"]);
  assertEquals([jsonl, outputFormat], [true, "json"]);
});

Deno.test("the flags of a line count as if typed last", async () => {
  const list = ["--jsonl", "--model", "opus", "--allowedTools", "Bash", "--", "Sum up:"];
  const { promptArgument, forwarded } = await requestOf(list, ["--model", "haiku"]);
  assertEquals(promptArgument, "Sum up:");
  assertEquals(forwarded, ["--allowedTools=Bash", "--model=haiku"]);
});

const ID = "123e4567-e89b-42d3-a456-426614174000";

Deno.test("a line may have a session id of its own, a list may not", async () => {
  assertEquals((await requestOf(["--jsonl"], ["--session-id", ID])).sessionId, ID);
  await assertRefused(["--jsonl", "--session-id", ID], "--jsonl with --session-id");
});

Deno.test("a list refuses what would not be a line a run", async () => {
  await assertRefused(["--jsonl", "--output-format", "text"], "--jsonl prints json, not text");
  await assertRefused(
    ["--jsonl", "--output-format=stream-json", "--verbose"],
    "--jsonl prints json, not stream-json",
  );
  await assertRefused(["--jsonl", "--record", "x"], "--record takes one run");
});

for (const args of [["--jsonl"], ["--input-file", "x"], ["--output-format=text"], ["hello"]]) {
  Deno.test(`a line cannot take ${args[0]} among its flags`, async () => {
    await assertRefused(["--jsonl"], 'its "args" cannot take', args);
  });
}

async function assertRefused(
  argv: readonly string[],
  message: string,
  more?: readonly string[],
): Promise<void> {
  const error = await requestOf(argv, more).catch((error: unknown) => error);
  assertEquals(error instanceof CliError && error.message.includes(message), true, `${error}`);
}
