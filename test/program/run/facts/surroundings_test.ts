import { assertEquals } from "@std/assert";
import { makeThrowawayHome, type ThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import type { JsonObject } from "../../../../src/json_object.ts";
import { watchSurroundings } from "../../../../src/run/facts/surroundings.ts";
import type { RunOrder } from "../../../../src/run/plan/run_order.ts";
import { parentOf } from "../../../../src/paths.ts";
import { missingTool } from "../../../missing_tool.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";
import { PLAIN_ORDER } from "../../../run/plain_order.ts";
import { git } from "../../../git.ts";

/** Writes a file, by its path below the home, and its folder. */
function write(home: ThrowawayHome, name: string, text: string): void {
  const path = `${home.path}/${name}`;
  Deno.mkdirSync(parentOf(path), { recursive: true });
  Deno.writeTextFileSync(path, text);
}

const replace = (name: string, text: string, by: string) => (home: ThrowawayHome) => {
  const path = `${home.path}/${name}`;
  const before = Deno.readTextFileSync(path);
  assertEquals(before.includes(text), true, name);
  Deno.writeTextFileSync(path, before.replace(text, by));
};

function setInClaudeJson({ path }: ThrowawayHome, fields: JsonObject): void {
  const file = `${path}/.claude.json`;
  const json = { ...JSON.parse(Deno.readTextFileSync(file)), ...fields };
  Deno.writeTextFileSync(file, JSON.stringify(json));
}

/** A change: a file and its text, or what changes the home. */
type Change = readonly [name: string, text: string] | ((home: ThrowawayHome) => unknown);

function make(change: Change, home: ThrowawayHome): unknown {
  return typeof change === "function" ? change(home) : write(home, ...change);
}

/** The path tells the version, so that nothing asks for it. */
const CLAUDE = "versions/2.1.332";

function orderIn(home: ThrowawayHome, more: Partial<RunOrder> = {}): RunOrder {
  write(home, CLAUDE, "a program");
  Deno.chmodSync(`${home.path}/${CLAUDE}`, 0o755);
  const claudeBinary = `${home.path}/${CLAUDE}`;
  return { ...PLAIN_ORDER, env: home.env, cwd: home.project, claudeBinary, ...more };
}

/** Makes changes one after the other; each has to be noticed, but for those of no matter. */
async function assertNoticed(
  home: ThrowawayHome,
  { order, changes, harmless }: {
    readonly order: RunOrder;
    readonly changes: Readonly<Record<string, Change>>;
    readonly harmless: Readonly<Record<string, Change>>;
  },
): Promise<void> {
  for (const [name, change] of Object.entries({ ...harmless, ...changes })) {
    const { isUpToDate, mayHaveChanged } = await watchSurroundings(order);
    await make(change, home);
    const isHarmless = name in harmless;
    // The cheap look may be wrong about harmless changes, and knows no other files of a repository.
    if (!isHarmless && name !== "a file of the repository") {
      assertEquals(mayHaveChanged(), true, name);
    }
    assertEquals(await isUpToDate().catch(() => false), isHarmless, name);
    assertEquals(mayHaveChanged(), false, name);
  }
}

const MCP = JSON.stringify({ mcpServers: { a: { command: "true" } } });
const STYLE = JSON.stringify({ outputStyle: "Explanatory" });

Deno.test("every file that Claude Code reads once is watched", async () => {
  await using home = await makeThrowawayHome();
  write(home, "project/CLAUDE.md", "See @style.md");
  write(home, "project/style.md", "and @~/more.md");
  write(home, "more.md", "One more");
  write(home, "project/agents.json", "{}");
  for (const dir of [".claude/rules", "project/.claude"]) {
    Deno.mkdirSync(`${home.path}/${dir}`, { recursive: true });
  }
  const slug = home.project.replaceAll(/[^a-zA-Z\d]/gu, "-");
  await assertNoticed(home, {
    order: orderIn(home, {
      forwarded: ["--system-prompt-file=prompt.txt", "--plugin-dir=plugin", "--agents=agents.json"],
    }),
    harmless: {
      "nothing": () => {},
      "another name of the program": ({ path }) =>
        Deno.linkSync(`${path}/${CLAUDE}`, `${path}/another`),
      "the count of starts": (home) => setInClaudeJson(home, { numStartups: 13 }),
      "a renewed token": replace(".claude/.credentials.json", "throwaway-access", "another"),
    },
    changes: {
      "instructions above the project": ["CLAUDE.md", "Use spaces."],
      "the user's instructions": [".claude/CLAUDE.md", "Be kind."],
      "a file that named instructions name": ["more.md", "two"],
      "a file that instructions name": ["project/style.md", "two"],
      "instructions": ["project/CLAUDE.md", "Use spaces."],
      "a rule": [".claude/rules/deep/more.md", "More."],
      "memory": [`.claude/projects/${slug}/memory/MEMORY.md`, "remembered"],
      "settings": ["project/.claude/settings.json", STYLE],
      "MCP servers": ["project/.mcp.json", MCP],
      "the file of a system prompt": ["project/prompt.txt", "Be brief."],
      "the file of agents": ["project/agents.json", '{"a": {}}'],
      "a plugin": ["project/plugin/README.md", "more"],
      "a skill": ["project/.claude/skills/new/SKILL.md", "New."],
      "an agent": [".claude/agents/new.md", "New."],
      "a command": ["project/.claude/commands/new.md", "New."],
      "the project's rules in .claude.json": (home) =>
        setInClaudeJson(home, { projects: { [home.project]: { allowedTools: ["Bash"] } } }),
      "the program": ({ path }) => Deno.utimeSync(`${path}/${CLAUDE}`, 1, 1),
      "the account": replace(".claude.json", "1111-2222", "3333-2222"),
      "the login": ({ credentials }) => Deno.removeSync(credentials),
    },
  });
});

Deno.test(skipIfLacking(missingTool("git"), {
  name: "the state of a repository is watched",
  fn: async () => {
    await using home = await makeThrowawayHome();
    write(home, "project/a.txt", "one");
    for (const args of [["init", "-q"], ["add", "."], ["commit", "-qm", "First"]]) {
      await git(home, ...args);
    }
    await assertNoticed(home, {
      order: orderIn(home),
      harmless: { "nothing": () => {} },
      changes: {
        "a file of the repository": ["project/a.txt", "one\nmore"],
        "the branch": () => git(home, "checkout", "-q", "-b", "other"),
        "who commits": () => git(home, "config", "user.name", "Somebody"),
      },
    });
  },
}));

Deno.test("the folder of --project-config-root is watched, too", async () => {
  await using home = await makeThrowawayHome();
  for (const dir of [home.project, `${home.path}/trusted`]) {
    Deno.mkdirSync(`${dir}/.claude`, { recursive: true });
  }
  await assertNoticed(home, {
    order: orderIn(home, { projectConfigRoot: `${home.path}/trusted` }),
    harmless: {
      "settings of the working directory": ["project/.claude/settings.json", '{"model": "opus"}'],
      "servers of the working directory": ["project/.mcp.json", MCP],
    },
    changes: {
      "settings": ["trusted/.claude/settings.json", STYLE],
      "servers": ["trusted/.mcp.json", MCP],
      "skills": ["trusted/.claude/skills/new/SKILL.md", "New."],
      "instructions": ["project/CLAUDE.md", "Use spaces."],
      "another folder": ({ path }) => {
        Deno.renameSync(`${path}/trusted`, `${path}/before`);
        Deno.mkdirSync(`${path}/trusted/.claude/skills/new`, { recursive: true });
        for (const name of [".mcp.json", ".claude/settings.json", ".claude/skills/new/SKILL.md"]) {
          Deno.copyFileSync(`${path}/before/${name}`, `${path}/trusted/${name}`);
        }
      },
    },
  });
});

Deno.test("instructions in circles come to an end", async () => {
  await using home = await makeThrowawayHome();
  const { project } = home;
  Deno.mkdirSync(`${project}/.claude/rules`, { recursive: true });
  for (let count = 0; count < 30; count++) {
    Deno.symlinkSync(".", `${project}/.claude/rules/r${count}`);
    const names = Array.from({ length: 30 }, (_, other) => `@c${other}.md @./c${other}.md`);
    Deno.writeTextFileSync(`${project}/c${count}.md`, names.join(" "));
  }
  Deno.renameSync(`${project}/c0.md`, `${project}/CLAUDE.md`);
  Deno.symlinkSync("/dev/zero", `${project}/c0.md`);
  const { isUpToDate } = await watchSurroundings(orderIn(home));
  assertEquals(await isUpToDate(), true);
  Deno.writeTextFileSync(`${project}/c1.md`, "");
  assertEquals(await isUpToDate(), false);
});

Deno.test("midnight in the caller's time zone is noticed", async () => {
  await using home = await makeThrowawayHome();
  const env = { ...home.env, TZ: "Pacific/Kiritimati" };
  const { isUpToDate, mayHaveChanged } = await watchSurroundings(orderIn(home, { env }));
  const { toLocaleDateString } = Date.prototype;
  Date.prototype.toLocaleDateString = function (
    _?: unknown,
    { timeZone }: Intl.DateTimeFormatOptions = {},
  ) {
    return `tomorrow in ${timeZone}`;
  };
  assertEquals([mayHaveChanged(), await isUpToDate()], [true, false]);
  Date.prototype.toLocaleDateString = toLocaleDateString;
  assertEquals([mayHaveChanged(), await isUpToDate(), mayHaveChanged()], [true, true, false]);
});
