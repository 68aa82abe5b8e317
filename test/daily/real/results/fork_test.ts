import { assert, assertEquals } from "@std/assert";
import { readTurns } from "../../../../src/recording/cassette/recorded_turns.ts";
import { readCassette } from "../../../recording/cassette/recorded_runs.ts";
import { isJsonObject } from "../../../../src/json_object.ts";
import { projectSlug } from "../../../../src/claude/transcript/session_files.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { type ProgramOutput, startProgram } from "../../../start_program.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { hold } from "../../../real/hold_conversation.ts";
import { parseObject } from "../../../real/print_mode_facts.ts";
import type { RealClaude } from "../../../real/real_claude.ts";
import { textsIn } from "../../../real/texts_in.ts";
import { toolCall } from "../../../real/tool_call.ts";
import { filesBelow } from "../../../real/files_below.ts";

const SAID = ["One. [[say first]]", "Two. [[say second]]", "Three. [[say third]]"];

const PIRATE = "Speak as a pirate.";

async function recordTalk(real: RealClaude, folder: string): Promise<void> {
  const ended = await hold(real, async (caller) => {
    for (const [index, text] of SAID.entries()) {
      await caller.say(text);
      await caller.heard('"type":"result"', index + 1);
    }
  }, ["--record", folder, "--append-system-prompt", PIRATE, "--allowedTools", "Bash"]);
  assertEquals([ended.code, ended.stderr], [0, ""]);
}

async function cassette(real: RealClaude, ...args: readonly string[]): Promise<ProgramOutput> {
  return await startProgram([...CLAUDE_PRINT, "cassette", ...args], {
    env: real.home.env,
    cwd: real.home.project,
  }).ended;
}

/** Forks a cassette, with Claude Code's own answers. */
async function fork(real: RealClaude, ...args: readonly string[]): Promise<ProgramOutput> {
  return await cassette(real, "fork", ...args, "--", "--claude-binary", real.binary);
}

/** The texts, the model and the system prompt of the latest request. */
function lastRequest({ api }: RealClaude) {
  const body = api.turns.at(-1)?.body;
  const { model, system } = isJsonObject(body) ? body : {};
  return { said: textsIn(body), model, system: JSON.stringify(system) };
}

forNewestVersion("a recorded conversation is forked at a turn and compared", async (real) => {
  const [talk, again, other] = ["talk", "again", "other"]
    .map((name) => `${real.home.path}/t/${name}`) as [string, string, string];
  await recordTalk(real, talk);
  const before = sessions(real);
  const [one = "", two = "", three = ""] = SAID;
  const { meta, cast } = readCassette(talk);
  const session = readTurns(cast).turns[0]?.result["session_id"];

  // The later messages are repeated to another model.
  const forked = await fork(real, talk, "--at", "1", "--model", "haiku", "--record", again);
  assertEquals([forked.code, forked.stderr], [
    0,
    `claude-print: As in talk: --append-system-prompt=${PIRATE}\n` +
    'claude-print: Not as in talk, unless you give them behind "--": --allowedTools\n',
  ]);
  assert(forked.stdout.endsWith("third\n"), forked.stdout);
  const asked = lastRequest(real);
  assertEquals(asked.said, [one, "first", two, "second", three]);
  assert(String(asked.model).includes("haiku"), String(asked.model));
  assert(asked.system.includes(PIRATE));
  const recorded = readCassette(again);
  const { cassette: name, when, session_id, turn } = recorded.meta?.forked_from ?? {};
  assertEquals([name, when, session_id, turn], ["talk", meta?.when, session, 1]);
  const info = await cassette(real, "info", again);
  assert(info.stdout.includes("forked from talk, recorded "), info.stdout);
  const { earlier, turns } = readTurns(recorded.cast);
  assertEquals([earlier.length > 0, turns.length], [true, 2]);
  const same = await cassette(real, "diff", talk, again, "--json");
  assertEquals([same.code, same.stderr], [0, ""]);
  const compared = parseObject(same.stdout);
  assertEquals([compared["same"], compared["common"]], [true, { turns: 3, steps: 6 }]);
  assertEquals(recorded.cast.header.claude_print.output?.format, "text");

  // The fork has its own session; the other is unchanged.
  const after = sessions(real);
  const [added, ...more] = [...after].filter(([name]) => !before.has(name));
  assertEquals([added?.[0], more], [`${turns[0]?.result["session_id"]}.jsonl`, []]);
  for (const [name, text] of before) assertEquals(after.get(name), text);
  for (const text of SAID) assert(added?.[1].includes(text), text);

  // A fork is forked, with other words, in a session that is not kept.
  const said = ["--prompt", "Else. [[say otherwise]]", "--record", other];
  const third = await cassette(
    ...[real, "fork", again, "--at", "1", ...said, "--"] as const,
    ...["--claude-binary", real.binary, "--no-session-persistence", "--output-format", "json"],
  );
  assertEquals([third.code, third.stderr], [
    0,
    `claude-print: As in again: --append-system-prompt=${PIRATE}, --model=haiku\n`,
  ]);
  assert(String(lastRequest(real).model).includes("haiku"));
  assertEquals(parseObject(third.stdout)["result"], "otherwise");
  assertEquals(lastRequest(real).said, [one, "first", two, "second", "Else. [[say otherwise]]"]);
  assertEquals(sessions(real), after);
  const parted = await cassette(real, "diff", talk, other);
  assertEquals(parted.code, 1);
  assertEquals(parted.stdout.split("\n").slice(0, 4), [
    "The conversations are the same for 2 turns and 4 steps, and part in turn 3, at a prompt (/content):",
    `  ${talk}: "${three}"`,
    `  ${other}: "Else. [[say otherwise]]"`,
    "Turns in all: 3 and 3",
  ]);
});

forNewestVersion("a fork continues a subagent of the recording", async (real) => {
  const talk = `${real.home.path}/t/subagent`;
  const call = toolCall("Agent", {
    description: "Look",
    prompt: "Look. [[say It is here.]]",
    subagent_type: "general-purpose",
    run_in_background: false,
  });
  const tools = ["--allowedTools", "Agent,Task,SendMessage"];
  const args = ["--record", talk, ...tools, "--", `Ask. ${call} [[say done]]`];
  assertEquals((await real.printInProcess(args)).code, 0);
  const { cast } = readCassette(talk);
  const to = readTurns(cast).subagents?.[0]?.subagent.agentId;
  const message = { to, summary: "more", message: "More. [[say It is there.]]" };
  const prompt = `Go on. ${toolCall("SendMessage", message)} [[say sent]] [[say heard]]`;
  const forked = await cassette(
    ...[real, "fork", talk, "--at", "1", "--prompt", prompt, "--"] as const,
    ...["--claude-binary", real.binary, ...tools],
  );
  assertEquals(forked.code, 0, forked.stderr);
  const asked = real.api.turns.map(({ body }) => JSON.stringify(body));
  const own = asked.find((body) => body.includes("sent a message") && body.includes("Look. [[say"));
  assert(own?.includes("It is here."), own);
});

/** The transcripts of the project in the user's config dir, by name. */
function sessions({ home }: RealClaude): ReadonlyMap<string, string> {
  const files = filesBelow(`${home.config}/projects/${projectSlug(home.project)}`);
  return new Map([...files].filter(([name]) => !name.includes("/")));
}
