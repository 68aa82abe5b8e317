/** What is known of the machine that a recording was made on, and of who sat at it. */
export interface KnownTraces {
  /** Folders of projects, absolute. */
  readonly projects: readonly string[];
  /** Home folders, absolute. */
  readonly homes: readonly string[];
  /** Names of users, as in the path of a home folder. */
  readonly users: readonly string[];
  /** Names of machines. */
  readonly hosts: readonly string[];
  /** Names of people, and whatever else is to be found as it stands. */
  readonly words: readonly string[];
}

/** Projects by all the paths by which they are named: that of nobody is among them, and those in a home folder begin with `~` too. */
export function projectPaths({ projects, homes }: KnownTraces): readonly string[] {
  return [...projects, NEUTRAL_TRACES.project].flatMap((path) => {
    const home = homes.find((home) => path.startsWith(`${home}/`)) ??
      /^\/(?:root|(?:home|Users)\/[^/]+)(?=\/)/u.exec(path)?.[0];
    return home === undefined ? [path] : [path, `~${path.slice(home.length)}`];
  });
}

/** The home folder and the project of nobody, which stand for those of somebody. */
export const NEUTRAL_TRACES = {
  home: "/home/user",
  project: "/home/user/project",
  user: "user",
} as const;
