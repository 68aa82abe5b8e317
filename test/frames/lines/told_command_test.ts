import { assertEquals } from "@std/assert";
import { listOf } from "../../../src/chain.ts";
import { turnsOf } from "../../../src/transcript/turn/turn.ts";
import { startTelling } from "../telling.ts";

const COMMAND_OF = (name: string) =>
  `<command-name>/${name}</command-name>\n  <command-message>${name}</command-message>\n` +
  "  <command-args></command-args>";

/** The lines that the interactive Claude Code writes of a command that it has carried out. */
function linesOf(
  name: string,
  { text, ...more }: { readonly text: string; readonly commandRun?: object },
) {
  const isNaming = name === "rename";
  const command = COMMAND_OF(name);
  return [
    { type: "user", isMeta: true, message: { content: "<local-command-caveat>…" } },
    isNaming
      ? { type: "system", subtype: "local_command", uuid: "command", content: command }
      : { type: "user", uuid: "command", message: { content: command } },
    {
      type: "system",
      subtype: "local_command",
      uuid: "output",
      content: `<local-command-stdout>${text}</local-command-stdout>`,
      ...more,
    },
  ];
}

/** What is said of a command, and what its result is to say. */
function told(lines: readonly object[]) {
  const { frames, push, state } = startTelling();
  push(...lines.map((line) => ({ version: "2.1.332", ...line })));
  const said = frames.map(({ type, subtype, message, ...frame }) => {
    const [block] = (message as { readonly content?: readonly { readonly text: string }[] })
      ?.content ?? [];
    return [
      [type, subtype].filter(Boolean).join("/"),
      block?.text,
      frame["local_command_run"],
      frame["local_command_outcome"],
    ].filter((each) => each !== undefined);
  });
  return { said, typed: state().typed };
}

Deno.test("what a command says that the child has carried out is told as by claude -p", () => {
  const run = { command: "heapdump", args: "" };
  assertEquals(told(linesOf("heapdump", { text: "A file", commandRun: run })), {
    said: [["system/init"], ["assistant", "A file", run]],
    typed: { command: "heapdump", result: "A file" },
  });
});

Deno.test("that a command has failed is told, and not what was not for the model", () => {
  const run = { command: "list-agents", args: "" };
  const more = { commandRun: run, commandOutcome: { kind: "failed" } };
  const remark = {
    type: "user",
    isMeta: true,
    message: {
      content: "<system-reminder>\nThe output of /list-agents was shown to the user and not to " +
        "you. To see what it lists, call ListAgents.\n</system-reminder>",
    },
  };
  const lines = [...linesOf("list-agents", { text: "No", ...more }), remark];
  assertEquals(told(lines), {
    said: [["system/init"], ["assistant", "No", run, { kind: "failed" }]],
    typed: { command: "list_agents", result: "No" },
  });
});

Deno.test("the name of somebody else's command is told to nobody", () => {
  const { said, typed } = told(linesOf("mine", { text: "It failed: \n" }));
  assertEquals(said, [["system/init"], ["assistant", "It failed:"]]);
  assertEquals(typed, { command: "custom", result: "It failed: \n" });
  const output = {
    type: "user",
    message: { content: "<local-command-stderr>No</local-command-stderr>" },
  };
  const [, command = {}] = linesOf("mine", { text: "" });
  const before = told([command, output]);
  assertEquals(before.said, [["system/init"], ["user"]]);
  assertEquals(before.typed, { command: "custom", result: "" });
});

Deno.test("a title that Claude Code has found for the session is told ahead of the turn", () => {
  const run = { command: "rename", args: "" };
  const lines = linesOf("rename", { text: "Session renamed to: My own", commandRun: run });
  const { said, typed } = told(lines);
  assertEquals(said, [
    ["system/session_title_changed"],
    ["system/init"],
    ["assistant", "Session renamed to: My own", run],
  ]);
  assertEquals(typed, { command: "rename", result: "Session renamed to: My own" });
});

Deno.test("the result has the name by which somebody has called the command", () => {
  const { push, state, tell } = startTelling();
  const message = {
    text: "/__remote-workflow now",
    way: "paste",
    command: "/__remote-workflow",
  } as const;
  tell({ type: "message", message });
  const lines = linesOf("list-agents", { text: "None" });
  push(...lines.map((line) => ({ version: "2.1.332", ...line })));
  assertEquals(state().typed, { command: "remote_workflow", result: "None" });
});

Deno.test("that a goal is set is told as by claude -p, and is no turn", () => {
  const { frames, push, state, tell } = startTelling();
  const message = { text: "/goal  win it ", way: "paste", command: "/goal" } as const;
  tell({ type: "message", message });
  const output = "<local-command-stdout>Goal set: win it</local-command-stdout>";
  const directive = 'A session-scoped Stop hook is now active with condition: "win it". Begin';
  const lines = [
    { uuid: "prompt", message: { content: COMMAND_OF("goal") } },
    { uuid: "output", parentUuid: "prompt", message: { content: output } },
    { uuid: "goal", parentUuid: "output", isMeta: true, message: { content: directive } },
    { uuid: "f", parentUuid: "goal", isMeta: true, message: { content: "Stop hook feedback:" } },
  ];
  push(...lines.map((line) => ({ type: "user", version: "2.1.332", ...line })));
  const said = frames.map(({ type, local_command_run: run }) => [type, run]);
  const goal = ["assistant", { command: "goal", args: "win it" }];
  assertEquals(said, [
    ["system", undefined],
    goal,
    ["user", undefined],
  ]);
  // The answer is the result.
  assertEquals(state().typed, undefined);
  const [turn] = turnsOf(listOf(state().kept.entries));
  assertEquals(turn?.numTurns, 2);
});
