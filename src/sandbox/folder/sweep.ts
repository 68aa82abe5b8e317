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

/** Where to look, and what may be done. */
export interface SweepOptions {
  /** The places where runs may have their private folders. */
  readonly places: readonly string[];
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
 * - `abandoned`: its run was killed, or could not bring its transcript home; only a dry run leaves it at that
 * - `removed`: so it was, and the folder is gone
 * - `kept`: so it was, but something in it could not be rescued, or it could not be removed
 */
export type SweepVerdict = "live" | "foreign" | "abandoned" | "removed" | "kept";

/** A folder that was found, and why it was treated as it was. */
export interface SweptFolder {
  /** Where it was found; of one that was kept, where it is. */
  readonly path: string;
  readonly verdict: SweepVerdict;
  /** One clause, such as "its run was killed". */
  readonly reason: string;
  /** How many transcripts were brought home. */
  readonly rescued: number;
}

/**
 * Removes the private folders of runs that were killed, by SIGKILL or with the whole machine, and what is left of those
 * that could not bring their transcripts home, and rescues the transcripts. Nobody's age says anything: only pid, start
 * time and boot do.
 *
 * @throws nothing: what goes wrong is in the verdict, and a folder that cannot be listed has nothing to sweep
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
    // Nobody has a run there.
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

function sweepFolder(
  path: string,
  options: RunsOptions & { readonly named: PrivateFolderName },
): Verdict {
  const { runs, named, dryRun = false } = options;
  const { ino } = Deno.lstatSync(path);
  const foreign = whyForeign(path);
  if (foreign !== undefined) return { verdict: "foreign", reason: foreign };
  if (isLiving(named)) return { verdict: "live", reason: `process ${named.pid} uses it` };
  const owner = readTrustedOwner(path, named.random);
  // Without an owner's file there was no child yet, so nothing is lost with the folder.
  if (owner === "broken" && containsFiles(`${folderParts(path).configDir}/projects`)) {
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
  const isOver = typeof owner === "object" && owner.pid === NO_PROCESS.pid;
  const reason = isOver ? "its run could not bring its transcript home" : "its run was killed";
  if (dryRun) return { verdict: "abandoned", reason };
  // What a run that ended by itself left running is not to be ended, and of another boot no process is left, whatever
  // the owner's file says.
  if (typeof owner === "object" && !isOver && owner.bootId === thisOwner().bootId) {
    const { configDir, helperDir } = folderParts(owner.path);
    const [survivor] = endRunProcesses({ configDir, helperDir });
    if (survivor !== undefined) {
      return { verdict: "kept", reason: `process ${survivor.pid} of its run cannot be killed` };
    }
  }
  // Renaming it claims it: other sweeps do not find it any more.
  const claimed = `${runs}/${privateFolderName({ ...thisOwner(), random: named.random })}`;
  Deno.renameSync(path, claimed);
  const kept = (reason: string): Verdict => {
    Deno.renameSync(claimed, path);
    return { verdict: "kept", reason };
  };
  // What was judged may have been replaced since, or been in the hands of another sweep that put it back.
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
    if (to !== absoluteDir(options.userConfigDir) && containsFiles(`${configDir}/projects`)) {
      return kept(`its transcript belongs to the config dir ${to}`);
    }
    const { files, left, failures: [failure] } = forwardTranscripts({
      from: configDir,
      known: folderParts(owner.path).configDir,
      given: givenIdsOf(claimed),
      ...transcripts,
    });
    rescued = files;
    // What is no file cannot be brought home by anybody.
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

/** Whether a config dir is that of a home which a command had lent its runs, and the command was killed as well. */
function isFolderOfDeadCommand(configDir: string, runs: string): boolean {
  if (!configDir.startsWith(`${runs}/`)) return false;
  const [name = ""] = configDir.slice(runs.length + 1).split("/");
  const lender = parsePrivateFolderName(name);
  return lender !== undefined && !isLiving(lender);
}

/**
 * A tool that may write to the temp folder and no further must not name a folder whose processes are then ended, such as
 * that of a run that goes on: a folder's first name has its owner in it, by which the owner is judged.
 */
function readTrustedOwner(path: string, random: string): ReturnType<typeof readOwner> {
  const owner = readOwner(path);
  if (typeof owner === "string") return owner;
  return owner.path.endsWith(`/${privateFolderName({ ...owner, random })}`) ? owner : "broken";
}

/**
 * A folder for what a command needs while it works, which is gone with it: where the command is killed, it is swept as a
 * run's folder is. What others have left that were killed goes first.
 *
 * @param options.place the folder in which it is made; `TMPDIR` by default
 * @throws {CliError} when it cannot be made
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
