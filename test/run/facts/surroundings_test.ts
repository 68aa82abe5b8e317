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
  "the program": "touch -d @1 ../claude",
  "the account": `sed -i 's/{/{"oauthAccount": {"accountUuid": "another"},/' ~/.claude.json`,
  "the login": "rm ~/.claude/.credentials.json",
};
const NOTHING: Readonly<Record<string, string>> = {
  "nothing": "true",
  "a token that was renewed":
    `sed -i 's/"accessToken": "[^"]*"/"accessToken": "another"/' ~/.claude/.credentials.json`,
  "how often Claude Code was started": `sed -i 's/12/13/' ~/.claude.json`,
};

Deno.test("whatever Claude Code reads at its start alone is noticed when it changes, and nothing else", async () => {
  await using home = await makeThrowawayHome();
  const claudeBinary = `${home.path}/claude`;
  const script = "#!/bin/sh\necho '2.1.330 (Claude Code)'\n";
  await Deno.writeTextFile(claudeBinary, script, { mode: 0o755 });
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
  const order = { ...PLAIN_ORDER, env: home.env, cwd: home.project, claudeBinary };
  for (const [what, command] of [...Object.entries(NOTHING), ...Object.entries(CHANGES)]) {
    const isUpToDate = await watchSurroundings(order);
    await shell(command);
    assertEquals(await isUpToDate().catch(() => false), what in NOTHING, what);
  }
});

Deno.test("instructions that name each other in circles, and folders that lead into themselves, come to an end", async () => {
  await using home = await makeThrowawayHome();
  const { project, env } = home;
  const claudeBinary = `${home.path}/claude`;
  await Deno.writeTextFile(claudeBinary, "#!/bin/sh\necho '2.1.330 (Claude Code)'\n", {
    mode: 0o755,
  });
  await Deno.mkdir(`${project}/.claude/rules`, { recursive: true });
  for (let count = 0; count < 30; count++) {
    await Deno.symlink(".", `${project}/.claude/rules/r${count}`);
    const names = Array.from({ length: 30 }, (_, other) => `@c${other}.md @./c${other}.md`);
    await Deno.writeTextFile(`${project}/c${count}.md`, names.join(" "));
  }
  await Deno.rename(`${project}/c0.md`, `${project}/CLAUDE.md`);
  await Deno.symlink("/dev/zero", `${project}/c0.md`);
  const order = { ...PLAIN_ORDER, env, cwd: project, claudeBinary };
  const isUpToDate = await watchSurroundings(order);
  assertEquals(await isUpToDate(), true);
  await Deno.writeTextFile(`${project}/c1.md`, "");
  assertEquals(await isUpToDate(), false);
});
