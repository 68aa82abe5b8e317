import { assertEquals } from "@std/assert";
import { makeThrowawayHome } from "../../../fixtures/throwaway_home.ts";
import { watchSurroundings } from "../../../src/run/facts/surroundings.ts";
import { PLAIN_ORDER } from "../plain_order.ts";

/** What stands around a Claude Code that waits, as a shell's commands in the project. */
const BEFORE = `
git init -q
mkdir .claude ~/.claude/rules
echo 'See @style.md' > CLAUDE.md
echo 'and @~/more.md' > style.md
echo 'One more' > ~/more.md
echo one > a.txt
git add .
echo "{}" > agents.json
git -c user.name=a -c user.email=a@b commit -qm First
`;

/** What may change then, and what does not matter. */
const CHANGES: Readonly<Record<string, string>> = {
  "instructions above the project": "echo Use spaces. > ../CLAUDE.md",
  "the user's instructions": "echo Be kind. > ~/.claude/CLAUDE.md",
  "what is named by what instructions name": "echo two > ~/more.md",
  "what instructions name": "echo two > style.md",
  "instructions": "echo Use spaces. > CLAUDE.md",
  "a rule": "mkdir -p ~/.claude/rules/deep && echo More. > ~/.claude/rules/deep/more.md",
  "memory": 'mkdir -p "$MEMORY" && echo remembered > "$MEMORY/MEMORY.md"',
  "settings": `echo '{"outputStyle": "Explanatory"}' > .claude/settings.json`,
  "MCP servers": `echo '{"mcpServers": {"a": {"command": "true"}}}' > .mcp.json`,
  "files in the repository": "echo more >> a.txt",
  "the branch": "git checkout -q -b other",
  "who commits": "git config user.name Somebody",
  "the file of a system prompt": "echo Be brief. > prompt.txt",
  "the file of agents": `echo '{"a": {}}' > agents.json`,
  "a plugin": "mkdir plugin && echo more > plugin/README.md",
  "a skill": "mkdir -p .claude/skills/new && echo New. > .claude/skills/new/SKILL.md",
  "an agent": "mkdir -p ~/.claude/agents && echo New. > ~/.claude/agents/new.md",
  "a command": "mkdir -p .claude/commands && echo New. > .claude/commands/new.md",
  "rules of the project in .claude.json":
    `sed -i 's|"projects": {|&"'"$PWD"'": {"allowedTools": ["Bash"]}|' ~/.claude.json`,
  "the program": "touch -d @1 ../claude",
  "the account": "sed -i 's/1111-2222/3333-2222/' ~/.claude.json",
  "the login": "rm ~/.claude/.credentials.json",
};
const UNSEEN = "files in the repository";
const NOTHING: Readonly<Record<string, string>> = {
  "nothing": "true",
  "another name of the program": "ln ../claude ../another",
  "a token that was renewed":
    `sed -i 's/"accessToken": "[^"]*"/"accessToken": "another"/' ~/.claude/.credentials.json`,
  "how often Claude Code was started": `sed -i 's/12/13/' ~/.claude.json`,
};

/** The same where the project's settings are those of another folder. */
const CHANGES_ELSEWHERE: Readonly<Record<string, string>> = {
  "its settings": `echo '{"outputStyle": "Explanatory"}' > settings.json`,
  "its servers": `echo '{"mcpServers": {"a": {"command": "true"}}}' > ../.mcp.json`,
  "its skills": "mkdir -p skills/new && echo New. > skills/new/SKILL.md",
  "instructions": 'echo Use spaces. > "$PROJECT/CLAUDE.md"',
  "another folder": "mv ~/trusted ~/before && cp -r ~/before ~/trusted",
};
const NOTHING_ELSEWHERE: Readonly<Record<string, string>> = {
  "settings of the working directory":
    `echo '{"model": "opus"}' > "$PROJECT/.claude/settings.json"`,
  "its servers": `echo '{"mcpServers": {"b": {"command": "true"}}}' > "$PROJECT/.mcp.json"`,
};

/** A program that says which Claude Code it is. */
async function installClaude(folder: string): Promise<string> {
  const path = `${folder}/claude`;
  await Deno.writeTextFile(path, "#!/bin/sh\necho '2.1.330 (Claude Code)'\n", { mode: 0o755 });
  return path;
}

Deno.test("whatever Claude Code reads at its start alone is noticed when it changes, and nothing else", async () => {
  await using home = await makeThrowawayHome();
  const claudeBinary = await installClaude(home.path);
  const slug = home.project.replaceAll(/[^a-zA-Z\d]/gu, "-");
  const shell = async (script: string) => {
    const { success, stderr } = await new Deno.Command("sh", {
      args: ["-ec", script],
      cwd: home.project,
      env: { ...home.env, MEMORY: `${home.config}/projects/${slug}/memory` },
      clearEnv: true,
    }).output();
    assertEquals([success, new TextDecoder().decode(stderr)], [true, ""], script);
  };
  await shell(BEFORE);
  const order = {
    ...PLAIN_ORDER,
    env: home.env,
    cwd: home.project,
    claudeBinary,
    forwarded: ["--system-prompt-file=prompt.txt", "--plugin-dir=plugin", "--agents=agents.json"],
  };
  for (const [what, command] of [...Object.entries(NOTHING), ...Object.entries(CHANGES)]) {
    const { isUpToDate, hasStirred } = await watchSurroundings(order);
    await shell(command);
    // What git alone can tell of files costs more than a look.
    if (!(what in NOTHING) && what !== UNSEEN) assertEquals(hasStirred(), true, what);
    assertEquals(await isUpToDate().catch(() => false), what in NOTHING, what);
    assertEquals(hasStirred(), false, what);
  }
});

Deno.test("what Claude Code reads at its start of another folder than the working directory is noticed, too", async () => {
  await using home = await makeThrowawayHome();
  const trusted = `${home.path}/trusted`;
  for (const dir of [home.project, trusted]) Deno.mkdirSync(`${dir}/.claude`, { recursive: true });
  const order = {
    ...PLAIN_ORDER,
    env: home.env,
    cwd: home.project,
    claudeBinary: await installClaude(home.path),
    projectConfigRoot: trusted,
  };
  const changes = [
    ...Object.entries(NOTHING_ELSEWHERE).map((each) => [...each, true] as const),
    ...Object.entries(CHANGES_ELSEWHERE).map((each) => [...each, false] as const),
  ];
  for (const [what, command, isNothing] of changes) {
    const { isUpToDate, hasStirred } = await watchSurroundings(order);
    const { success } = await new Deno.Command("sh", {
      args: ["-ec", command],
      cwd: `${trusted}/.claude`,
      env: { ...home.env, PROJECT: home.project },
      clearEnv: true,
    }).output();
    assertEquals(success, true, what);
    // A look that costs little may be had in vain.
    assertEquals([isNothing || hasStirred(), await isUpToDate()], [true, isNothing], what);
  }
});

Deno.test("instructions that name each other in circles, and folders that lead into themselves, come to an end", async () => {
  await using home = await makeThrowawayHome();
  const { project, env } = home;
  const claudeBinary = await installClaude(home.path);
  await Deno.mkdir(`${project}/.claude/rules`, { recursive: true });
  for (let count = 0; count < 30; count++) {
    await Deno.symlink(".", `${project}/.claude/rules/r${count}`);
    const names = Array.from({ length: 30 }, (_, other) => `@c${other}.md @./c${other}.md`);
    await Deno.writeTextFile(`${project}/c${count}.md`, names.join(" "));
  }
  await Deno.rename(`${project}/c0.md`, `${project}/CLAUDE.md`);
  await Deno.symlink("/dev/zero", `${project}/c0.md`);
  const order = { ...PLAIN_ORDER, env, cwd: project, claudeBinary };
  const { isUpToDate } = await watchSurroundings(order);
  assertEquals(await isUpToDate(), true);
  await Deno.writeTextFile(`${project}/c1.md`, "");
  assertEquals(await isUpToDate(), false);
});

Deno.test("after midnight where the caller is, what was read before is another", async () => {
  await using home = await makeThrowawayHome();
  const { isUpToDate, hasStirred } = await watchSurroundings({
    ...PLAIN_ORDER,
    env: { ...home.env, TZ: "Pacific/Kiritimati" },
    cwd: home.project,
    claudeBinary: await installClaude(home.path),
  });
  const { toLocaleDateString } = Date.prototype;
  // Midnight has passed where the caller is.
  Date.prototype.toLocaleDateString = function (
    _?: unknown,
    { timeZone }: Intl.DateTimeFormatOptions = {},
  ) {
    return `tomorrow in ${timeZone}`;
  };
  assertEquals([hasStirred(), await isUpToDate()], [true, false]);
  Date.prototype.toLocaleDateString = toLocaleDateString;
  assertEquals([hasStirred(), await isUpToDate(), hasStirred()], [true, true, false]);
});
