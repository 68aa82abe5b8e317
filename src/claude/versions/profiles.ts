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

/** The facts of a version, in the form in which they are looked up: each line of a transcript asks for some. */
interface Lookup {
  readonly capabilities: ReadonlySet<string>;
  readonly keys: Readonly<Record<WireObject, readonly string[]>>;
  readonly constants: ProfileFacts["constants"];
}

/** What profiles that are not shipped have shown, by their versions. */
const learnt = new Map<string, ProfileFacts>();

/** What was looked up, by the version that was asked for. */
const lookups = new Map<string, Lookup>();
/** Transcripts name versions, and anybody may have written a transcript. */
const MAX_LOOKUPS = 100;

/**
 * Tells whether a version of Claude Code can do something: as the newest profile says that is not newer than the version.
 * Of a version that is older than all profiles, the oldest decides; an undefined version can do nothing.
 */
export function hasCapability(version: string | undefined, capability: Capability): boolean {
  return version !== undefined && lookUp(version).capabilities.has(capability);
}

/** The keys of an object that `claude -p` of a version prints, in their order; those that were never seen come last. */
export function keysOfVersion(version: string, object: WireObject): readonly string[] {
  return lookUp(version).keys[object];
}

/** The values that every such frame of a version has, by their keys. */
export function constantsOfVersion(
  version: string,
  object: "init" | "result",
): Readonly<Record<string, unknown>> {
  return lookUp(version).constants[object];
}

/** The words that are subcommands of a version as its first argument; those of all versions together if it is undefined. */
export function subcommandsOf(version: string | undefined): readonly string[] {
  return version === undefined
    ? [...new Set(Object.values(INDEX.subcommands).flatMap(wordsOf))].toSorted()
    : wordsOf(factFor(version, INDEX.subcommands));
}

/** Tells whether any profile has a key in an object. */
export function isKnownKey(object: WireObject, key: string): boolean {
  const texts = [
    ...Object.values(INDEX.keys[object]),
    ...Array.from(learnt.values(), ({ keys }) => keys[object]),
  ];
  return texts.some((text) => wordsOf(text).includes(key));
}

/** Tells whether a version is newer than every profile that is shipped. */
export function isNewerThanProfiles(version: string): boolean {
  return !isVersionAtLeast(PROFILED_VERSIONS.at(-1) ?? "", version);
}

/** Tells whether a version was measured: it is not newer than the shipped profiles, or was learnt. */
export function hasProfile(version: string): boolean {
  return !isNewerThanProfiles(version) || learnt.has(version);
}

/**
 * Lets the facts of a learnt profile hold for its version alone, if that is newer than every shipped profile. They only add
 * to what the newest shipped profile has: keys, constants, and capabilities that decide only what is printed.
 */
export function useLearntFacts(version: string, facts: ProfileFacts): void {
  learnt.set(version, facts);
  lookups.delete(version);
}

/** The facts of a learnt profile that hold for a version. */
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

/** Whether a profile that is not shipped may have a capability. */
function isLearnable(name: string): boolean {
  return Object.hasOwn(CAPABILITIES, name) && CAPABILITIES[name as Capability] === "printed";
}
