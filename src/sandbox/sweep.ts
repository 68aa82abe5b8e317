import { absoluteDir } from "./absolute_dir.ts";
import { forwardTranscripts } from "./forward_transcripts.ts";
import { isLiving, judgeOwner, litterIn, type Owner, readOwner, thisOwner } from "./owner.ts";
import { removeFolder } from "./remove_folder.ts";
import { endRunProcesses } from "./run_processes.ts";

/** Where to look, and what may be done. */
export interface SweepOptions {
  /** The folder in which runs have their private folders. */
  readonly tmp: string;
  /** The user's config dir: transcripts are rescued into no other. */
  readonly userConfigDir: string;
  /** Whether to say what would be done instead of doing it. */
  readonly dryRun?: boolean;
}

/**
 * What became of a private folder.
 *
 * - `live`: its run goes on, or another sweep is at it
 * - `foreign`: it is another user's, another machine's or another container's
 * - `abandoned`: its run was killed; only a dry run leaves it at that
 * - `removed`: so it was, and the folder is gone
 * - `kept`: so it was, but something in it could not be rescued, or it could not be removed
 */
export type Verdict = "live" | "foreign" | "abandoned" | "removed" | "kept";

/** A folder that was found, and why it was treated as it was. */
export interface SweptFolder {
  readonly path: string;
  readonly verdict: Verdict;
  /** One clause, such as "its run was killed". */
  readonly reason: string;
  /** How many transcripts were brought home. */
  readonly rescued: number;
}

/** Pid and start time of the owner, and what is kept of the name when another process takes the folder over. */
const NAME = /^claude-print-(\d+)-(\d+)-([0-9a-f]{8})$/u;

/**
 * Removes the private folders of runs that were killed, by SIGKILL or with the whole machine, and rescues the
 * transcripts that such a run could not bring home. Nobody's age says anything: only pid, start time and boot do.
 *
 * @throws nothing: what goes wrong is in the verdict, and a folder that cannot be listed has nothing to sweep
 */
export function sweep(options: SweepOptions): readonly SweptFolder[] {
  const swept: SweptFolder[] = [];
  let names: readonly string[] = [];
  try {
    names = [...Deno.readDirSync(options.tmp)].map(({ name }) => name);
  } catch {
    // Nobody has a run there.
  }
  for (const name of names) {
    const [, pid, startTime = "", random = ""] = NAME.exec(name) ?? [];
    if (pid === undefined) continue;
    const path = `${options.tmp}/${name}`;
    try {
      const named = { pid: Number(pid), startTime, random };
      swept.push({ path, rescued: 0, ...sweepFolder(path, { ...options, named }) });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound && !isThere(path)) {
        swept.push({ path, verdict: "live", reason: "another sweep has it", rescued: 0 });
      } else {
        const why = error instanceof Error ? error.message : String(error);
        swept.push({ path, verdict: "kept", reason: why, rescued: 0 });
      }
    }
  }
  return swept;
}

type Finding = Pick<SweptFolder, "verdict" | "reason"> & Partial<Pick<SweptFolder, "rescued">>;

function sweepFolder(
  path: string,
  options: SweepOptions & {
    readonly named: Pick<Owner, "pid" | "startTime"> & { readonly random: string };
  },
): Finding {
  const { tmp, named, dryRun = false } = options;
  // Not followed if it is a link: what others may have put there is theirs.
  const found = Deno.lstatSync(path);
  if (!found.isDirectory) return { verdict: "foreign", reason: "it is no folder" };
  if (found.uid !== Deno.uid()) return { verdict: "foreign", reason: "it is another user's" };
  if (((found.mode ?? 0) & 0o777) !== 0o700) {
    return { verdict: "foreign", reason: "others may enter it" };
  }
  if (isLiving(named)) return { verdict: "live", reason: `process ${named.pid} uses it` };
  const owner = ownerOf(path, named.random);
  // Without an owner's file there was no child yet, so nothing is lost with the folder.
  if (owner === "broken" && holdsFiles(`${path}/config/projects`)) {
    return { verdict: "kept", reason: "nothing tells whose transcript it holds" };
  }
  if (typeof owner === "object") {
    switch (judgeOwner(owner)) {
      case "live":
        return { verdict: "live", reason: `process ${owner.pid} uses it` };
      case "unknown":
        return {
          verdict: "foreign",
          reason: "processes of its container or machine cannot be seen from here",
        };
      case "dead":
    }
  }
  const killed = "its run was killed";
  if (dryRun) return { verdict: "abandoned", reason: killed };
  if (typeof owner === "object") {
    const [survivor] = endRunProcesses({ configDir: `${owner.path}/config` });
    if (survivor !== undefined) {
      return { verdict: "kept", reason: `process ${survivor.pid} of its run cannot be killed` };
    }
  }
  // Whoever renames it has it; the others find it gone.
  const { pid, startTime } = thisOwner();
  const claimed = `${tmp}/claude-print-${pid}-${startTime}-${named.random}`;
  Deno.renameSync(path, claimed);
  const kept = (reason: string): Finding => {
    Deno.renameSync(claimed, path);
    return { verdict: "kept", reason };
  };
  // What was judged may have been replaced since, or been in the hands of another sweep that put it back.
  const isSame = Deno.lstatSync(claimed).ino === found.ino &&
    JSON.stringify(ownerOf(claimed, named.random)) === JSON.stringify(owner);
  if (!isSame) return kept("it changed while it was looked at");
  let rescued = 0;
  if (typeof owner === "object" && owner.transcripts !== undefined) {
    const { to } = owner.transcripts;
    if (to !== absoluteDir(options.userConfigDir) && holdsFiles(`${claimed}/config/projects`)) {
      return kept(`its transcript belongs to the config dir ${to}`);
    }
    const { files, failures: [failure] } = forwardTranscripts({
      from: `${claimed}/config`,
      ...owner.transcripts,
    });
    if (failure !== undefined) return kept(failure);
    rescued = files;
  }
  const problem = removeFolder(claimed);
  if (problem !== undefined) return { ...kept(problem.message), rescued };
  if (typeof owner === "object" && owner.litters) removeEmpty(litterIn(tmp));
  return { verdict: "removed", reason: killed, rescued };
}

/** A tool that may write to the temp folder and no further must not name a folder whose processes are then ended. */
function ownerOf(path: string, random: string): ReturnType<typeof readOwner> {
  const owner = readOwner(path);
  return typeof owner === "object" && !owner.path.endsWith(`-${random}`) ? "broken" : owner;
}

function holdsFiles(folder: string): boolean {
  try {
    return [...Deno.readDirSync(folder)].some(({ name, isFile, isDirectory }) =>
      isFile || (isDirectory && holdsFiles(`${folder}/${name}`))
    );
  } catch {
    return false;
  }
}

function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function removeEmpty(folder: string): void {
  try {
    Deno.removeSync(folder);
  } catch {
    // It was not made, or somebody has put something into it since.
  }
}
