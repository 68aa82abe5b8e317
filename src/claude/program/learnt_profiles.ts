import { namesIn, tryRemove } from "../../../ffi/files/at_path.ts";
import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { CliError } from "../../cli_error.ts";
import type { Environment } from "../../sandbox/environment.ts";
import {
  cacheFolder,
  cacheFolderProblem,
  makeCacheFolder,
  ownershipProblem,
} from "./cache_folder.ts";
import type { VersionProfile } from "../versions/profile.ts";
import type { ProfileFacts } from "../versions/profile_index.ts";
import { isNewerThanProfiles, useLearntFacts } from "../versions/profiles.ts";

/** The name of the folder of learnt profiles, within this program's folder of the user's cache. */
const PROFILES_FOLDER = "versions";
/** The file name of a learnt profile: its version and `.json`. */
const PROFILE_FILE = /^(\d+\.\d+\.\d+)\.json$/u;
/** The maximum size of an accepted profile, in bytes. The profile of 2.1.332 has 30 kB. */
const MAX_PROFILE_BYTES = 1_000_000;
/** The accepted levels of objects and lists. The profile of 2.1.332 has three. */
const MAX_PROFILE_DEPTH = 16;

/** The facts of the user's learnt profiles. */
export interface LearntProfiles {
  /** Facts by version. All versions are newer than every shipped profile. */
  readonly facts: Readonly<Record<string, ProfileFacts>>;
  /** Messages to the user: which files were ignored, and why. */
  readonly warnings: readonly string[];
}

/**
 * Reads the user's learnt profiles of versions that are newer than every shipped profile, and registers their facts with
 * `useLearntFacts()`. Ignores files that are invalid or cannot be trusted, with a warning.
 */
export async function useLearntProfiles(env: Environment): Promise<LearntProfiles> {
  const facts: Record<string, ProfileFacts> = {};
  const warnings: string[] = [];
  const folder = cacheFolder(env, PROFILES_FOLDER);
  const files = folder === undefined ? [] : namesIn(folder).toSorted();
  for (const name of files) {
    const version = PROFILE_FILE.exec(name)?.[1];
    if (version === undefined || !isNewerThanProfiles(version)) continue;
    const read = await readFacts(`${folder}/${name}`, version, env);
    if ("facts" in read) {
      facts[version] = read.facts;
      useLearntFacts(version, read.facts);
    } else {
      warnings.push(
        `Ignored the learnt profile ${folder}/${name}: ${read.problem}. ` +
          "Remove it, and run claude-print learn",
      );
    }
  }
  return { facts, warnings };
}

/** Reads the facts of one profile, or returns why it is ignored. */
async function readFacts(
  path: string,
  version: string,
  env: Environment,
): Promise<{ readonly facts: ProfileFacts } | { readonly problem: string }> {
  try {
    const why = cacheFolderProblem(env, PROFILES_FOLDER) ?? ownershipProblem(path, "file");
    if (why !== undefined) return { problem: why };
    return await parseLearntProfile(readRegularFile(path, { limit: MAX_PROFILE_BYTES }), version);
  } catch (error) {
    const { reason, message } = error as { readonly reason?: string; readonly message: string };
    return { problem: reason ?? message };
  }
}

/** Parses a learnt profile of a version and returns its facts, or what is wrong with it. */
export async function parseLearntProfile(
  bytes: Uint8Array,
  version: string,
): Promise<{ readonly facts: ProfileFacts } | { readonly problem: string }> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return { problem: "it is no JSON" };
  }
  const problem = structureProblem(value);
  if (problem !== undefined) return { problem };
  const [{ versionProfileSchema }, { factsOf }, { factsSchema }] = await Promise.all([
    import("../versions/profile.ts"),
    import("../versions/profile_index.ts"),
    import("../versions/facts_schema.ts"),
  ]);
  const profile = versionProfileSchema.safeParse(value);
  if (!profile.success) return { problem: `${firstIssuePath(profile.error)} has a wrong value` };
  const facts = factsSchema.safeParse(factsOf(profile.data));
  if (!facts.success) return { problem: `${firstIssuePath(facts.error)} has a wrong value` };
  return profile.data.version === version
    ? { facts: facts.data }
    : { problem: `it is of version ${profile.data.version}` };
}

/** Returns the path of the first value that does not match a schema. */
function firstIssuePath(
  { issues }: { readonly issues: readonly { readonly path: PropertyKey[] }[] },
) {
  return issues[0]?.path.join(".") || "its content";
}

/** Returns why a parsed JSON is no profile: it is too deep, or has a key `__proto__`. Needs no schema. */
function structureProblem(value: unknown): string | undefined {
  for (let [level, depth]: [readonly unknown[], number] = [[value], 0]; level.length > 0; depth++) {
    if (depth > MAX_PROFILE_DEPTH) return `it is more than ${MAX_PROFILE_DEPTH} levels deep`;
    const inner = level.filter((each) => typeof each === "object" && each !== null);
    if (inner.some((each) => Object.hasOwn(each as object, "__proto__"))) {
      return 'it has a key "__proto__"';
    }
    level = inner.flatMap((each) => Object.values(each as object));
  }
  return undefined;
}

/**
 * Stores a learnt profile. The complete file replaces an earlier one by a rename.
 *
 * @returns its path
 * @throws {CliError} if it cannot be stored. No part of it is left
 */
export function storeLearntProfile(profile: VersionProfile, env: Environment): string {
  const action = `Cannot keep the profile of Claude Code ${profile.version}`;
  const folder = makeCacheFolder(env, PROFILES_FOLDER, action);
  const path = `${folder}/${profile.version}.json`;
  const fresh = `${folder}/.${profile.version}.${crypto.randomUUID()}`;
  try {
    Deno.writeTextFileSync(fresh, `${JSON.stringify(profile, null, 2)}\n`, {
      createNew: true,
      mode: 0o600,
    });
    Deno.renameSync(fresh, path);
  } catch (cause) {
    tryRemove(fresh);
    throw new CliError(`${action}: ${(cause as Error).message}`, {
      suggestion: `Make room in ${folder}, or set XDG_CACHE_HOME to another folder`,
      cause,
    });
  }
  return path;
}
