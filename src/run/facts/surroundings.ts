import { readFacts } from "./read_facts.ts";
import { memoryPathOf } from "../plan/decide.ts";
import type { RunFacts } from "../plan/plan_facts.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { runGit } from "../../sandbox/child/run_git.ts";
import { namesIn } from "../../sandbox/on_disk.ts";
import { absolutePath, parentOf, realPath } from "../../sandbox/paths.ts";

/** What git is asked of which Claude Code tells the model at the beginning of a conversation. */
const GIT = [["status", "--short", "--branch"], ["log", "--oneline", "-n", "5"]];

/** Names of instructions in a folder and in its `.claude`; 2.1.330 takes the second where the first is missing. */
const INSTRUCTIONS = [
  "CLAUDE.md",
  "CLAUDE.local.md",
  "AGENTS.md",
  ".claude/CLAUDE.md",
  ".claude/AGENTS.md",
];

/** Folders below `.claude` whose files become a part of what the model is told. */
const FOLDERS = ["rules", "output-styles"];

/** Where an administrator's instructions are. */
const MANAGED = "/etc/claude-code";

/** How many files a name in instructions may lead through, as in Claude Code, and the most that is read of one. */
const MAX_IMPORTS = 5;
const MAX_BYTES = 1_000_000;

/** The most files that are looked at. */
const MAX_FILES = 1000;

/**
 * Remembers what a child that is started next reads of its surroundings.
 *
 * @returns whether one that is started now would read the same
 * @throws {CliError} as `readFacts` does
 */
export async function watchSurroundings(order: RunOrder): Promise<() => Promise<boolean>> {
  const facts = await readFacts(order);
  const before = await surroundings(order, facts);
  return async () => await surroundings(order, await readFacts(order, facts)) === before;
}

/**
 * What Claude Code reads when it starts and does not read again for its first turn (2.1.197 and 2.1.330), as a text to
 * compare: as long as it is the same, a child that has waited for its first message tells the model what a new one would.
 *
 * Skills, agents and commands are not in it, because Claude Code looks for those again. Of a login it has whose it is: a
 * token that was renewed is taken by the child itself.
 */
async function surroundings(order: RunOrder, facts: RunFacts): Promise<string> {
  const { env, cwd } = order;
  const { documents, distrust, mcpServers, userClaudeJson, login, userConfig, binary } = facts;
  const account = login.kind === "variable" ? login.name : userClaudeJson?.["oauthAccount"];
  const answers = await Promise.all(GIT.map((args) => runGit(args, { cwd, env })));
  const files = [
    binary,
    ...instructionsOf(order, facts),
    `${userConfig.dir}/plugins/installed_plugins.json`,
    `${memoryPathOf(facts)}MEMORY.md`,
  ];
  return JSON.stringify({
    today: new Date().toDateString(),
    documents,
    distrust,
    mcpServers,
    login: [login.kind, account],
    git: answers.map((answer) => answer?.stdout),
    files: [...new Set(files)].map(stateOf),
  });
}

/** The files from which instructions come, and those that these name. */
function instructionsOf(
  { cwd, addDirs, env }: RunOrder,
  { userConfig, root }: RunFacts,
): readonly string[] {
  const above: string[] = [];
  for (let dir = realPath(cwd);; dir = parentOf(dir)) {
    above.push(dir);
    if (dir === "") break;
  }
  const added = addDirs.map((dir) => realPath(absolutePath(dir, cwd)));
  const projects = [...new Set([...above, root, ...added])];
  const own = [
    `${userConfig.dir}/CLAUDE.md`,
    `${MANAGED}/CLAUDE.md`,
    ...projects.flatMap((dir) => INSTRUCTIONS.map((name) => `${dir}/${name}`)),
  ];
  const folders = [userConfig.dir, `${MANAGED}/.claude`, ...projects.map((dir) => `${dir}/.claude`)]
    .flatMap((dir) => FOLDERS.map((name) => `${dir}/${name}`));
  const files = [...own, ...folders.flatMap((folder) => filesBelow(folder))];
  const imported = { home: env["HOME"] ?? "", depth: MAX_IMPORTS };
  return [...files, ...files.flatMap((path) => importsOf(path, imported))].slice(0, MAX_FILES);
}

/** The files below a folder, links followed as Claude Code does. */
function filesBelow(folder: string, depth = 0): readonly string[] {
  return namesIn(folder).slice(0, MAX_FILES).flatMap((name) => {
    const path = `${folder}/${name}`;
    return name.includes(".") || depth >= MAX_IMPORTS
      ? [path]
      : [path, ...filesBelow(path, depth + 1)];
  });
}

/** The files that instructions name by an `@` and a path, and those that these name in turn. */
function importsOf(
  path: string,
  { home, depth }: { readonly home: string; readonly depth: number },
): readonly string[] {
  if (depth === 0) return [];
  return [...textOf(path).matchAll(/(?<=^|\s)@([^\s@]+)/gu)].slice(0, MAX_FILES).flatMap(
    ([, named = ""]) => {
      const imported = absolutePath(named.replace(/^~(?=\/)/u, home), parentOf(path));
      return [imported, ...importsOf(imported, { home, depth: depth - 1 })];
    },
  );
}

/** A text; nothing where there is none that is read. */
function textOf(path: string): string {
  try {
    return new TextDecoder().decode(readRegularFile(path, { limit: MAX_BYTES }));
  } catch {
    return "";
  }
}

/** What tells that a file is still as it was. */
function stateOf(path: string): readonly unknown[] {
  try {
    const { dev, ino, size, mtime, ctime } = Deno.statSync(path);
    return [path, dev, ino, size, mtime?.getTime(), ctime?.getTime()];
  } catch {
    return [path];
  }
}
