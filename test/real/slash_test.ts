import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { messagesRequest } from "../../fixtures/messages_request.ts";
import { claudeCommands } from "../../src/session/claude_commands.ts";
import { isVersionAtLeast } from "../../src/wire/wire_keys.ts";
import { filesBelow } from "./files_below.ts";
import { forEachVersion } from "./for_each_version.ts";
import { parseFrames, parseObject } from "./print_mode_facts.ts";
import type { RealClaude } from "./real_claude.ts";

/** What the model was told in the user's name since so many requests, without reminders. */
function told(real: RealClaude, since: number): readonly (readonly string[])[] {
  return real.api.turns.slice(since).map(({ body }) =>
    (messagesRequest(body)?.messages ?? []).filter(({ role }) => role === "user")
      .flatMap(({ content }) =>
        typeof content === "string" ? [content] : content.map(({ text }) => text ?? "")
      )
      .filter((text) => !text.startsWith("<system-reminder>"))
  );
}

const ANSWERED = ["/logout", "/logout ", "/logout now", "/logout\nnow", "/logout\u00a0x", "/fork"];
const TEXT_BEFORE_330 = [" /logout", "\u200b/logout", "/log\u200bout"];
const NO_TEXT = ["\n/logout", "\t/init", "\u3000/logout", "\ufeff/logout", "/logout\u200b"];
const REFUSED = ["/ logout", "/Logout", "/", "/cost", "/nonsense x", "/daemon", "exit", " quit\n"];
const TEXT = ["/tmp is full", " / hi"];

forEachVersion("no spelling of a command gets at the login or at a file", async (real) => {
  const isLiteral = !isVersionAtLeast(real.version, "2.1.330");
  const { config, project, credentials } = real.home;
  const login = await Deno.readTextFile(credentials);
  const target = `${project}/exported.txt`;
  await Deno.mkdir(`${project}/.claude/skills/upgrade`, { recursive: true });
  await Deno.writeTextFile(`${project}/.claude/skills/upgrade/SKILL.md`, "Upgrade");
  const before = filesBelow(config);
  const sent = [...TEXT, ...isLiteral ? TEXT_BEFORE_330 : []];
  const refused = [
    ...[...REFUSED, "/upgrade"],
    ...isLiteral ? [] : [...TEXT_BEFORE_330, ...NO_TEXT],
  ];
  const answered = [...ANSWERED, `/export ${target}`];
  const list = await real.print(["--jsonl", "--no-session-persistence"], {
    stdin: [...answered, ...refused, ...sent].map((prompt) => JSON.stringify(prompt)).join("\n"),
  });
  for (const line of list.stdout.trimEnd().split("\n")) {
    const { input, exit_code, result } = JSON.parse(line);
    if (answered.includes(input)) {
      const name = /^\S+/u.exec(input)?.[0];
      assertEquals([exit_code, result.num_turns], [0, 0], input);
      assertEquals(result.result, `${name} isn't available in this environment.`);
    } else {
      assertEquals(exit_code, sent.includes(input) ? 0 : 2, JSON.stringify(input));
    }
  }
  const pasted = await real.print(["--inject", "paste"], { stdin: "/logout\na\nb\nc\nd" });
  assertEquals(pasted.stdout, "/logout isn't available in this environment.\n");
  assertEquals(told(real, 0), sent.map((prompt) => [prompt]));
  assertEquals(await Deno.readTextFile(credentials), login);
  assertEquals(filesBelow(config), before);
  assertEquals([...Deno.readDirSync(project)].map(({ name }) => name), [".claude"]);
});

forEachVersion("skills and commands that make a prompt do what claude -p does", async (real) => {
  const { project, config } = real.home;
  await Deno.mkdir(`${project}/.claude/skills/skill`, { recursive: true });
  await Deno.mkdir(`${config}/commands/group`, { recursive: true });
  await Deno.writeTextFile(
    `${config}/commands/group/one.md`,
    "Say this to $ARGUMENTS",
  );
  await Deno.writeTextFile(
    `${project}/.claude/skills/skill/SKILL.md`,
    "---\nname: shown\nallowed-tools: Bash(echo:*)\n---\nSay !`echo ran` to $ARGUMENTS",
  );
  for (const prompt of ["/group:one all\nof them", "/shown x"]) {
    const [there, here] = [real.api.turns.length, real.api.turns.length + 1];
    const theirs = parseObject(
      (await real.claudeP(["--output-format", "json"], { stdin: prompt })).stdout,
    );
    const run = await real.print(["--output-format", "stream-json", "--verbose"], {
      stdin: prompt,
    });
    const ours = parseFrames(run.stdout);
    assertEquals(told(real, here), told(real, there).slice(0, 1), prompt);
    assertEquals(ours.map(({ type }) => type), ["system", "assistant", "result"]);
    assertEquals(ours.at(-1)?.["num_turns"], theirs["num_turns"]);
    assertStringIncludes(told(real, here).flat().join("\n"), "<command-message>");
  }
});

/** The answers of one `claude -p` to several prompts. */
async function answers(real: RealClaude, prompts: readonly string[]) {
  const messages = prompts.map((content) => ({ type: "user", message: { role: "user", content } }));
  const request = { type: "control_request", request_id: "1", request: { subtype: "initialize" } };
  const { stdout } = await real.claudeP(
    ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"],
    { stdin: [request, ...messages].map((frame) => `${JSON.stringify(frame)}\n`).join("") },
  );
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

forEachVersion("the table of commands says what claude -p has, does and has not", async (real) => {
  const { kinds } = claudeCommands(real.version);
  const named = (...wanted: readonly string[]) =>
    [...kinds].filter(([, kind]) => wanted.includes(kind)).map(([name]) => name).sort();
  const unavailable = named("unavailable");
  const { names, results } = await answers(real, unavailable.map((name) => `/${name}`));
  // It is not listed, and no prompt may use it.
  assertEquals([...names, "keybindings-help"].sort(), named("prompt", "own", "personal"));
  assertEquals(results, unavailable.map((name) => `/${name} isn't available in this environment.`));
  assert(unavailable.length > 100);
  assertEquals(real.api.turns, []);
});
