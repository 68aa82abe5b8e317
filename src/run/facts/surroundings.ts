import { namesIn } from "../../../ffi/files/at_path.ts";
import { askVersion } from "../../claude/program/ask_version.ts";
import { isScript } from "../../claude/program/is_script.ts";
import { readFacts } from "./read_facts.ts";
import { memoryPathOf } from "../plan/decide.ts";
import type { RunFacts } from "../plan/plan_facts.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { DONE, seededClaudeJson } from "../../sandbox/child/seeded_claude_json.ts";
import { gitRoot, repositoryOf } from "../../sandbox/child/git_repository.ts";
import { gitStatus } from "../../sandbox/child/run_git.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { JsonObject } from "../../json_object.ts";
import { withoutDeepValues } from "../../claude/settings/deep_values.ts";
import { absolutePath, parentOf, realPath, upFrom } from "../../sandbox/paths.ts";

/** Names of instructions in a folder and in its `.claude`; 2.1.330 takes the second where the first is missing. */
const INSTRUCTIONS = [
  "CLAUDE.md",
  "CLAUDE.local.md",
  "AGENTS.md",
  ".claude/CLAUDE.md",
  ".claude/AGENTS.md",
];

/** Folders below `.claude` whose files become a part of what the model is told. */
const FOLDERS = ["rules", "output-styles", "agents", "commands", "skills"];

/** Where an administrator's instructions are. */
const MANAGED = "/etc/claude-code";

/** The most files that are looked at, and the most that is read of one, in bytes. */
const MAX_FILES = 1000;
const MAX_BYTES = 1_000_000;

/** What is remembered of what a child reads when it starts. */
export interface Surroundings {
  /** Whether one that is started now would read the same. */
  readonly isUpToDate: () => Promise<boolean>;
  /**
   * Whether it may be otherwise since that was asked last, by what little costs next to nothing: whether files have been
   * written, and the date. What git would say of other files is not known by that.
   */
  readonly hasStirred: () => boolean;
}

/**
 * Remembers what a child that is started next reads of its surroundings.
 *
 * @throws {CliError} as `readFacts` does
 */
export async function watchSurroundings(order: RunOrder): Promise<Surroundings> {
  const facts = await readFacts(order);
  const before = await surroundings(order, facts);
  let seen = stirrings(order, facts);
  return {
    isUpToDate: async () => {
      seen = stirrings(order, facts);
      return await surroundings(order, await readFacts(order, facts)) === before;
    },
    hasStirred: () => stirrings(order, facts) !== seen,
  };
}

/**
 * What Claude Code reads when it starts and does not read again for its first turn (2.1.330), as a text to
 * compare: as long as it is the same, a child that has waited for its first message tells the model what a new one would.
 *
 * Skills, agents and commands are in it though Claude Code looks for them again: one that was stopped while it waited may
 * get its first message before it has heard of them. Of a login it has whose it is: a token that was renewed is taken by
 * the child itself.
 */
async function surroundings(order: RunOrder, facts: RunFacts): Promise<string> {
  const { env, cwd } = order;
  const { documents, distrust, mcpServers, login } = facts;
  const claudeJson = seededClaudeJson(without(facts.userClaudeJson ?? {}, DONE), {
    folders: facts.folders,
    apiKey: undefined,
  });
  // Of the same state of files, the same branch and the same commit Claude Code tells the model the same status and the
  // same log.
  const git = isInRepository(order) ? await gitStatus({ cwd, env }) : undefined;
  return JSON.stringify({
    today: daysOf(env),
    documents,
    distrust,
    // What a project nests there without end is nothing that a server is started with.
    ...withoutDeepValues({ mcpServers }).values,
    claudeJson,
    login: login.kind === "variable" ? [login.kind, login.name] : [login.kind],
    git,
    folders: [idOf(cwd), idOf(facts.projectRoot)],
    program: programOf(facts),
    version: isScript(facts.binary) ? await askVersion(facts.binary, env, { cwd }) : undefined,
    files: statesOf(filesOf(order, facts), { home: env["HOME"] ?? "" }),
  });
}

/** What tells cheaply that any of that may be another. */
function stirrings(order: RunOrder, facts: RunFacts): string {
  const { userConfig, projectRoot, root, documents } = facts;
  const files = [
    ...filesOf(order, facts),
    ...documents.map(({ name }) => name).filter((name) => name.startsWith("/")),
    `${userConfig.dir}/settings.json`,
    ...[projectRoot, root, repositoryOf(root)].flatMap((dir) => [
      `${dir}/.claude/settings.json`,
      `${dir}/.claude/settings.local.json`,
    ]),
    `${MANAGED}/managed-settings.json`,
    `${MANAGED}/managed-settings.d`,
    `${MANAGED}/managed-mcp.json`,
    userConfig.claudeJson,
    `${userConfig.loginDir}/.credentials.json`,
    ...upFrom(projectRoot).map((dir) => `${dir}/.mcp.json`),
    `${root}/.git/HEAD`,
    `${root}/.git/index`,
  ];
  return JSON.stringify([
    daysOf(order.env),
    idOf(order.cwd),
    idOf(projectRoot),
    programOf(facts),
    statesOf(files, { home: order.env["HOME"] ?? "" }),
  ]);
}

/** Files that Claude Code reads whose content nobody else reads here. */
function filesOf(order: RunOrder, facts: RunFacts): readonly string[] {
  const { userConfig, root } = facts;
  const repository = `${repositoryOf(root)}/.git`;
  return [
    ...instructionsOf(order, facts),
    ...namedByFlags(order),
    `${userConfig.dir}/plugins/installed_plugins.json`,
    `${memoryPathOf(facts)}/MEMORY.md`,
    // Who commits, and what the main branch is.
    `${repository}/config`,
    `${repository}/packed-refs`,
    `${repository}/refs/remotes/origin`,
    `${repository}/refs/heads/main`,
    `${repository}/refs/heads/master`,
    `${order.env["HOME"] ?? ""}/.gitconfig`,
    `${order.env["XDG_CONFIG_HOME"] ?? `${order.env["HOME"] ?? ""}/.config`}/git/config`,
  ];
}

/** Flags whose values are files, or folders of them, that are read at the start. */
const FILE_FLAGS =
  /^--(?:append-)?system-prompt-file=|^--plugin-dir(?:-no-mcp)?=|^--agents=(?!\s*\{)/u;

function namedByFlags({ forwarded, cwd }: RunOrder): readonly string[] {
  return forwarded.filter((argument) => FILE_FLAGS.test(argument))
    .map((argument) => absolutePath(argument.slice(argument.indexOf("=") + 1), cwd));
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

/** The day for whoever goes by the caller's clock, for this machine, and everywhere alike. */
function daysOf({ TZ: timeZone }: Environment): readonly string[] {
  const now = new Date();
  const days = [now.toISOString().slice(0, 10), now.toDateString()];
  try {
    return [...days, now.toLocaleDateString("en", timeZone === undefined ? {} : { timeZone })];
  } catch {
    // Not every name of a time zone is one for everybody.
    return days;
  }
}

/** Which folder it is that has a path. */
function idOf(path: string): string {
  const { dev, ino } = infoOf(path) ?? {};
  return `${dev}:${ino}`;
}

/** Which program it is: no name more or less that it has makes another one of it, as the time of its last change does. */
function programOf({ binary }: RunFacts): string {
  const { size, mtime } = infoOf(binary) ?? {};
  return `${idOf(binary)}:${size}:${mtime?.getTime()}`;
}

/** Whether git finds a repository, by the folders above or because it is told where one is. */
function isInRepository({ env, cwd }: RunOrder): boolean {
  return gitRoot(cwd) !== undefined || env["GIT_DIR"] !== undefined;
}

/** Where instructions come from: files, and folders of them. */
function instructionsOf(
  { cwd, addDirs }: RunOrder,
  { userConfig, projectRoot, root }: RunFacts,
): readonly string[] {
  const projects = new Set([root, ...addDirs.map((dir) => realPath(absolutePath(dir, cwd)))]);
  for (const dir of [...upFrom(realPath(cwd)), ...upFrom(projectRoot)]) projects.add(dir);
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
