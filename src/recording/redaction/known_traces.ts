/** The known facts about the machine on which a recording was made, and about its user. */
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
 * Returns all paths of projects, including the neutral one. A project in a home folder has a second path that begins
 * with `~`.
 */
export function projectPaths({ projects, homes }: KnownTraces): readonly string[] {
  return [...projects, NEUTRAL_TRACES.project].flatMap((path) => {
    const home = homes.find((home) => path.startsWith(`${home}/`)) ??
      /^\/(?:root|(?:home|Users)\/[^/]+)(?=\/)/u.exec(path)?.[0];
    return home === undefined ? [path] : [path, `~${path.slice(home.length)}`];
  });
}

/** The neutral values that replace a real home folder, project and user. */
export const NEUTRAL_TRACES = {
  home: "/home/user",
  project: "/home/user/project",
  user: "user",
} as const;

/**
 * Returns the known facts about the machine on which this program runs, and about its user.
 *
 * @param options.cwd the working directory, if known
 */
export function ownTraces(
  { env, cwd }: { readonly env: Readonly<Record<string, string>>; readonly cwd?: string },
): Partial<KnownTraces> {
  const variables = (...names: readonly string[]) =>
    names.flatMap((name) => env[name] === undefined || env[name] === "" ? [] : [env[name]]);
  return {
    projects: cwd === undefined ? [] : [cwd],
    homes: variables("HOME"),
    users: variables("USER", "LOGNAME"),
    hosts: [...variables("HOSTNAME"), ...ownHost()],
  };
}

function ownHost(): readonly string[] {
  try {
    return [Deno.hostname()];
  } catch {
    return [];
  }
}

/** Collects the facts about machine and user in a recording. */
export interface TraceCollector {
  /** Searches a text. */
  readonly text: (text: string) => void;
  /** Searches a JSON value: its texts, and folders in fields such as `cwd`. */
  readonly value: (value: unknown) => void;
  /** Returns the facts learned so far. */
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
/** The minimum length of a name. A shorter name could be an ordinary word. */
const SHORTEST_NAME = 3;
/** The maximum number of names of a kind. A recording of one machine has fewer. */
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
 * @param start facts that are already known, such as the traces of this machine
 */
export function collectTraces(start: Partial<KnownTraces> = {}): TraceCollector {
  const names = new CollectedNames(start);
  const value = (root: unknown) => {
    const left: (readonly [name: string, value: unknown])[] = [["", root]];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [name, item] = next;
      if (typeof item === "string") {
        if (PROJECT_FIELDS.has(name)) names.addFolder("projects", item);
        if (HOME_FIELDS.has(name)) names.addFolder("homes", item);
        names.search(item);
      } else if (Array.isArray(item)) {
        for (const element of item) left.push(["", element]);
      } else if (typeof item === "object" && item !== null) {
        for (const [key, field] of Object.entries(item)) {
          names.search(key);
          left.push([key, field]);
        }
      }
    }
  };
  return { text: (text) => names.search(text), value, known: () => names.known() };
}

/** The names and folders that a collector has found. */
class CollectedNames {
  readonly #projects = new Set<string>();
  readonly #homes = new Set<string>();
  readonly #users = new Set<string>();
  readonly #hosts = new Set<string>();
  readonly #words: Set<string>;
  /** The hosts of each user in shell prompts. A host only counts if its user is known. */
  readonly #logins = new Map<string, Set<string>>();

  constructor(
    { projects = [], homes = [], users = [], hosts = [], words = [] }: Partial<KnownTraces>,
  ) {
    this.#words = new Set(words);
    for (const path of projects) this.addFolder("projects", path);
    for (const path of homes) this.addFolder("homes", path);
    for (const path of [...this.#projects, ...this.#homes]) this.search(path);
    for (const name of users) this.#addUser(name);
    for (const name of hosts) if (isIdentifying(name)) addName(this.#hosts, name);
  }

  addFolder(kind: "projects" | "homes", path: string): void {
    const plain = path.replace(/[/.,;:)]+$/u, "");
    // The root and relative paths identify nobody.
    if (!/^\/[^/\s]/u.test(plain) || plain.includes("\n") || plain.length >= 1000) return;
    addName(kind === "projects" ? this.#projects : this.#homes, plain);
  }

  #addUser(name: string): void {
    const plain = name.replace(/[._-]+$/u, "");
    if (isIdentifying(plain)) addName(this.#users, plain);
  }

  /** Searches a text for home folders, working directories, users of git and shell prompts. */
  search(text: string): void {
    if (text.includes("/home/") || text.includes("/Users/")) {
      for (const [, name = ""] of text.matchAll(HOME)) this.#addUser(name);
    }
    if (/working directory/iu.test(text)) {
      for (const [, path = ""] of text.matchAll(WORKING_DIRECTORY)) {
        this.addFolder("projects", path);
      }
    }
    if (text.includes("Git user: ")) {
      for (const [name] of text.matchAll(GIT_USER)) {
        if (isIdentifying(name.trim())) addName(this.#words, name.trim());
      }
    }
    if (!text.includes("@")) return;
    for (const [, user = "", host = ""] of text.matchAll(LOGIN)) {
      if (this.#logins.size >= MAX_NAMES) return;
      this.#logins.set(user, (this.#logins.get(user) ?? new Set()).add(host));
    }
  }

  known(): KnownTraces {
    for (const user of this.#users) {
      for (const host of this.#logins.get(user) ?? []) {
        if (isIdentifying(host)) addName(this.#hosts, host);
      }
    }
    return {
      // With a home folder as project, every path in it would count as the project's own.
      projects: [...this.#projects].filter((path) => !this.#homes.has(path) && !isHome(path)),
      homes: [...this.#homes],
      users: [...this.#users],
      hosts: [...this.#hosts],
      words: [...this.#words].filter((word) => word.trim() !== ""),
    };
  }
}

function addName(names: Set<string>, name: string): void {
  if (names.size < MAX_NAMES) names.add(name);
}

function isIdentifying(name: string): boolean {
  return name.length >= SHORTEST_NAME && !COMMON_WORDS.has(name.toLowerCase()) &&
    /\p{L}/u.test(name) && !/^x+$/iu.test(name) && name !== NEUTRAL_TRACES.user;
}

function isHome(path: string): boolean {
  return /^\/(?:root|(?:home|Users)\/[^/]+)$/u.test(path);
}
