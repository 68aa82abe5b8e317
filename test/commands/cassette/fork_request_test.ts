import { assertEquals, assertRejects } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { forkRequest } from "../../../src/commands/cassette/fork_request.ts";

Deno.test("forkRequest() adds what a fork has flags for to those of a run", async () => {
  const { record, apiCassette, model, timeoutMs, forwarded } = await forkRequest({
    model: "haiku",
    apiCassette: "a",
    record: "r",
    flags: ["--timeout", "5", "--allowedTools", "Bash"],
  });
  assertEquals([record, apiCassette?.folder, model, timeoutMs], ["r", "a", "haiku", 5000]);
  assertEquals(forwarded, ["--model=haiku", "--allowedTools=Bash"]);
});

Deno.test("forkRequest() refuses what says something else than a fork does", async () => {
  for (
    const [flags, message] of [
      [["--resume", "x"], "Cannot honour --resume: a fork goes on in a session of its own"],
      [["-c"], "Cannot honour --continue: a fork goes on in a session of its own"],
      [["--jsonl"], "Cannot honour --jsonl: a fork says what --prompt says, or what was recorded"],
      [["Hello"], 'Cannot start a fork: "Hello" is no flag'],
      [["--help"], 'Cannot start a fork: the flags behind "--" ask for help'],
      [["doctor"], 'Cannot start a fork: the flags behind "--" ask for doctor'],
      [["--no-such-flag"], "Cannot read the command line: unknown flag --no-such-flag"],
    ] as const
  ) {
    await assertRejects(() => forkRequest({ flags }), CliError, message);
  }
});
