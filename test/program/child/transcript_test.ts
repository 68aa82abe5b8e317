import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { projectSlug } from "../../../src/claude/transcript/session_files.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { leftovers } from "../../leftovers.ts";
import { NOWHERE } from "../../nowhere.ts";
import { startProgram } from "../../start_program.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { MOUNT_LACK } from "../mount_lack.ts";
import { StandIn } from "../stand_in.ts";
import { inShell } from "../../in_shell.ts";
import { JSON_FORMAT, STREAM_FORMAT } from "../../caller_lines.ts";

const HELLO = "Hello from the stand-in.";

/** For a transcript that never comes: a short wait shows that as well. */
const IMPATIENT = ["--drain-timeout", "0.5"];

/** Runs a scenario in json format, which has to succeed, and returns the result. */
async function resultOf(scenario: Partial<Scenario>, args: readonly string[] = []) {
  await using claude = await StandIn.set(scenario);
  const { code, result } = await claude.printInProcess([...JSON_FORMAT, ...args, "hello"]);
  assertEquals([code, result["subtype"]], [0, "success"]);
  return { result, transcripts: [...claude.transcripts().values()] };
}

/** A turn with a text before its answer. */
const LOOKS: Scenario["turns"] = [[
  { text: "I look.", tools: [{ name: "Read", input: { file_path: "/x" }, result: "x" }] },
  { text: "It holds x." },
]];

/** How the child writes its transcript, or what Stop omits, and the answer of each. */
const SCENARIOS: Readonly<Record<string, readonly [Partial<Scenario>, string, string[]?]>> = {
  "a transcript at the exit": [{ transcriptDelayMs: 600_000 }, HELLO],
  "a transcript after the exit": [
    { transcript: "after_exit", transcriptDelayMs: 300, turns: LOOKS },
    "It holds x.",
  ],
  "half of the last line": [{ transcript: "partial_line" }, HELLO, IMPATIENT],
  "no last line": [{ transcript: "no_answer", turns: LOOKS }, "It holds x.", IMPATIENT],
  "a Stop without transcript_path": [{ stopOmits: ["transcript_path"] }, HELLO],
  "a Stop without message": [{ stopOmits: ["last_assistant_message"] }, HELLO],
  "a Stop without both": [{ stopOmits: ["transcript_path", "last_assistant_message"] }, HELLO],
};

Deno.test("the answer is complete, however it is written", async (test) => {
  for (const [name, [scenario, answer, args]] of Object.entries(SCENARIOS)) {
    await test.step(name, async () => {
      const { result, transcripts } = await resultOf(scenario, args);
      assertEquals(result["result"], answer);
      if (args !== undefined) return;
      assertEquals(result["num_turns"], scenario.turns === undefined ? 1 : 2);
      assertStringIncludes(transcripts[0] ?? "", answer);
    });
  }
});

/** Prints without a transcript. */
async function printUntold(format: readonly string[]): Promise<void> {
  await using claude = await StandIn.set({ transcript: "never" });
  const run = await claude.printInProcess([...format, ...IMPATIENT, "hello"]);
  assertEquals(run.code, 0);
  if (run.format === "text") assertEquals(run.stdout, `${HELLO}\n`);
  else assertEquals(run.frames.map(({ type, result }) => result ?? type), ["system", HELLO]);
}

/** Prints with neither transcript nor message. */
async function printUnheard(): Promise<void> {
  await using claude = await StandIn.set({
    transcript: "never",
    stopOmits: ["last_assistant_message"],
  });
  const run = await claude.printInProcess([...JSON_FORMAT, ...IMPATIENT, "hello"]);
  assertEquals([run.code, run.result["subtype"]], [2, "drain_timeout"]);
  assertStringIncludes(run.stderr, "Cannot read the answer");
}

Deno.test("without a transcript the Stop hook gives the answer", async () => {
  await Promise.all([printUntold([]), printUntold(STREAM_FORMAT), printUnheard()]);
});

Deno.test("hook events, transcript entries and fields of the future pass", async () => {
  const { result } = await resultOf({
    unknown: ["hook_event", "transcript_entry", "usage_field"],
    stopAdds: { future_field: { nested: [1] } },
  });
  assertEquals([result["result"], result["num_turns"]], [HELLO, 1]);
  assertEquals((result["usage"] as Readonly<Record<string, unknown>>)["future_tokens"], 7);
});

/** Lines of another Claude Code, which a hook or a tool starts in the run's config dir. */
const NESTED = [
  { type: "user", uuid: "n1", message: { role: "user", content: "nested" } },
  {
    type: "assistant",
    uuid: "n2",
    parentUuid: "n1",
    message: { id: "m", model: "m", content: [{ type: "text", text: "not our answer" }] },
  },
].map((line) => `echo '${JSON.stringify({ ...line, entrypoint: "sdk-cli" })}'`).join("; ");

Deno.test("other sessions' lines come home but are no frames", async () => {
  await using claude = await StandIn.set({
    sabotage: [{
      at: "start",
      run: `mkdir -p "$CLAUDE_CONFIG_DIR/projects/-a/folder.jsonl"
        cd "$CLAUDE_CONFIG_DIR/projects/-a"
        mkfifo fifo.jsonl; ln -s "${NOWHERE}" link.jsonl; { ${NESTED}; } > other.jsonl`,
    }, {
      at: "tool",
      // A session can be continued once it has begun.
      run:
        `until grep -q hello "$TRANSCRIPT"; do sleep 0.01; done; { ${NESTED}; } >> "$TRANSCRIPT"`,
    }],
    turns: [[{ tools: [{ name: "Bash", input: { command: "true" } }] }, { text: HELLO }]],
  });
  const run = await claude.printInProcess([...JSON_FORMAT, "hello"], { warns: true });
  const { result, num_turns: turns, session_id: id, usage } = run.result;
  assertEquals([run.code, result, turns], [0, HELLO, 2]);
  assertEquals((usage as Readonly<Record<string, unknown>>)["output_tokens"], 40);
  assertMatch(
    run.stderr,
    /^claude-print: Warning: Cannot move the transcript -a\/(?:fifo|folder|link)\.jsonl: it is not a regular file \(and 2 more\)\n$/u,
  );
  const transcripts = claude.transcripts();
  const own = `${projectSlug(claude.home.project)}/${id}.jsonl`;
  assertEquals([...transcripts.keys()].toSorted(), ["-a/other.jsonl", own].toSorted());
  for (const text of transcripts.values()) assertStringIncludes(text, "not our answer");
});

Deno.test("a replaced transcript costs a warning, not the answer", async () => {
  const swaps = ["mkfifo", "mkdir", `ln -s "${NOWHERE}"`];
  await Promise.all(swaps.map(async (make) => {
    // The child has ended and written everything: its own transcript would hold it up otherwise.
    const run = `rm "$TRANSCRIPT"; ${make} "$TRANSCRIPT"`;
    await using claude = await StandIn.set({ sabotage: [{ at: "exit", run }] });
    const { code, result, stderr } = await claude.printInProcess([...JSON_FORMAT, "hello"], {
      warns: true,
    });
    assertEquals([code, result["result"]], [0, HELLO]);
    assertMatch(stderr, /^claude-print: Warning: Cannot move .*: it is not a regular file\n$/u);
    assertEquals(claude.transcripts().size, 0);
  }));
});

const ID = "123e4567-e89b-42d3-a456-426614174000";

/** Puts the user's transcripts on a disk of 64 KB, and shows what is on it after the run. */
const ON_A_SMALL_DISK = `
  cp -r "$HOME/.claude/projects" "$HOME/before"
  mount -t tmpfs -o size=64k none "$HOME/.claude/projects"
  cp -r "$HOME/before/." "$HOME/.claude/projects"
  "$@"
  code=$?
  cp -r "$HOME/.claude/projects" "$HOME/after"
  exit $code
`;

const onSmallDisk = (command: readonly string[]) => [
  ...["unshare", "-rm"],
  ...inShell(ON_A_SMALL_DISK)(command),
];

/** The warning that a transcript is kept. */
function keptFor(reason: string): RegExp {
  return new RegExp(
    `^claude-print: Warning: Cannot copy the transcript to \\S+: ${reason}; ` +
      "it is kept in \\S+/claude-print-\\d+/0-0-[0-9a-f]{8}, " +
      "and the next run or claude-print sweep tries again\n$",
    "u",
  );
}

Deno.test(skipIfLacking(MOUNT_LACK, {
  name: "a full disk leaves no part of the transcript",
  fn: async () => {
    await using claude = await StandIn.set();
    await Deno.mkdir(`${claude.home.config}/projects/other`, { recursive: true });
    await Deno.writeTextFile(`${claude.home.config}/projects/other/${ID}.jsonl`, "{}\n");
    const stdin = "0123456789 abcdef\n".repeat(5000);
    const run = await claude.print([], { stdin, wrap: onSmallDisk, warns: true, keeps: true });
    assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
    assertMatch(run.stderr, keptFor("No space left on device"));
    const { path } = claude.home;
    const { stdout } = await new Deno.Command("diff", {
      args: ["-r", `${path}/before`, `${path}/after`],
    }).output();
    const slug = projectSlug(claude.home.project);
    assertEquals(new TextDecoder().decode(stdout), `Only in ${path}/after: ${slug}\n`);
    const left = [...Deno.readDirSync(`${path}/after/${slug}`)];
    assertEquals(left, []);
    const { env, project: cwd } = claude.home;
    // Outside of the run's mounts the disk has room.
    const swept = await startProgram([...CLAUDE_PRINT, "sweep"], { env, cwd }).ended;
    assertEquals([swept.code, swept.stderr, await leftovers(claude.home)], [0, "", []]);
    assertEquals(claude.transcripts().size, 2);
  },
}));

Deno.test("the next run brings home a transcript that was kept", async () => {
  await using claude = await StandIn.set();
  const projects = `${claude.home.config}/projects`;
  await Deno.writeTextFile(projects, "a file where a folder should be");
  // One process: its second run sweeps what the first run left.
  const stdin = '"one"\n{"prompt": "two", "args": ["--quiet"]}\n';
  const list = await claude.print(["--jsonl"], { stdin, killed: true });
  const warnings = list.stderr.split(/(?<=\n)/u);
  for (const [index, warning] of warnings.entries()) {
    assertMatch(warning.replace(`line ${index + 1}: `, ""), keptFor("Not a directory"));
  }
  assertEquals([list.code, warnings.length], [0, 2]);
  await Deno.remove(projects);
  assertEquals((await claude.printInProcess(["three"])).code, 0);
  const prompts = [...claude.transcripts().values()].map((text) =>
    /"content":"(one|two|three)"/u.exec(text)?.[1]
  );
  assertEquals(prompts.toSorted(), ["one", "three", "two"]);
});
