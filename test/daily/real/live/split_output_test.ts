import { assert, assertEquals } from "@std/assert";
import type { LoggedRequest } from "../../../../src/recording/learn/messages_api.ts";
import type { Reply } from "../../../../src/recording/learn/reply_script.ts";
import { until } from "../../../program/stand_in.ts";
import { asRecorded } from "../../../real/as_recorded.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { blocksOf, type JsonObject, parseFrames } from "../../../real/print_mode_facts.ts";
import type { RealClaude } from "../../../real/real_claude.ts";
import { toolCall } from "../../../real/tool_call.ts";
import { writeFiles } from "../../../write_files.ts";
import { STREAM_FORMAT } from "../../../caller_lines.ts";

const SPLIT = ["--shell-output=split", ...STREAM_FORMAT];

/**
 * Commands whose results have to be the same however their output is watched: those of which Claude Code itself makes
 * something. What the shell makes of many more is in `test/driver/split_shell_test.ts`.
 */
const COMMANDS: readonly string[] = [
  "cd /tmp && pwd",
  "mkdir -p inner/folder && cd inner/folder && pwd",
  "pwd",
  "cd ..; cd ..; pwd",
  "exit 3",
  "kill -9 $$",
  "(sleep 0.1; echo from behind) & echo first; wait",
  "nohup sleep 0.1 > /dev/null 2>&1 & echo left it",
  "printf '\\377\\376 no text\\n'",
  "echo one; echo two >&2; echo three; echo four >&2",
  "echo $((",
  "exec > redirected.txt; echo hidden; cat redirected.txt >&2",
  "VALUE=set; export VALUE; alias a=b; f() { echo called; }; f",
  'echo "${VALUE-unset}"; type f',
  "head -c 10000000 /dev/zero | tr '\\0' x",
];

/** How many commands one answer calls. Commands that only read run at the same time. */
const AT_ONCE = 5;

/** An API that calls for one command after the other, some in each answer. */
function calling({ kind, round = 0 }: LoggedRequest): Reply | undefined {
  if (kind !== "turn") return undefined;
  const commands = COMMANDS.slice(round * AT_ONCE, (round + 1) * AT_ONCE);
  return commands.length === 0 ? [{ kind: "text", text: "done" }] : commands.map((command) => ({
    kind: "tool",
    name: "Bash",
    input: { command, description: "Run a command" },
  }));
}

/** Names of working directories, private folders, sessions and files. */
const OF_ONE_RUN =
  /(?<=[/-])p[12]\b|claude-print-\d+\/[\w-]+|tool-results\/\w+|[\da-f]{8}(?:-[\da-f]+){4}/gu;

/** The result of each call, without what differs between two runs. */
async function resultsOf(
  real: RealClaude,
  { args, name }: { readonly args: readonly string[]; readonly name: "p1" | "p2" },
): Promise<readonly (readonly [string, unknown, unknown])[]> {
  const cwd = `${real.home.path}/${name}`;
  await Deno.mkdir(cwd);
  const { stdout, stderr, code } = await real.printInProcess(
    [...args, "--dangerously-skip-permissions", "--", "Go"],
    { cwd, env: { IS_SANDBOX: "1" } },
  );
  assertEquals(code, 0, stderr);
  await Deno.remove(cwd, { recursive: true });
  const blocks = parseFrames(stdout).flatMap(({ message }) => blocksOf(message));
  // Those that are carried out side by side return in any order.
  return blocks.filter(({ type }) => type === "tool_use").map(({ id }, index) => {
    const result = blocks.find(({ tool_use_id: of }) => of === id);
    return [
      COMMANDS[index] ?? "",
      `${result?.content}`.replaceAll(OF_ONE_RUN, "*"),
      result?.is_error,
    ];
  });
}

forNewestVersion(
  "--shell-output=split changes no command or result",
  async (real) => {
    const plain = await asRecorded(
      real,
      "split_output/plain",
      () => resultsOf(real, { args: STREAM_FORMAT, name: "p1" }),
    );
    const split = await resultsOf(real, { args: SPLIT, name: "p2" });
    assertEquals(plain.length, COMMANDS.length);
    for (const [index, result] of split.entries()) assertEquals(result, plain[index]);
  },
  { api: { reply: calling } },
);

const background = (command: string) =>
  toolCall("Bash", { command, description: "x", run_in_background: true });

const isOutput = ({ subtype }: JsonObject) => subtype === "shell_output_delta";

/** The output of all calls on a stream. */
const writtenTo = (frames: readonly JsonObject[], stream: string) =>
  frames.filter((frame) => isOutput(frame) && frame.stream === stream)
    .map(({ text }) => text).join("");

/** A command that ends once its output is printed: output whose file is gone has no stream. */
const toldOf = (name: string) => `until [ -e told-${name} ]; do sleep 0.02; done`;

/** Ends each waiting command once all its words are printed. */
function letting(folder: string, words: Readonly<Record<string, readonly string[]>>) {
  return (stdout: string) => {
    const told = stdout.split("\n").filter((line) => line.includes("shell_output_delta")).join();
    for (const [name, each] of Object.entries(words)) {
      if (each.every((word) => told.includes(word))) {
        Deno.writeTextFileSync(`${folder}/told-${name}`, "");
      }
    }
  };
}

forNewestVersion("--shell-output=split separates stdout and stderr", async (real) => {
  // Each part waits until the parts before it are printed.
  const commands = [
    `echo out 1; echo err 1 >&2; ${toldOf("first")}`,
    `echo out 2; echo err 2 >&2; ${toldOf("second")}; echo out 3; echo err 3 >&2; ${
      toldOf("third")
    }`,
    `seq 4 6; cat /nowhere; ${toldOf("fourth")}; seq 7 9; ${toldOf("fifth")}`,
    "true",
  ];
  const calls = [
    ...commands.map((command) => `[[bash ${command}]]`),
    background(`echo late >&2; ${toldOf("late")}`),
    `[[bash ${toldOf("late")}]]`,
  ];
  const { stdout, stderr, code } = await real.print([
    ...[...SPLIT, "--allowedTools", "Bash", "--", `Work. ${calls.join(" ")} [[say done]]`],
  ], {
    onStdout: letting(real.home.project, {
      first: ["out 1", "err 1"],
      second: ["out 2", "err 2"],
      third: ["out 3", "err 3"],
      fourth: ["5\\n6", "nowhere"],
      fifth: ["8\\n9"],
      late: ["late"],
    }),
  });
  assertEquals(code, 0, stderr);
  const frames = parseFrames(stdout);
  const written = {
    stdout: `out 1\nout 2\nout 3\n${[4, 5, 6, 7, 8, 9].join("\n")}\n`,
    stderr: "err 1\nerr 2\nerr 3\ncat: /nowhere: No such file or directory\nlate\n",
  };
  // On a busy machine a part may have no stream, but never the wrong one.
  const parts = frames.filter((frame) => isOutput(frame) && frame.text !== "");
  // A line may come in two parts.
  const linesTold = parts.map(({ text }) => text).join("").trimEnd().split("\n");
  const all = `${written.stdout}${written.stderr}`.trimEnd().split("\n");
  assertEquals(linesTold.toSorted(), all.toSorted());
  for (const stream of ["stdout", "stderr"] as const) {
    const told = writtenTo(frames, stream).split("\n");
    assertEquals(told.filter((line) => !written[stream].split("\n").includes(line)), [], stream);
  }
  const ends = frames.filter((frame) => isOutput(frame) && frame.text === "");
  assertEquals(ends.map(({ stream }) => stream), Array(6).fill("output"));
});

forNewestVersion("rules and hooks see the original command", async (real) => {
  const log = `${real.home.path}/seen`;
  const rewritten = JSON.stringify({
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "allow",
      updatedInput: { command: "sh say.sh rewritten", description: "x" },
    },
  });
  const hook = `cat >> ${log}; grep -q changeme ${log} && echo '${rewritten}'; true`;
  await writeFiles(real.home.project, {
    "say.sh": `echo "$1" >&2\n${toldOf('"$1"')}\n`,
    ".claude/settings.json": {
      hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: hook }] }] },
    },
  });
  const { stdout } = await real.print([
    ...[...SPLIT, "--allowedTools", "Bash(sh say.sh allowed)", "--"],
    "Work. [[bash sh say.sh allowed]] [[bash touch forbidden]] [[bash echo changeme]] [[say done]]",
  ], {
    onStdout: letting(real.home.project, { allowed: ["allowed"], rewritten: ["rewritten"] }),
  });
  const frames = parseFrames(stdout);
  const results = frames.flatMap(({ message }) => blocksOf(message))
    .filter(({ type }) => type === "tool_result");
  assertEquals(results.map(({ is_error }) => is_error), [false, true, false]);
  assertEquals(writtenTo(frames, "stderr"), "allowed\nrewritten\n");
  const seen = Deno.readTextFileSync(log);
  assert(seen.includes('"command":"sh say.sh allowed"') && !seen.includes("streams"));
});

forNewestVersion(
  "SIGINT ends a running tool and its streams",
  async (real) => {
    const run = real.start([
      ...[...SPLIT, "--allowedTools", "Bash", "--"],
      "Work. [[say I look]] [[bash echo first >&2; touch begun; tail -f /dev/null]]",
    ]);
    const isBegun = () => [...Deno.readDirSync(real.home.project)].length > 0;
    await until(() => isBegun(), "the tool runs");
    run.kill("SIGINT");
    const { stdout, code } = await run.ended;
    const frames = parseFrames(stdout);
    assertEquals([code, writtenTo(frames, "stderr")], [130, "first\n"]);
    const { subtype, terminal_reason, result } = frames.at(-1) ?? {};
    assertEquals([subtype, terminal_reason, result], ["interrupted", "aborted_tools", "I look"]);
    assertEquals(await real.leftovers(), []);
  },
);

const SHELL_OUTPUT = ["--shell-output", ...STREAM_FORMAT, "--allowedTools", "Bash", "--"];

/** The output of each call of Bash, in order, with exactly one end. */
function outputsOf(frames: readonly JsonObject[]): readonly string[] {
  const calls = frames.flatMap(({ message }) => blocksOf(message))
    .filter(({ type, name }) => type === "tool_use" && name === "Bash").map(({ id }) => id);
  return calls.map((id) => {
    const own = frames.filter(isOutput).filter(({ tool_use_id: of }) => of === id);
    const texts = own.map(({ text }) => `${text}`);
    assertEquals(texts.indexOf(""), texts.length - 1, `${id}: one end, and nothing behind it`);
    assertEquals(new Set(own.map(({ task_id: task }) => task)).size, 1);
    return texts.join("");
  });
}

/** The last word that each command prints before it waits. */
const LAST_WORDS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  ["blank", "count", "half", "left", "right", "wide", "own", "inner", "back", "fore", "aside"]
    .map((name) => [name, [`first-${name}`]]),
);

/** Prints a word, and waits until it is printed as a frame: output whose file is gone is that of the result. */
const first = (name: string) => `echo first-${name}; ${toldOf(name)}`;

forNewestVersion("--shell-output prints what commands write", async (real) => {
  const lines = Array.from({ length: 1000 }, (_, number) => `${number + 1}\n`).join("");
  const prompt = "Work. " + [
    `[[bash printf '\\n\\n  a\\r\\nb\\n\\n'; echo c >&2; ${first("blank")}]]`,
    "[[bash true]]",
    `[[bash seq 1000; ${first("count")}]]`,
    `[[bash printf '\\342\\202'; ${first("half")}; printf '\\254\\377\\n'; exit 3]]`
      .replace("echo first-half", "printf '\\254 first-half \\342\\202'"),
    `[[bash ${first("left")}]] [[also bash ${first("right")}]]`,
    `[[bash head -c 200000 /dev/zero | tr '\\0' x; ${first("wide")}]]`,
    `[[bash ${first("own")}; printf second]]`,
    `${background(`${first("back")}; echo l`)} [[bash ${first("fore")}; ${toldOf("back")}]]`,
    // Its calls come last, whether the turn waits for it or not.
    toolCall("Agent", {
      description: "Look",
      prompt: `Look. [[bash ${first("inner")}; printf second]] [[say done]]`,
      subagent_type: "general-purpose",
    }),
    "[[say done]] [[next]]",
  ].join(" ");
  const onStdout = letting(real.home.project, LAST_WORDS);
  const many = "yes beside | head -n 1000";
  const asideToo = `Work. [[bash ${many}; ${first("aside")}; ${many}]] [[say done]]`;
  const beside = real.print([...SHELL_OUTPUT, asideToo], { onStdout });
  const { stdout, stderr, code } = await real.print([...SHELL_OUTPUT, prompt], { onStdout });
  assertEquals(code, 0, stderr);
  const frames = parseFrames(stdout);
  assertEquals(outputsOf(frames), [
    "\n\n  a\r\nb\n\nc\nfirst-blank\n",
    "",
    `${lines}first-count\n`,
    "€ first-half €\ufffd\n",
    "first-left\n",
    "first-right\n",
    `${"x".repeat(200_000)}first-wide\n`,
    "first-own\nsecond",
    "first-back\nl\n",
    "first-fore\n",
    "first-inner\nsecond",
  ]);
  // A run at the same time, in the same project, has its own output.
  const rows = "beside\n".repeat(1000);
  assertEquals(outputsOf(parseFrames((await beside).stdout)), [`${rows}first-aside\n${rows}`]);
  const calls = frames.flatMap(({ message }) => blocksOf(message))
    .filter(({ name, input }) =>
      name === "Bash" && /first-(?:own|inner)/u.test(JSON.stringify(input))
    );
  assertEquals(calls.length, 2);
  for (const { id } of calls) {
    const told = frames.flatMap((frame) => {
      if (isOutput(frame)) return frame.tool_use_id === id ? "output" : [];
      return blocksOf(frame.message).filter((block) => block.id === id || block.tool_use_id === id)
        .map(({ type }) => type);
    });
    assertEquals([...new Set(told)], ["tool_use", "output", "tool_result"]);
    assertEquals([told.at(0), told.at(-1)], ["tool_use", "tool_result"]);
  }
});

forNewestVersion("--progress prints calls and what shells write on stderr", async (real) => {
  const command = "echo one; sleep 0.5; echo two";
  const args = ["--progress", "--shell-output", "--allowedTools", "Bash", "--"];
  const { stdout, stderr } = await real.printInProcess([
    ...args,
    `Hi [[bash ${command}]] [[say done]]`,
  ]);
  assertEquals(stdout, "done\n");
  assertEquals(
    stderr.replace(/^\[\d+ s\] /u, ""),
    `Bash ${command}\n  | one\n  | two\n`,
  );
});
