import { fileAt, namesIn } from "../../../ffi/files/at_path.ts";
import { askVersion, isScript } from "../../claude/program/claude_version.ts";
import { readFacts } from "./read_facts.ts";
import { memoryPathOf } from "../plan/decide.ts";
import type { RunFacts } from "../plan/plan_facts.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { tryReadText } from "../../../ffi/files/regular_file.ts";
import { DONE_ONCE, seededClaudeJson } from "../../sandbox/child/child_files.ts";
import { gitRoot, gitStatus, repositoryOf } from "../../sandbox/child/git_repository.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { JsonObject } from "../../json_object.ts";
import { withoutDeepValues } from "../../claude/settings/settings_faults.ts";
import { absolutePath, parentOf, realPath, upFrom } from "../../paths.ts";

/** Instruction files of a folder. 2.1.330 reads those in `.claude` if the others are missing. */
const INSTRUCTIONS = [
  "CLAUDE.md",
  "CLAUDE.local.md",
  "AGENTS.md",
  ".claude/CLAUDE.md",
  ".claude/AGENTS.md",
];

/** Folders of `.claude` whose files become part of a request to the model. */
const FOLDERS = ["rules", "output-styles", "agents", "commands", "skills"];

/** The folder of an administrator's settings and instructions. */
const MANAGED = "/etc/claude-code";

/** The maximum number of checked files, and the maximum number of bytes of each that are searched for `@` mentions. */
const MAX_FILES = 1000;
const MAX_BYTES = 1_000_000;

/** Compares the files and settings that a child has read at its start with the current ones. */
export interface Surroundings {
  /** Whether a child that starts now would read the same content. */
  readonly isUpToDate: () => Promise<boolean>;
  /**
   * Whether the content may have changed since the last call of {@linkcode isUpToDate}. This check is cheap: it
   * compares the date and the times of files, and does not ask git.
   */
  readonly mayHaveChanged: () => boolean;
}

/**
 * Records the content that a child reads when it starts now.
 *
 * @throws {CliError} as {@linkcode readFacts} does
 */
export async function watchSurroundings(order: RunOrder): Promise<Surroundings> {
  const facts = await readFacts(order);
  const before = await fullState(order, facts);
  let seen = cheapState(order, facts);
  return {
    isUpToDate: async () => {
      seen = cheapState(order, facts);
      return await fullState(order, await readFacts(order, facts)) === before;
    },
    mayHaveChanged: () => cheapState(order, facts) !== seen,
  };
}

/**
 * All content that Claude Code reads at its start and does not read again for its first turn (2.1.330), as text. While
 * it is unchanged, a child that waits for its first message sends the model the same request as a new child.
 *
 * Skills, agents and commands are included although Claude Code reads them again, because a child that was suspended
 * may get its first message before it does. Only the kind of a login is included, because the child itself reads a
 * renewed token.
 */
async function fullState(order: RunOrder, facts: RunFacts): Promise<string> {
  const { env, cwd } = order;
  const { documents, distrust, mcpServers, login } = facts;
  const claudeJson = seededClaudeJson(without(facts.userClaudeJson ?? {}, DONE_ONCE), {
    folders: facts.folders,
    apiKey: undefined,
  });
  // Claude Code sends the git status and log to the model. They depend on files, branch and commit.
  const git = isInRepository(order) ? await gitStatus({ cwd, env }) : undefined;
  return JSON.stringify({
    today: daysOf(env),
    documents,
    distrust,
    // Values nested too deeply for JSON.stringify are no part of a server's configuration.
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

/** The part of the full state that is cheap to read. */
function cheapState(order: RunOrder, facts: RunFacts): string {
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

/** Files that Claude Code reads, but this program does not. */
function filesOf(order: RunOrder, facts: RunFacts): readonly string[] {
  const { userConfig, root } = facts;
  const repository = `${repositoryOf(root)}/.git`;
  return [
    ...instructionsOf(order, facts),
    ...namedByFlags(order),
    `${userConfig.dir}/plugins/installed_plugins.json`,
    `${memoryPathOf(facts)}/MEMORY.md`,
    // The author's name and the main branch.
    `${repository}/config`,
    `${repository}/packed-refs`,
    `${repository}/refs/remotes/origin`,
    `${repository}/refs/heads/main`,
    `${repository}/refs/heads/master`,
    `${order.env["HOME"] ?? ""}/.gitconfig`,
    `${order.env["XDG_CONFIG_HOME"] ?? `${order.env["HOME"] ?? ""}/.config`}/git/config`,
  ];
}

/** Flags that name files or folders to read at the start. */
const FILE_FLAGS =
  /^--(?:append-)?system-prompt-file=|^--plugin-dir(?:-no-mcp)?=|^--agents=(?!\s*\{)/u;

function namedByFlags({ forwarded, cwd }: RunOrder): readonly string[] {
  return forwarded.filter((argument) => FILE_FLAGS.test(argument))
    .map((argument) => absolutePath(argument.slice(argument.indexOf("=") + 1), cwd));
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

/** Today's date in UTC, in this machine's time zone and in the caller's. */
function daysOf({ TZ: timeZone }: Environment): readonly string[] {
  const now = new Date();
  const days = [now.toISOString().slice(0, 10), now.toDateString()];
  try {
    return [...days, now.toLocaleDateString("en", timeZone === undefined ? {} : { timeZone })];
  } catch {
    // The JavaScript engine does not know every time zone of the system.
    return days;
  }
}

/** Identifies the file at a path. */
function idOf(path: string): string {
  const { dev, ino } = fileAt(path) ?? {};
  return `${dev}:${ino}`;
}

/** Identifies the executable. A new hard link to it changes its ctime, so only its mtime counts. */
function programOf({ binary }: RunFacts): string {
  const { size, mtime } = fileAt(binary) ?? {};
  return `${idOf(binary)}:${size}:${mtime?.getTime()}`;
}

/** Whether git finds a repository, above the working directory or by `GIT_DIR`. */
function isInRepository({ env, cwd }: RunOrder): boolean {
  return gitRoot(cwd) !== undefined || env["GIT_DIR"] !== undefined;
}

/** All files and folders that may have instructions. */
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
 * The states of files, of files in folders, and of files that instructions mention with `@`. If there are too many,
 * only the first ones.
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
    const info = fileAt(path);
    states.set(path, [path, info?.ino, info?.size, info?.mtime?.getTime(), info?.ctime?.getTime()]);
    if (info?.isDirectory) {
      queue.push(...namesIn(path).slice(0, MAX_FILES).map((name) => `${path}/${name}`));
    } else if (info?.isFile && path.endsWith(".md")) queue.push(...mentionedIn(path, { home }));
  }
  return [...states.values()];
}

/** The files that instructions mention with `@`. */
function mentionedIn(path: string, { home }: { readonly home: string }): readonly string[] {
  const text = tryReadText(path, MAX_BYTES) ?? "";
  return [...text.matchAll(/(?<=^|\s)@([^\s@]+)/gu)].slice(0, MAX_FILES)
    .map(([, named = ""]) => absolutePath(named.replace(/^~(?=\/)/u, home), parentOf(path)));
}
