import { readFacts } from "./read_facts.ts";
import { memoryPathOf } from "../plan/decide.ts";
import type { RunFacts } from "../plan/plan_facts.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { gitRoot } from "../../sandbox/child/git_repository.ts";
import { runGit } from "../../sandbox/child/run_git.ts";
import { namesIn } from "../../sandbox/on_disk.ts";
import { absolutePath, parentOf, realPath } from "../../sandbox/paths.ts";

/**
 * What git is asked: of the same state of files, the same branch and the same commit Claude Code tells the model the same
 * status and the same log at the beginning of a conversation.
 */
const GIT = ["status", "--porcelain=v2", "--branch"];

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

/** The most files that are looked at, and the most that is read of one, in bytes. */
const MAX_FILES = 1000;
const MAX_BYTES = 1_000_000;

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
  const repository = isInRepository(order) ? await runGit(GIT, { cwd, env }) : undefined;
  const files = [
    binary,
    ...instructionsOf(order, facts),
    `${userConfig.dir}/plugins/installed_plugins.json`,
    `${memoryPathOf(facts)}/MEMORY.md`,
  ];
  return JSON.stringify({
    today: new Date().toDateString(),
    documents,
    distrust,
    mcpServers,
    login: [login.kind, account],
    git: repository?.stdout,
    files: statesOf(files, { home: env["HOME"] ?? "" }),
  });
}

/** Whether git finds a repository, by the folders above or because it is told where one is. */
function isInRepository({ env, cwd }: RunOrder): boolean {
  return gitRoot(cwd) !== undefined || env["GIT_DIR"] !== undefined;
}

/** Where instructions come from: files, and folders of them. */
function instructionsOf(
  { cwd, addDirs }: RunOrder,
  { userConfig, root }: RunFacts,
): readonly string[] {
  const projects = new Set([root, ...addDirs.map((dir) => realPath(absolutePath(dir, cwd)))]);
  for (let dir = realPath(cwd); dir !== ""; dir = parentOf(dir)) projects.add(dir);
  projects.add("");
  const configs = [userConfig.dir, `${MANAGED}/.claude`];
  return [
    `${userConfig.dir}/CLAUDE.md`,
    `${MANAGED}/CLAUDE.md`,
    ...[...projects].flatMap((dir) => INSTRUCTIONS.map((name) => `${dir}/${name}`)),
    ...[...configs, ...[...projects].map((dir) => `${dir}/.claude`)]
      .flatMap((dir) => FOLDERS.map((name) => `${dir}/${name}`)),
  ];
}

/**
 * What tells that files, those in folders, and those that instructions name by an `@` and a path are as they were. Of a
 * project that has more of them than is looked at, or names them in circles, the first count.
 */
function statesOf(
  paths: readonly string[],
  { home }: { readonly home: string },
): readonly (readonly unknown[])[] {
  const states = new Map<string, readonly unknown[]>();
  const queue = [...paths];
  for (const path of queue) {
    if (states.size >= MAX_FILES) break;
    if (states.has(path)) continue;
    const info = infoOf(path);
    states.set(path, [path, info?.ino, info?.size, info?.mtime?.getTime(), info?.ctime?.getTime()]);
    if (info?.isDirectory) {
      queue.push(...namesIn(path).slice(0, MAX_FILES).map((name) => `${path}/${name}`));
    } else if (info?.isFile && path.endsWith(".md")) queue.push(...namedIn(path, { home }));
  }
  return [...states.values()];
}

function infoOf(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch {
    return undefined;
  }
}

/** The files that instructions name. */
function namedIn(path: string, { home }: { readonly home: string }): readonly string[] {
  let text: string;
  try {
    text = new TextDecoder().decode(readRegularFile(path, { limit: MAX_BYTES }));
  } catch {
    return [];
  }
  return [...text.matchAll(/(?<=^|\s)@([^\s@]+)/gu)].slice(0, MAX_FILES)
    .map(([, named = ""]) => absolutePath(named.replace(/^~(?=\/)/u, home), parentOf(path)));
}
