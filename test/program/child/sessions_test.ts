import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { namesIn } from "../../../ffi/files/at_path.ts";
import { givenIdsOf } from "../../../src/sandbox/folder/private_folder.ts";
import { folderOfRuns } from "../../../src/sandbox/folder/run_places.ts";
import { StandIn, type StartOptions, until } from "../stand_in.ts";
import { callerLines, CONVERSATION, userMessage } from "../../caller_lines.ts";

const ID = "123e4567-e89b-42d3-a456-426614174000";

/** A stand-in whose turns wait for the file `go`. */
async function heldClaude() {
  const claude = await StandIn.set({
    turns: [[{ text: "You said: {prompt}" }]],
    sabotage: [{ at: "prompt", run: 'while [ ! -e "$HOME/go" ]; do sleep 0.02; done' }],
  });
  const start = async (args: readonly string[], options?: StartOptions) => {
    const before = (await claude.journal("prompt")).length;
    const run = claude.start(args, options);
    const isPrompted = async () => (await claude.journal("prompt")).length > before;
    await until(isPrompted, "the run has its prompt");
    return run;
  };
  const go = () => Deno.writeTextFile(`${claude.home.path}/go`, "");
  const transcript = () => {
    const [text = "", ...more] = claude.transcripts().values();
    assertEquals(more, []);
    return text;
  };
  return {
    claude,
    start,
    go,
    transcript,
    [Symbol.asyncDispose]: () => claude[Symbol.asyncDispose](),
  };
}

Deno.test("a --session-id in use is refused", async () => {
  await using held = await heldClaude();
  const { claude, start, go, transcript } = held;
  const first = await start(["--session-id", ID, "one"]);
  const refused = await claude.printInProcess(["--timeout", "300", "--session-id", ID, "two"]);
  assertEquals(refused.code, 1);
  assertMatch(
    refused.stderr,
    /^claude-print: Session ID \S+ is already in use\.\n {2}Wait for the run that has it, process \d+, or/u,
  );
  const early = await claude.printInProcess(["--resume", ID, "three"]);
  assertEquals(early.code, 1);
  assertStringIncludes(
    early.stderr,
    `No conversation found with session ID: ${ID}\n  Wait for the run that has it, process `,
  );
  // A run with another TMPDIR does not find the first run.
  const tmp = `${claude.home.path}/tmp2`;
  await Deno.mkdir(tmp, { mode: 0o700 });
  const second = await start(["--session-id", ID, "four"], { env: { TMPDIR: tmp } });
  await go();
  assertEquals((await first.ended).stdout, "You said: one\n");
  assertEquals((await second.ended).stdout, "You said: four\n");
  for (const text of ["You said: one", "You said: four"]) assertStringIncludes(transcript(), text);
  assertEquals([...Deno.readDirSync(tmp)], []);

  const known = await claude.printInProcess(["--session-id", ID, "five"]);
  assertStringIncludes(known.stderr, `Give another --session-id, or go on with it: --resume ${ID}`);
});

Deno.test("two runs may resume one session at once", async () => {
  await using held = await heldClaude();
  const { claude, start, go, transcript } = held;
  const first = await start(["--session-id", ID, "one"]);
  await go();
  await first.ended;
  const before = transcript();
  await Deno.remove(`${claude.home.path}/go`);
  const runs = [await start(["--resume", ID, "two"]), await start(["--resume", ID, "three"])];
  await go();
  for (const run of runs) assertEquals((await run.ended).code, 0);
  assert(transcript().startsWith(before));
  for (const text of ["You said: two", "You said: three"]) assertStringIncludes(transcript(), text);
});

Deno.test("the session of a killed run is rescued first", async () => {
  await using held = await heldClaude();
  const { claude, start, go, transcript } = held;
  const first = await start(["--session-id", ID, "one"], { killed: true });
  first.kill("SIGKILL");
  await first.ended;
  const known = await claude.printInProcess(["--timeout", "300", "--session-id", ID, "two"]);
  assertEquals(known.code, 1);
  assertStringIncludes(known.stderr, "is already in use.");
  assertStringIncludes(transcript(), '"content":"one"');
  await go();
  assertEquals(
    (await claude.printInProcess(["--resume", ID, "three"])).stdout,
    "You said: three\n",
  );
  assertStringIncludes(transcript(), "You said: three");
});

Deno.test("--continue finds the session of a killed run", async () => {
  await using held = await heldClaude();
  const { claude, start, go, transcript } = held;
  const first = await start(["--session-id", ID, "one"], { killed: true });
  first.kill("SIGKILL");
  await first.ended;
  await go();
  const second = await claude.printInProcess(["--continue", "--output-format", "json", "two"]);
  assertEquals([second.code, JSON.parse(second.stdout).session_id], [0, ID]);
  for (const text of ['"content":"one"', "You said: two"]) assertStringIncludes(transcript(), text);
});

Deno.test("a message keeps its caller's id, also after SIGKILL", async () => {
  await using held = await heldClaude();
  const { claude, go, transcript } = held;
  const given = (last: number) => `3b241101-e2bb-4255-8caf-4136c566a96${last}`;
  // The output of a conversation is not that of a run.
  const said = (text: string, uuid: string): StartOptions => ({
    ...{ stdin: callerLines([userMessage(text, { uuid })]), killed: true },
  });
  const runs = folderOfRuns(claude.home.tmp);
  const isNoted = () => namesIn(runs).some((name) => givenIdsOf(`${runs}/${name}`).size > 0);
  const first = claude.start([...CONVERSATION, "--session-id", ID], said("one", given(1)));
  await until(() => isNoted(), "the run has read the line of its message");
  first.kill("SIGKILL");
  await first.ended;
  await go();
  const resumed = [...CONVERSATION, "--resume", ID];
  const second = await claude.print(resumed, said("two", given(2)));
  assertEquals([second.code, second.stderr], [0, ""]);
  assertStringIncludes(second.stdout, "You said: two");
  assertEquals(isNoted(), false);
  const lines = () => transcript().trimEnd().split("\n").map((line) => JSON.parse(line));
  const prompts = () =>
    lines().filter(({ type }) => type === "user")
      .map(({ uuid, message }) => [uuid, message.content]);
  const written = [[given(1), "one"], [given(2), "two"]];
  assertEquals(prompts(), written);
  for (const [id] of written) assert(lines().some(({ parentUuid }) => parentUuid === id));

  const again = await claude.print(resumed, said("once more", given(1)));
  assertEquals([again.code, again.stdout.includes("You said")], [0, false]);
  assertEquals(prompts(), written);
  const unkept = [...CONVERSATION, "--no-session-persistence"];
  const aside = await claude.print(unkept, said("three", given(3)));
  assertStringIncludes(aside.stdout, "You said: three");
  assertEquals(prompts(), written);
});

Deno.test("a --session-id that exists is refused, for a fork too", async () => {
  await using claude = await StandIn.set();
  const [taken, resumed] = [crypto.randomUUID(), crypto.randomUUID()];
  const projects = `${claude.home.config}/projects/-elsewhere`;
  await Deno.mkdir(projects, { recursive: true });
  for (const id of [taken, resumed]) await Deno.writeTextFile(`${projects}/${id}.jsonl`, "{}\n");
  for (const more of [[], ["--resume", resumed, "--fork-session"]]) {
    const run = await claude.printInProcess(["--session-id", taken, ...more, "--", "hello"]);
    assertEquals(run.code, 1);
    assertMatch(
      run.stderr,
      /^claude-print: Session ID \S+ is already in use\.\n {2}Give another/,
    );
  }
  assertEquals(await Deno.readTextFile(`${projects}/${taken}.jsonl`), "{}\n");
});
