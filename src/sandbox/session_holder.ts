import { absoluteDir } from "./absolute_dir.ts";
import { judgeOwner, type Owner, readOwner } from "./owner.ts";
import { holdsFiles, parsePrivateFolderName, whyForeign } from "./private_folder.ts";

/** A private folder that has a session whose transcript is not at home yet. */
export interface SessionHolder {
  readonly path: string;
  /** The process whose run goes on in it; absent when the run is over and its transcript could not be brought home. */
  readonly pid?: number;
}

/** Whose session is looked for, and where. */
export interface SessionHolderOptions {
  /** The user's config dir that the session belongs to. */
  readonly configDir: string;
  /** The run that looks for it: what lies beside its folder counts, and began before it. */
  readonly before: Owner;
}

/**
 * Finds the run that has a session, or had it and could not bring it home.
 *
 * Two runs that begin with one session at the same moment may both find nobody, as two `claude -p` do; their
 * transcripts come home into one file then.
 */
export function findSessionHolder(
  id: string,
  { configDir, before }: SessionHolderOptions,
): SessionHolder | undefined {
  const tmp = before.path.slice(0, before.path.lastIndexOf("/"));
  const home = absoluteDir(configDir);
  for (const name of namesIn(tmp)) {
    const path = `${tmp}/${name}`;
    if (parsePrivateFolderName(name) === undefined || !isOurs(path)) continue;
    const owner = readOwner(path);
    if (typeof owner !== "object" || owner.session === undefined) continue;
    if (owner.session.id !== id || owner.session.configDir !== home) continue;
    if (!isBefore(owner, before)) continue;
    const state = judgeOwner(owner);
    if (state === "live") return { path, pid: owner.pid };
    if (state === "dead" && holdsFiles(`${path}/config/projects`)) return { path };
  }
  return undefined;
}

/** Whether a run began before another one, in an order that is the same for both. */
function isBefore(owner: Owner, other: Owner): boolean {
  const [one = 0, two = 0] = [owner.session?.since, other.session?.since];
  return one < two || (one === two && owner.path < other.path);
}

/** What is to be done about a session that another run has. */
export function adviceOn({ path, pid }: SessionHolder): string {
  return pid === undefined
    ? `Its transcript is still in ${path}: bring it home with claude-print sweep`
    : `Wait for the run that has it, process ${pid}`;
}

function isOurs(path: string): boolean {
  try {
    return whyForeign(path) === undefined;
  } catch {
    // It has been removed since.
    return false;
  }
}

function namesIn(dir: string): readonly string[] {
  try {
    return [...Deno.readDirSync(dir)].map(({ name }) => name);
  } catch {
    return [];
  }
}
