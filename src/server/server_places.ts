import type { Environment } from "../sandbox/environment.ts";
import { absoluteDir } from "../sandbox/paths.ts";
import { fileAt } from "../../ffi/files/at_path.ts";
import { foldersOfRuns } from "../sandbox/places/folder_of_runs.ts";
import { places } from "../sandbox/places/places.ts";

/** The name of the server's folder among those of runs: none of a run is called so. */
const IN_RUNS = "serve";

/** Where a user's server is found. */
export interface ServerPlaces {
  /** The folder of all others, which is private. */
  readonly folder: string;
  /** The folder of the user's runs, where that folder is in it. */
  readonly runs?: string;
  /** The socket on which runs are handed over. */
  readonly runSocket: string;
  /** The socket on which HTTP is spoken. */
  readonly httpSocket: string;
  /** What whoever comes by TCP has to know. */
  readonly token: string;
  /** Locked as long as a server lives. */
  readonly lock: string;
}

/**
 * Where the server of this user is, whether or not there is one: in the user's runtime directory (XDG Base Directory
 * Specification), or else in the folder of the user's runs in `TMPDIR`. Nothing is made, and who may enter is not looked
 * at: see `holdServerFolder` and `whyForeign`.
 *
 * @throws {CliError} when TMPDIR is not UTF-8
 */
export function serverPlaces(env: Environment): ServerPlaces {
  const runtimeDir = env["XDG_RUNTIME_DIR"] ?? "";
  if (isOwn(runtimeDir)) return placesIn(`${absoluteDir(runtimeDir)}/claude-print`);
  const all = foldersOfRuns(places(env)[0]);
  // A server stays where it is when the usual name is free again.
  const runs = all.find((each) => fileAt(`${each}/${IN_RUNS}`) !== undefined) ?? all[0];
  return { ...placesIn(`${runs}/${IN_RUNS}`), runs };
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

/** Whether a folder is this user's, so that nobody else can put another one in the place of what is in it. */
function isOwn(path: string): boolean {
  if (!path.startsWith("/")) return false;
  try {
    const { isDirectory, uid, mode } = Deno.statSync(path);
    return isDirectory && uid === Deno.uid() && ((mode ?? 0) & 0o022) === 0;
  } catch {
    return false;
  }
}

/** What decides where a server is. */
const VARIABLES = ["XDG_RUNTIME_DIR", "TMPDIR"];

/** Where this user's server is, if it seems to be there: a socket is, which may be a dead one's. */
export function serverNearby(): ServerPlaces | undefined {
  try {
    const named = VARIABLES.map((name) => [name, Deno.env.get(name)] as const);
    const env = Object.fromEntries(named.filter((each): each is [string, string] => !!each[1]));
    const places = serverPlaces(env);
    return Deno.lstatSync(places.runSocket).isSocket ? places : undefined;
  } catch {
    // Whatever is wrong with TMPDIR is told by a run that needs it.
    return undefined;
  }
}
