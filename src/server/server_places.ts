import type { Environment } from "../sandbox/environment.ts";
import { absoluteDir } from "../paths.ts";
import { fileAt } from "../../ffi/files/at_path.ts";
import { foldersOfRuns, listPlaces } from "../sandbox/folder/run_places.ts";

/** The name of the server's folder in the folder of runs. No run has this name. */
const FOLDER_NAME = "serve";

/** Paths of a user's server. */
export interface ServerPlaces {
  /** The private folder of all other paths. */
  readonly folder: string;
  /** The folder of the user's runs, if `folder` is in it. */
  readonly runs?: string;
  /** The socket on which runs are delegated. */
  readonly runSocket: string;
  /** The socket for HTTP. */
  readonly httpSocket: string;
  /** The file with the token that clients on TCP need. */
  readonly token: string;
  /** Locked while a server runs. */
  readonly lock: string;
}

/**
 * The paths of this user's server, even if it does not run: in the user's runtime directory (XDG Base Directory
 * Specification), or else in the folder of the user's runs in `TMPDIR`. Creates nothing, and does not check whether the
 * folder can be trusted: see `claimServerFolder` and `whyForeign`.
 *
 * @throws {CliError} when TMPDIR is not UTF-8
 */
export function serverPlaces(env: Environment): ServerPlaces {
  const runtimeDir = env["XDG_RUNTIME_DIR"] ?? "";
  if (isPrivateFolder(runtimeDir)) return placesIn(`${absoluteDir(runtimeDir)}/claude-print`);
  const all = foldersOfRuns(listPlaces(env)[0]);
  // A server may run in another folder than the first one, whose name is free again by now.
  const runs = all.find((each) => fileAt(`${each}/${FOLDER_NAME}`) !== undefined) ?? all[0];
  return { ...placesIn(`${runs}/${FOLDER_NAME}`), runs };
}

function placesIn(folder: string): ServerPlaces {
  return {
    folder,
    runSocket: `${folder}/run.sock`,
    httpSocket: `${folder}/http.sock`,
    token: `${folder}/token`,
    lock: `${folder}/lock`,
  };
}

/** Whether a folder is this user's and no other user can write to it. */
function isPrivateFolder(path: string): boolean {
  if (!path.startsWith("/")) return false;
  try {
    const { isDirectory, uid, mode } = Deno.statSync(path);
    return isDirectory && uid === Deno.uid() && ((mode ?? 0) & 0o022) === 0;
  } catch {
    return false;
  }
}

/** The variables on which the server's place depends. */
const VARIABLES = ["XDG_RUNTIME_DIR", "TMPDIR"];

/** The paths of this user's server if its socket exists, which a killed server may have left. */
export function findServer(): ServerPlaces | undefined {
  try {
    const named = VARIABLES.map((name) => [name, Deno.env.get(name)] as const);
    const env = Object.fromEntries(named.filter((each): each is [string, string] => !!each[1]));
    const places = serverPlaces(env);
    return Deno.lstatSync(places.runSocket).isSocket ? places : undefined;
  } catch {
    // A run that needs TMPDIR reports the problem.
    return undefined;
  }
}
