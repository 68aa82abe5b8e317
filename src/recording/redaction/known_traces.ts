/** What is known of the machine on which a recording was made, and of its user. */
export interface KnownTraces {
  /** Absolute paths of project folders. */
  readonly projects: readonly string[];
  /** Absolute paths of home folders. */
  readonly homes: readonly string[];
  /** User names, as in the path of a home folder. */
  readonly users: readonly string[];
  /** Host names. */
  readonly hosts: readonly string[];
  /** Names of people, and any other texts to remove. */
  readonly words: readonly string[];
}

/**
 * Returns all paths of projects, the neutral one included. A project in a home folder has a second path that begins
 * with `~`.
 */
export function projectPaths({ projects, homes }: KnownTraces): readonly string[] {
  return [...projects, NEUTRAL_TRACES.project].flatMap((path) => {
    const home = homes.find((home) => path.startsWith(`${home}/`)) ??
      /^\/(?:root|(?:home|Users)\/[^/]+)(?=\/)/u.exec(path)?.[0];
    return home === undefined ? [path] : [path, `~${path.slice(home.length)}`];
  });
}

/** The neutral values that stand for a real home folder, project and user. */
export const NEUTRAL_TRACES = {
  home: "/home/user",
  project: "/home/user/project",
  user: "user",
} as const;

/**
 * Returns what is known of the machine on which this program runs, and of its user.
 *
 * @param options.cwd the working directory, if it is known
 */
export function ownTraces(
  { env, cwd }: { readonly env: Readonly<Record<string, string>>; readonly cwd?: string },
): Partial<KnownTraces> {
  const given = (...names: readonly string[]) =>
    names.flatMap((name) => env[name] === undefined || env[name] === "" ? [] : [env[name]]);
  return {
    projects: cwd === undefined ? [] : [cwd],
    homes: given("HOME"),
    users: given("USER", "LOGNAME"),
    hosts: [...given("HOSTNAME"), ...ownHost()],
  };
}

function ownHost(): readonly string[] {
  try {
    return [Deno.hostname()];
  } catch {
    return [];
  }
}

/** Collects what a recording says of its machine and user. */
export interface TraceCollector {
  /** Searches a text. */
  readonly text: (text: string) => void;
  /** Searches a JSON value: its texts, and folders in fields such as `cwd`. */
  readonly value: (value: unknown) => void;
  /** Returns what was learned so far. */
  readonly known: () => KnownTraces;
}

/** Words that identify nobody as a user or host name, or that occur in any text. */
const COMMON_WORDS = new Set(
  ("user users root admin administrator runner node ubuntu debian fedora centos vscode codespace " +
    "codespaces app home test tester guest nobody deno claude docker vagrant ec2-user circleci " +
    "jenkins gitlab git name username you your me dev developer build builder ci shared public " +
    "localhost host linux local myuser someone project work system assistant tool type text " +
    // Names that are also ordinary words. Replacing them would change texts of Claude Code that programs recognise.
    "will mark max bill grant rob pat art may june april august rose hope faith joy grace drew chase " +
    "chip cliff dean don duke earl frank gene guy jack jay josh lance miles nick norm peg ray rich " +
    "rusty sandy skip stew sue van ward wade page chance case cash clay dale dawn fern gale glen heath " +
    "iris ivy jade jean kit lane lily mason parker penny piper reed robin rocky ruby sage sky summer " +
    "taylor tanner trip tucker violet wren son king prince young long short small brown green black " +
    "white gray stone wood hill field lake north south east west desktop laptop server client " +
    "machine computer box mac macbook pc print code node1 main master worker default new old all " +
    "any one two none this that with from data file files home office lab cloud web api proxy " +
    "gateway router mail backup storage media cache demo prod production staging")
    .split(" "),
);
/** A shorter name could be an ordinary word. */
const SHORTEST_NAME = 3;
/** A recording of one machine has fewer names of a kind. */
const MAX_NAMES = 500;

const HOME = /\/(?:home|Users)\/([\p{L}\p{N}][\p{L}\p{N}._-]{0,63})/gu;
const WORKING_DIRECTORY = /working directory[^/\n]{0,12}(\/[^\s"'`<>]+)/giu;
const GIT_USER = /(?<=Git user: )[^\n"\\<]{2,80}/gu;
/** A shell prompt, such as `user@host:`. */
const LOGIN = /(?<![\w.+-])([\w.-]{3,32})@([A-Za-z][\w-]{2,62})(?=[:\s~\])]|$)/gu;

/** Fields that name a project folder. */
const PROJECT_FIELDS = new Set(["cwd", "originalCwd", "project_dir", "projectDir", "project"]);
const HOME_FIELDS = new Set(["home", "HOME"]);

/**
 * Creates a collector.
 *
 * @param start what is known before, such as the traces of this machine
 */
export function collectTraces(start: Partial<KnownTraces> = {}): TraceCollector {
  const projects = new Set<string>();
  const homes = new Set<string>();
  const users = new Set<string>();
  const hosts = new Set<string>();
  const words = new Set(start.words ?? []);
  const logins = new Map<string, Set<string>>();
  const add = (set: Set<string>, name: string) => {
    if (set.size < MAX_NAMES) set.add(name);
  };
  const addUser = (name: string) => {
    const plain = name.replace(/[._-]+$/u, "");
    if (isIdentifying(plain)) add(users, plain);
  };
  const addFolder = (set: Set<string>, path: string) => {
    const plain = path.replace(/[/.,;:)]+$/u, "");
    // The root and relative paths identify nobody.
    if (/^\/[^/\s]/u.test(plain) && !plain.includes("\n") && plain.length < 1000) add(set, plain);
  };
  const text = (given: string) => {
    if (given.includes("/home/") || given.includes("/Users/")) {
      for (const [, name = ""] of given.matchAll(HOME)) addUser(name);
    }
    if (/working directory/iu.test(given)) {
      for (const [, path = ""] of given.matchAll(WORKING_DIRECTORY)) addFolder(projects, path);
    }
    if (given.includes("Git user: ")) {
      for (const [name] of given.matchAll(GIT_USER)) {
        if (isIdentifying(name.trim())) add(words, name.trim());
      }
    }
    if (!given.includes("@")) return;
    for (const [, user = "", host = ""] of given.matchAll(LOGIN)) {
      if (logins.size < MAX_NAMES) logins.set(user, (logins.get(user) ?? new Set()).add(host));
    }
  };
  for (const path of start.projects ?? []) addFolder(projects, path);
  for (const path of start.homes ?? []) addFolder(homes, path);
  for (const path of [...projects, ...homes]) text(path);
  for (const name of start.users ?? []) addUser(name);
  for (const name of start.hosts ?? []) if (isIdentifying(name)) add(hosts, name);
  const value = (given: unknown) => {
    const left: (readonly [name: string, value: unknown])[] = [["", given]];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [name, held] = next;
      if (typeof held === "string") {
        if (PROJECT_FIELDS.has(name)) addFolder(projects, held);
        if (HOME_FIELDS.has(name)) addFolder(homes, held);
        text(held);
      } else if (Array.isArray(held)) {
        for (const item of held) left.push(["", item]);
      } else if (typeof held === "object" && held !== null) {
        for (const [key, item] of Object.entries(held)) {
          text(key);
          left.push([key, item]);
        }
      }
    }
  };
  return {
    text,
    value,
    known: () => {
      for (const user of users) {
        for (const host of logins.get(user) ?? []) if (isIdentifying(host)) add(hosts, host);
      }
      return {
        // Everything in a home folder would count as the project's own.
        projects: [...projects].filter((path) => !homes.has(path) && !isHome(path)),
        homes: [...homes],
        users: [...users],
        hosts: [...hosts],
        words: [...words].filter((word) => word.trim() !== ""),
      };
    },
  };
}

function isIdentifying(name: string): boolean {
  return name.length >= SHORTEST_NAME && !COMMON_WORDS.has(name.toLowerCase()) &&
    /\p{L}/u.test(name) && !/^x+$/iu.test(name) && name !== NEUTRAL_TRACES.user;
}

function isHome(path: string): boolean {
  return /^\/(?:root|(?:home|Users)\/[^/]+)$/u.test(path);
}
