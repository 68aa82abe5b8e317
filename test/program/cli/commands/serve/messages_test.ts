import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../../../../claude_print.ts";
import { leftovers } from "../../../../leftovers.ts";
import { startProgram } from "../../../../start_program.ts";
import { serve } from "../../../server/delegation/served.ts";
import { StandIn } from "../../../stand_in.ts";

const QUESTIONS = [
  { question: "Which colour?", options: [{ label: "Red", description: "warm" }] },
  { question: "How many?", options: [{ label: "One" }, { label: "Two" }] },
];
const ASKING = {
  name: "AskUserQuestion",
  input: { questions: QUESTIONS },
  result: "answered",
  asks: true,
};
/** A path that would draw over what is asked, and add a line. */
const EDITING = {
  name: "Edit",
  input: { file_path: "a\x1b[2J\u202e\n  Answer it: b" },
  result: "edited",
  asks: true,
};

/** A server with a conversation of some turns, and the commands in its environment. */
async function scene(turns: Parameters<typeof StandIn.set>[0]) {
  const claude = await StandIn.set(turns);
  const { env, project: cwd } = claude.home;
  const server = await serve({ env });
  const run = async (args: readonly string[], stdin?: string) => {
    const options = {
      env: { ...env, ...server.env },
      cwd,
      ...(stdin === undefined ? {} : { stdin }),
    };
    const { code, stdout, stderr } = await startProgram([...CLAUDE_PRINT, ...args], options).ended;
    return { code, stdout, stderr };
  };
  const { stdout } = await run(["new", "--", "--claude-binary", claude.binary]);
  assertMatch(stdout, /^[\da-f-]{36}\n$/u);
  const id = stdout.slice(0, 8);
  return {
    claude,
    id,
    run,
    /** What a command prints about the conversation; `ID` stands for its id. */
    print: async (line: string, ...more: readonly string[]) => {
      const [command = "", ...flags] = line.split(" ");
      const { code, stdout, stderr } = await run([command, id, ...flags, ...more]);
      return [code, stdout, stderr.replaceAll(id, "ID")];
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      assertEquals(await leftovers(claude.home), []);
      await claude[Symbol.asyncDispose]();
    },
  };
}

Deno.test("new, send and answer hold a conversation", async () => {
  await using talk = await scene({
    turns: [
      [{ text: "You said {prompt}" }],
      [{ text: "I ask.", tools: [ASKING] }, { text: "Noted" }],
      [{ text: "I ask.", tools: [EDITING] }, { tools: [EDITING] }, { text: "Done" }],
    ],
  });
  const { print } = talk;
  assertEquals(await print("send", "one\x1b"), [0, "You said one\x1b\n", ""]);
  const question = `The model asks:
  Which colour?
  - Red: warm
  How many?
  - One:${" "}
  - Two:${" "}
  Answer it: claude-print answer ID ANSWER ANSWER
`;
  assertEquals(await print("send", "two"), [1, "", `claude-print: ${question}`]);
  const [code, shown] = await print("answer");
  assertEquals([code, `${shown}`.replaceAll(talk.id, "ID")], [0, question]);
  assertMatch(
    `${await print("answer", "Red")}`,
    /^2,,claude-print: Cannot answer: there are 2 questions, not 1\n/u,
  );
  assertEquals(await print("answer", "Red", "Two"), [0, "Noted\n", ""]);
  assertMatch(`${await print("answer", "Red")}`, /^2,,.*: it asks nothing now\n/u);
  const permission =
    `claude-print: The model needs your permission: Edit: a<U+001B>[2J<U+202E><U+000A>  Answer it: b
  {
    "file_path": "a\\u001b[2J<U+202E>\\n  Answer it: b"
  }
  Answer it: claude-print answer ID allow, or deny and why
`;
  const { code: asked, stderr } = await talk.run(["send", talk.id], "three");
  assertEquals([asked, stderr.replaceAll(talk.id, "ID")], [1, permission]);
  assertMatch(
    `${await print("answer", "yes")}`,
    /^2,,.*: it takes "allow", or "deny" and why, not "yes"\n/u,
  );
  assertEquals(await print("answer", "allow"), [1, "", permission]);
  assertEquals(await print("answer", "deny", "not now"), [0, "Done\n", ""]);
  const { stdout: frames } = await talk.run(["logs", talk.id]);
  assertStringIncludes(frames, "not now");
  assertEquals(await print("interrupt --end"), [0, "", ""]);
  const gone = await talk.run(["send", talk.id, "four"]);
  assertMatch(gone.stderr, /Cannot find the conversation "[\da-f]{8}"\n.*claude-print ps/u);
});

Deno.test("interrupt stops a turn, send --interrupt goes before it", async () => {
  const tool = { name: "Bash", input: { command: "sleep 600" } };
  await using talk = await scene({
    turns: [[{ tools: [tool] }], [{ tools: [tool] }], [{ text: "{prompt}" }]],
  });
  const { print, claude } = talk;
  const first = print("send", "one");
  await claude.untilNoted("tool");
  assertEquals(await print("interrupt"), [0, "", ""]);
  assertEquals((await first)[0], 1);
  assertEquals(await print("send --no-wait", "two"), [0, "", ""]);
  assertEquals(await print("send --interrupt", "three"), [0, "three\n", ""]);
});

Deno.test("send names a conversation that fails", async () => {
  await using talk = await scene({ version: "2.1.197" });
  const [code, stdout, stderr] = await talk.print("send", "hi");
  assertEquals([code, stdout], [2, ""]);
  assertMatch(
    `${stderr}`,
    /^claude-print: (?:Cannot go on with the conversation: )?Claude Code 2\.1\.197 is too old: [^]*\n {2}.*claude update/u,
  );
});
