import { CliError } from "../../cli_error.ts";
import { folderParts } from "./folder_parts.ts";
import { judgeOwner, type Owner } from "./owner.ts";
import { holdsFiles } from "./private_folder.ts";
import { ownedFoldersIn } from "./run_owners.ts";
import { absoluteDir } from "../paths.ts";

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
  /** The run that looks for it: only who began before it counts. */
  readonly before: Owner;
  /** The places where runs may have their private folders. */
  readonly places: readonly string[];
}

/**
 * Finds the run that has a session, or had it and could not bring it home.
 *
 * Two runs that begin with one session at the same moment may both find nobody, as two `claude -p` do; their
 * transcripts come home into one file then.
 */
export function findSessionHolder(
  id: string,
  { configDir, before, places }: SessionHolderOptions,
): SessionHolder | undefined {
  const home = absoluteDir(configDir);
  for (const { path, owner } of ownedFoldersIn(places)) {
    if (owner.session === undefined) continue;
    if (owner.session.id !== id || owner.session.configDir !== home) continue;
    if (!isBefore(owner, before)) continue;
    const state = judgeOwner(owner);
    if (state === "live") return { path, pid: owner.pid };
    if (state === "dead" && holdsFiles(`${folderParts(path).configDir}/projects`)) return { path };
  }
  return undefined;
}

/** Whether a run began before another one, in an order that is the same for both. */
function isBefore(owner: Owner, other: Owner): boolean {
  const [one = 0, two = 0] = [owner.session?.since, other.session?.since];
  return one < two || (one === two && owner.path < other.path);
}

/**
 * Refuses a session that another run has: a sandbox knows no other sessions, so Claude Code itself would not notice that
 * the id is taken.
 *
 * @param owner whose session it is to be; without one there is nothing to refuse
 * @throws {CliError} when another run has it, or had it and could not bring it home
 */
export function refuseHeldSession(owner: Owner, places: readonly string[]): void {
  if (owner.session === undefined) return;
  const { id, configDir } = owner.session;
  const holder = findSessionHolder(id, { configDir, before: owner, places });
  if (holder === undefined) return;
  throw new CliError(`Error: Session ID ${id} is already in use.`, {
    suggestion: `${adviceOn(holder)}, or give another --session-id`,
    failedBeforeStart: true,
  });
}

/** What is to be done about a session that another run has. */
export function adviceOn({ path, pid }: SessionHolder): string {
  return pid === undefined
    ? `Its transcript is still in ${path}: bring it home with claude-print sweep`
    : `Wait for the run that has it, process ${pid}`;
}
