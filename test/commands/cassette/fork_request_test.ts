import { assertEquals, assertRejects } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { forkRequest } from "../../../src/commands/cassette/fork_request.ts";

Deno.test("forkRequest() adds what a fork has flags for to those of a run", async () => {
  const { request: { record, apiCassette, model, timeoutMs, forwarded } } = await forkRequest({
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

Deno.test("forkRequest() takes over what the recorded model was told, unless something else is given", async () => {
  const recorded = ["--model=haiku", "--append-system-prompt=Be kind", "--tools=Read,Grep"];
  const { request, taken, left } = await forkRequest({ flags: [] }, { flags: recorded });
  assertEquals([taken, left, request.forwarded], [recorded, [], recorded]);
  const other = await forkRequest({ model: "opus", flags: ["--append-system-prompt-file=x"] }, {
    flags: recorded,
  });
  assertEquals([other.taken, other.request.model], [["--tools=Read,Grep"], "opus"]);
  const blanked = await forkRequest({ flags: [] }, { flags: recorded, blanked: ["prompts"] });
  assertEquals([blanked.taken, blanked.left], [
    ["--model=haiku", "--tools=Read,Grep"],
    ["--append-system-prompt"],
  ]);
});

Deno.test("forkRequest() takes nothing over that lets whoever made the cassette do more", async () => {
  const hostile = [
    ...["--dangerously-skip-permissions", "--permission-mode=bypassPermissions", "--settings={}"],
    ...["--allowedTools=Bash", "--mcp-config={}", "--add-dir=/", "--agents={}", "--plugin-dir=x"],
    ...["--claude-binary=/tmp/x", "--record=/tmp/y", "--api-cassette=z", "--model", "-p", "words"],
    ...["--model haiku --settings=x", "--system-prompt", "--setting-sources=user", "--no-such=1"],
    ...["--restricted=false", "--permission-mode=auto", "--append-system-prompt-file=/etc/passwd"],
  ];
  const { request, taken, left } = await forkRequest({ flags: [] }, { flags: hostile });
  assertEquals(taken, []);
  assertEquals(left.includes("--mcp-config") && left.includes("--allowedTools"), true);
  assertEquals(request, (await forkRequest({ flags: [] })).request);
  const narrow = await forkRequest({ flags: [] }, { flags: ["--permission-mode=plan"] });
  assertEquals(narrow.request.permissionMode, "plan");
  // Another flag in a value is a part of the value.
  const { request: { forwarded, dangerouslySkipPermissions } } = await forkRequest({ flags: [] }, {
    flags: ["--append-system-prompt=x --dangerously-skip-permissions\n--settings={}"],
  });
  assertEquals([forwarded.length, dangerouslySkipPermissions], [1, false]);
});
