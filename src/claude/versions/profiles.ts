import { CAPABILITIES, type Capability } from "./capabilities.ts";
import { isVersionAtLeast } from "./compare_versions.ts";
import {
  factFor,
  factsFor,
  forEachObject,
  type ProfileFacts,
  type ProfileIndex,
  type WireObject,
  wordsOf,
} from "./profile_index.ts";
import index from "./profile_index.json" with { type: "json" };

const INDEX: ProfileIndex = index;

/** Versions that have a profile, the oldest first. */
export const PROFILED_VERSIONS: readonly string[] = wordsOf(INDEX.versions);

/** The facts of a version, prepared for fast access: each line of a transcript needs some of them. */
interface Lookup {
  readonly capabilities: ReadonlySet<string>;
  readonly keys: Readonly<Record<WireObject, readonly string[]>>;
  readonly constants: ProfileFacts["constants"];
}

/** The facts of learnt profiles by version. */
const learnt = new Map<string, ProfileFacts>();

/** Prepared facts by version. */
const lookups = new Map<string, Lookup>();
/** The limit of `lookups`: versions come from transcripts, which can contain any text. */
const MAX_LOOKUPS = 100;

/**
 * Returns true if a version of Claude Code has a capability. The newest profile that is not newer than the version decides,
 * and the oldest profile for older versions. An undefined version has no capability.
 */
export function hasCapability(version: string | undefined, capability: Capability): boolean {
  return version !== undefined && lookUp(version).capabilities.has(capability);
}

/** Returns the keys that `claude -p` of a version prints, in order. Keys that no run has shown are last. */
export function keysOfVersion(version: string, object: WireObject): readonly string[] {
  return lookUp(version).keys[object];
}

/** Returns the values that are the same in every such frame of a version, by their keys. */
export function constantsOfVersion(
  version: string,
  object: "init" | "result",
): Readonly<Record<string, unknown>> {
  return lookUp(version).constants[object];
}

/** Returns the subcommands of a version, or those of all versions if it is undefined. */
export function subcommandsOf(version: string | undefined): readonly string[] {
  return version === undefined
    ? [...new Set(Object.values(INDEX.subcommands).flatMap(wordsOf))].toSorted()
    : wordsOf(factFor(version, INDEX.subcommands));
}

/** Returns true if any profile, learnt ones included, has a key in a kind of object. */
export function isKnownKey(object: WireObject, key: string): boolean {
  const texts = [
    ...Object.values(INDEX.keys[object]),
    ...Array.from(learnt.values(), ({ keys }) => keys[object]),
  ];
  return texts.some((text) => wordsOf(text).includes(key));
}

/** Returns true if a version is newer than every shipped profile. */
export function isNewerThanProfiles(version: string): boolean {
  return !isVersionAtLeast(PROFILED_VERSIONS.at(-1) ?? "", version);
}

/** Returns true if a version has a learnt profile or is not newer than the shipped profiles. */
export function hasProfile(version: string): boolean {
  return !isNewerThanProfiles(version) || learnt.has(version);
}

/**
 * Registers the facts of a learnt profile. They apply to its version alone, and only if it is newer than every shipped
 * profile. They add keys, constants and `printed` capabilities to those of the newest shipped profile.
 */
export function useLearntFacts(version: string, facts: ProfileFacts): void {
  learnt.set(version, facts);
  lookups.delete(version);
}

/** Returns the facts of the learnt profile that applies to a version. */
export function learntFactsOf(version: string): ProfileFacts | undefined {
  return isNewerThanProfiles(version) ? learnt.get(version) : undefined;
}

function lookUp(version: string): Lookup {
  const cached = lookups.get(version);
  if (cached !== undefined) return cached;
  const shipped = factsFor(INDEX, version);
  const learntFacts = learntFactsOf(version);
  const found: Lookup = {
    capabilities: new Set([
      ...wordsOf(shipped.capabilities),
      ...wordsOf(learntFacts?.capabilities ?? "").filter(isLearnable),
    ]),
    keys: forEachObject((object) => [
      ...new Set([...wordsOf(learntFacts?.keys[object] ?? ""), ...wordsOf(shipped.keys[object])]),
    ]),
    constants: {
      init: { ...shipped.constants.init, ...learntFacts?.constants.init },
      result: { ...shipped.constants.result, ...learntFacts?.constants.result },
    },
  };
  if (lookups.size >= MAX_LOOKUPS) lookups.clear();
  lookups.set(version, found);
  return found;
}

/** Returns true if a learnt profile can add a capability. */
function isLearnable(name: string): boolean {
  return Object.hasOwn(CAPABILITIES, name) && CAPABILITIES[name as Capability] === "printed";
}
