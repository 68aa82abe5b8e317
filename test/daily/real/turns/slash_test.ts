import { assert, assertEquals } from "@std/assert";
import { claudeCommands } from "../../../../src/conversation/control/prompt/claude_commands.ts";
import { asRecorded } from "../../../real/as_recorded.ts";
import { filesBelow } from "../../../real/files_below.ts";
import { forEachVersion } from "../../../real/for_each_version.ts";
import { hold } from "../../../real/hold_conversation.ts";
import { parseFrames } from "../../../real/print_mode_facts.ts";
import type { RealClaude } from "../../../real/real_claude.ts";
import { textsIn } from "../../../real/texts_in.ts";
import { callerLines, CONVERSATION, userMessage } from "../../../caller_lines.ts";
import { writeFiles } from "../../../write_files.ts";

const ANSWERED = ["/logout", "/logout ", "/logout now", "/logout\nnow", "/logout\u00a0x", "/fork"];
/** Text in print mode. */
const TEXT = ["\n/logout", "\ufeff/logout", "!ls\ufe0f\r\n", "/daemon"];
const REFUSED = ["/insights", "/config x=y"];
/** Commands that a headless Claude Code answers without the model: alone, and in a conversation. */
const ASKED_ALONE = "/cost";
const ASKED = ["/config", "/clear"];

forEachVersion("no command reaches the login or a file", async (real) => {
  const { path, project, credentials } = real.home;
  const login = await Deno.readTextFile(credentials);
  const target = `${project}/exported.txt`;
  await writeFiles(project, { ".claude/skills/upgrade/SKILL.md": "Upgrade" });
  const before = filesBelow(path);
  const refused = [...REFUSED, "/upgrade"];
  const answered = [...ANSWERED, `/export ${target}`];
  const list = await real.print(["--jsonl", "--no-session-persistence"], {
    stdin: [...answered, ...refused, ASKED_ALONE, ...TEXT]
      .map((prompt) => JSON.stringify(prompt)).join("\n"),
  });
  for (const line of list.stdout.trimEnd().split("\n")) {
    const { input, exit_code, result } = JSON.parse(line);
    if (answered.includes(input)) {
      const name = /^\S+/u.exec(input)?.[0];
      assertEquals([exit_code, result.num_turns], [0, 0], line);
      assertEquals(result.result, `${name} isn't available in this environment.`);
    } else {
      assertEquals(exit_code, [ASKED_ALONE, ...TEXT].includes(input) ? 0 : 2, line);
    }
  }
  const conversation = await hold(real, async ({ say, heard }) => {
    for (const [at, prompt] of ASKED.entries()) {
      await say(prompt);
      await heard('"type":"result"', at + 1);
    }
  }, ["--no-session-persistence"]);
  assertEquals(
    parseFrames(conversation.stdout).filter(({ type }) => type === "result")
      .map(({ subtype, is_error }) => [subtype, is_error]),
    ASKED.map(() => ["success", false]),
  );
  const pasted = await real.printInProcess(["--inject", "paste"], { stdin: "/logout\na\nb\nc\nd" });
  assertEquals(pasted.stdout, "/logout isn't available in this environment.\n");
  assertEquals(real.api.turns.map(({ body }) => textsIn(body, "user")), TEXT.map((text) => [text]));
  assertEquals(await Deno.readTextFile(credentials), login);
  assertEquals(filesBelow(path), before, "--no-session-persistence forwards nothing");
  assertEquals([...Deno.readDirSync(project)].map(({ name }) => name), [".claude"]);
});

/** The answers of one `claude -p` to several prompts. */
async function answers(real: RealClaude, prompts: readonly string[]) {
  const request = { type: "control_request", request_id: "1", request: { subtype: "initialize" } };
  const stdin = callerLines([request, ...prompts.map((prompt) => userMessage(prompt))]);
  const { stdout } = await real.claudeP(CONVERSATION, { stdin });
  const frames = parseFrames(stdout);
  const response: unknown = frames.find(({ type }) => type === "control_response")?.["response"];
  const { commands } = (response as {
    readonly response: {
      readonly commands: readonly { readonly name: string; readonly aliases?: readonly string[] }[];
    };
  }).response;
  return {
    names: commands.flatMap(({ name, aliases = [] }) => [name, ...aliases]),
    results: frames.filter(({ type }) => type === "result").map(({ result }) => result),
  };
}

forEachVersion("the table of commands is that of claude -p", async (real) => {
  const { kinds } = claudeCommands(real.version);
  const named = (...wanted: readonly string[]) =>
    [...kinds].filter(([, kind]) => wanted.includes(kind)).map(([name]) => name).sort();
  const unavailable = named("unavailable");
  const { names, results } = await asRecorded(
    real,
    "slash/answers",
    () => answers(real, unavailable.map((name) => `/${name}`)),
  );
  // `keybindings-help` is not listed.
  assertEquals(
    [...names, "keybindings-help"].sort(),
    named("prompt", "told", "asked", "alone", "noted", "clears", "own", "personal"),
  );
  assertEquals(results, unavailable.map((name) => `/${name} isn't available in this environment.`));
  assert(unavailable.length > 100);
  assertEquals(real.api.turns, []);
});
