import { entryAt } from "../../../ffi/files/at_path.ts";
import { folderParts } from "./folder_layout.ts";
import {
  containsFiles,
  givenIdsOf,
  keepTranscripts,
  makePrivateFolder,
  parsePrivateFolderName,
  privateFolderFailure,
  type PrivateFolderName,
  privateFolderName,
} from "./private_folder.ts";
import { isLiving, judgeOwner, NO_PROCESS, readOwner, thisOwner } from "./owner.ts";
import { removeEmpty, removeFolder } from "../remove_folder.ts";
import { absoluteDir, parentOf } from "../../paths.ts";
import { foldersOfRuns, listPlaces, whyForeign } from "./run_places.ts";
import { endRunProcesses } from "../run_processes.ts";
import { forwardTranscripts } from "../transcripts/forward_transcripts.ts";
import type { Environment } from "../environment.ts";
import { locateUserConfig } from "../user_config.ts";

/** Where to sweep, and what may be done. */
export interface SweepOptions {
  /** The places where runs may have their private folders. */
  readonly places: readonly string[];
  /** The user's config dir. Transcripts of runs with another one are kept. */
  readonly userConfigDir: string;
  /** Whether to report only what would be done. */
  readonly dryRun?: boolean;
}

/**
 * The verdict on a private folder.
 *
 * - `live`: its run is running, or another sweep has claimed it
 * - `foreign`: it is another user's, another machine's or another container's
 * - `abandoned`: its run was killed, or could not forward its transcript; only a dry run has this verdict
 * - `removed`: it was abandoned, and was removed
 * - `kept`: it was abandoned, but a transcript in it could not be forwarded, or it could not be removed
 */
export type SweepVerdict = "live" | "foreign" | "abandoned" | "removed" | "kept";

/** A folder that was found, and why it was treated as it was. */
export interface SweptFolder {
  /** Where it was found; if it was kept, where it is now. */
  readonly path: string;
  readonly verdict: SweepVerdict;
  /** One clause, such as "its run was killed". */
  readonly reason: string;
  /** The number of forwarded transcripts. */
  readonly rescued: number;
}

/**
 * Removes the private folders of runs that were killed, by SIGKILL or with the machine, and of runs that could not
 * forward their transcripts. First it forwards the transcripts. Pid, start time and boot tell whether a run was killed;
 * the age of a folder does not count.
 *
 * It throws nothing: failures are in the verdicts. A folder that cannot be listed is ignored.
 */
export function sweep({ places, ...options }: SweepOptions): readonly SweptFolder[] {
  return places.flatMap(foldersOfRuns).flatMap((runs) => {
    const swept = sweepRuns({ ...options, runs });
    if (options.dryRun !== true) removeEmpty(runs);
    return swept;
  });
}

type RunsOptions = Omit<SweepOptions, "places"> & { readonly runs: string };

function sweepRuns(options: RunsOptions): readonly SweptFolder[] {
  const swept: SweptFolder[] = [];
  let names: readonly string[] = [];
  try {
    if (whyForeign(options.runs) !== undefined) return [];
    names = [...Deno.readDirSync(options.runs)].map(({ name }) => name);
  } catch {
    // There is no folder of runs.
  }
  for (const name of names) {
    const named = parsePrivateFolderName(name);
    if (named === undefined) continue;
    const path = `${options.runs}/${name}`;
    try {
      swept.push({ path, rescued: 0, ...sweepFolder(path, { ...options, named }) });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound && entryAt(path) === undefined) {
        swept.push({ path, verdict: "live", reason: "another sweep has it", rescued: 0 });
      } else {
        const why = error instanceof Error ? error.message : String(error);
        swept.push({ path, verdict: "kept", reason: why, rescued: 0 });
      }
    }
  }
  return swept;
}

type Verdict = Pick<SweptFolder, "verdict" | "reason"> & Partial<SweptFolder>;

/** An abandoned folder, and its owner if the owner's file could be read. */
interface Abandoned {
  readonly path: string;
  readonly ino: number | null;
  readonly owner: ReturnType<typeof readOwner>;
  readonly reason: string;
}

type FolderOptions = RunsOptions & { readonly named: PrivateFolderName };

function sweepFolder(path: string, options: FolderOptions): Verdict {
  const found = judgeFolder(path, options);
  if ("verdict" in found) return found;
  const { owner, reason } = found;
  if (options.dryRun === true) return { verdict: "abandoned", reason };
  const survivor = endProcesses(owner);
  if (survivor !== undefined) {
    return { verdict: "kept", reason: `process ${survivor} of its run cannot be killed` };
  }
  return removeAbandoned(found, options);
}

/** Decides whether a folder is abandoned; otherwise returns the verdict. */
function judgeFolder(path: string, { named }: FolderOptions): Verdict | Abandoned {
  const { ino } = Deno.lstatSync(path);
  const foreign = whyForeign(path);
  if (foreign !== undefined) return { verdict: "foreign", reason: foreign };
  if (isLiving(named)) return { verdict: "live", reason: `process ${named.pid} uses it` };
  const owner = readTrustedOwner(path, named.random);
  // The owner's file is written before the child starts. Without one there is no transcript.
  if (owner === "broken" && containsFiles(`${folderParts(path).configDir}/projects`)) {
    return { verdict: "kept", reason: "the owner of its transcript is unknown" };
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
  const reason = isOver(owner) ? "its run could not move its transcript" : "its run was killed";
  return { path, ino, owner, reason };
}

/** Whether the run of a folder has ended by itself. */
function isOver(owner: Abandoned["owner"]): boolean {
  return typeof owner === "object" && owner.pid === NO_PROCESS.pid;
}

/**
 * Ends the processes of a run that was killed. Processes of a run that ended by itself are left alone, and processes of an
 * earlier boot cannot exist.
 *
 * @returns the pid of a process that cannot be killed
 */
function endProcesses(owner: Abandoned["owner"]): number | undefined {
  if (typeof owner !== "object" || isOver(owner)) return undefined;
  if (owner.bootId !== thisOwner().bootId) return undefined;
  const { configDir, helperDir } = folderParts(owner.path);
  const [survivor] = endRunProcesses({ configDir, helperDir });
  return survivor?.pid;
}

/** Forwards the transcripts of an abandoned folder, and removes the folder. */
function removeAbandoned(
  { path, ino, owner, reason }: Abandoned,
  { runs, named, userConfigDir }: FolderOptions,
): Verdict {
  // The new name claims the folder: other sweeps do not find it any more.
  const claimed = `${runs}/${privateFolderName({ ...thisOwner(), random: named.random })}`;
  Deno.renameSync(path, claimed);
  const kept = (reason: string): Verdict => {
    Deno.renameSync(claimed, path);
    return { verdict: "kept", reason };
  };
  // The folder may have been replaced since it was judged, or claimed and put back by another sweep.
  const isSame = Deno.lstatSync(claimed).ino === ino &&
    JSON.stringify(readTrustedOwner(claimed, named.random)) === JSON.stringify(owner);
  if (!isSame) return kept("it changed while it was looked at");
  let rescued = 0;
  const transcripts = typeof owner === "object" ? owner.transcripts : undefined;
  if (
    typeof owner === "object" && transcripts !== undefined &&
    !isFolderOfDeadCommand(transcripts.to, runs)
  ) {
    const { to } = transcripts;
    const { configDir } = folderParts(claimed);
    if (to !== absoluteDir(userConfigDir) && containsFiles(`${configDir}/projects`)) {
      return kept(`its transcript belongs to the config dir ${to}`);
    }
    const { files, left, failures: [failure] } = forwardTranscripts({
      from: configDir,
      known: folderParts(owner.path).configDir,
      given: givenIdsOf(claimed),
      ...transcripts,
    });
    rescued = files;
    // Files that are not regular do not count, because no sweep can forward them.
    if (left > 0 && failure !== undefined) {
      const place = keepTranscripts(claimed, owner);
      return { verdict: "kept", reason: failure, rescued, path: place };
    }
  }
  const problem = removeFolder(claimed);
  if (problem !== undefined) return { ...kept(problem.message), rescued };
  if (typeof owner === "object") { for (const each of owner.litter ?? []) removeEmpty(each); }
  return { verdict: "removed", reason, rescued };
}

/** Whether a config dir is in the folder of a command, such as `drift`, that made it for its runs and was killed too. */
function isFolderOfDeadCommand(configDir: string, runs: string): boolean {
  if (!configDir.startsWith(`${runs}/`)) return false;
  const [name = ""] = configDir.slice(runs.length + 1).split("/");
  const lender = parsePrivateFolderName(name);
  return lender !== undefined && !isLiving(lender);
}

/**
 * Reads the owner's file if it fits the folder's first name, which has the owner's pid and start time. A tool that can
 * write to a private folder could otherwise name another run as the owner, whose processes a sweep would end.
 */
function readTrustedOwner(path: string, random: string): ReturnType<typeof readOwner> {
  const owner = readOwner(path);
  if (typeof owner === "string") return owner;
  return owner.path.endsWith(`/${privateFolderName({ ...owner, random })}`) ? owner : "broken";
}

/**
 * Makes a private folder for a command. If the command is killed, a sweep removes it like the folder of a run. First it
 * sweeps what killed commands and runs have left.
 *
 * @param options.place the folder in which it is made; `TMPDIR` by default
 * @throws {CliError} if it cannot be made
 */
export function borrowFolder(
  env: Environment,
  options: { readonly place?: string } = {},
): Disposable & { readonly path: string } {
  const all = listPlaces(env);
  const { place = all[0] } = options;
  sweep({ places: [...new Set([place, ...all])], userConfigDir: locateUserConfig(env).dir });
  const path = makeIn(place);
  return {
    path,
    [Symbol.dispose]: () => {
      removeFolder(path);
      removeEmpty(parentOf(path));
    },
  };
}

function makeIn(tmp: string): string {
  try {
    return makePrivateFolder(tmp).path;
  } catch (cause) {
    throw privateFolderFailure(tmp, cause);
  }
}
