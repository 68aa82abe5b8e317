import { compareVersions } from "./compare_versions.ts";
import type { VersionProfile } from "./profile.ts";

/** A kind of object that `claude -p` prints and whose keys depend on the version. */
export type WireObject =
  | "init"
  | "assistant"
  | "user"
  | "streamEvent"
  | "result"
  | "usage"
  | "modelUsage";

/** The facts of one version that synchronous code needs. */
export interface ProfileFacts {
  /** Names of capabilities, separated by spaces. */
  readonly capabilities: string;
  /** Keys in order, separated by spaces. All subtypes of a result are merged. Keys that no run has shown are last. */
  readonly keys: Readonly<Record<WireObject, string>>;
  /** Values that are the same in every frame, by their keys. */
  readonly constants: Readonly<Record<"init" | "result", Readonly<Record<string, unknown>>>>;
}

/** Values by the first version that has them, the oldest version first. */
export type Since<T> = Readonly<Record<string, T>>;

/** The facts of all profiles. A value that does not change from one version to the next is stored once. */
export interface ProfileIndex {
  /** Versions that have a profile, separated by spaces, the oldest first. */
  readonly versions: string;
  readonly capabilities: Since<string>;
  readonly keys: Readonly<Record<WireObject, Since<string>>>;
  readonly subcommands: Since<string>;
  readonly constants: {
    readonly [Object in "init" | "result"]: Since<Readonly<Record<string, unknown>>>;
  };
}

/** Which names in `frames` of a profile belong to which kind of object. */
const FRAMES: Readonly<Record<WireObject, RegExp>> = {
  init: /^system\/init$/u,
  assistant: /^assistant$/u,
  user: /^user$/u,
  streamEvent: /^stream_event\/\w+$/u,
  result: /^result\/\w+$/u,
  usage: /^result\/\w+\.usage$/u,
  modelUsage: /^result\/\w+\.modelUsage\.\*$/u,
};

/** Calls a function for each kind of object and returns the results by kind. */
export function forEachObject<T>(make: (object: WireObject) => T): Readonly<Record<WireObject, T>> {
  return {
    init: make("init"),
    assistant: make("assistant"),
    user: make("user"),
    streamEvent: make("streamEvent"),
    result: make("result"),
    usage: make("usage"),
    modelUsage: make("modelUsage"),
  };
}

/** Splits a text at single spaces. */
export function wordsOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(" ");
}

/** Extracts the facts of a profile. */
export function factsOf(profile: VersionProfile): ProfileFacts {
  const keys = (object: WireObject) => keysOf(profile, object).join(" ");
  return {
    capabilities: profile.capabilities.join(" "),
    keys: forEachObject(keys),
    constants: {
      init: constantsOf(profile, "init"),
      result: constantsOf(profile, "result"),
    },
  };
}

/** Picks a value from each profile, and returns the values by the first version that has them. */
export function sinceOf<T>(
  profiles: readonly VersionProfile[],
  pick: (profile: VersionProfile) => T,
): Since<T> {
  const values = profiles.toSorted((one, other) => compareVersions(one.version, other.version))
    .map((profile) => [profile.version, pick(profile)] as const);
  return Object.fromEntries(
    values.filter(([, value], row) =>
      JSON.stringify(value) !== JSON.stringify(values[row - 1]?.[1])
    ),
  );
}

/** Builds the index of profiles. The order of the profiles does not matter. */
export function indexOf(profiles: readonly VersionProfile[]): ProfileIndex {
  const since = <T>(pick: (facts: ProfileFacts, profile: VersionProfile) => T) =>
    sinceOf(profiles, (profile) => pick(factsOf(profile), profile));
  const keys = (object: WireObject) => since((facts) => facts.keys[object]);
  return {
    versions: profiles.map(({ version }) => version).toSorted(compareVersions).join(" "),
    capabilities: since(({ capabilities }) => capabilities),
    keys: forEachObject(keys),
    subcommands: since((_, { subcommands }) => subcommands),
    constants: {
      init: since(({ constants }) => constants.init),
      result: since(({ constants }) => constants.result),
    },
  };
}

/** Returns the facts of a version: those of the newest profile that is not newer, or of the oldest profile. */
export function factsFor(index: ProfileIndex, version: string): ProfileFacts {
  const keys = (object: WireObject) => factFor(version, index.keys[object]);
  return {
    capabilities: factFor(version, index.capabilities),
    keys: forEachObject(keys),
    constants: {
      init: factFor(version, index.constants.init),
      result: factFor(version, index.constants.result),
    },
  };
}

/** Returns the value of a version, chosen as in `factsFor()`. */
export function factFor<T>(version: string, values: Since<T>): T {
  const rows = Object.entries(values);
  const row = rows.findLast(([since]) => compareVersions(since, version) <= 0) ?? rows[0];
  if (row === undefined) throw new Error("There is no profile");
  return row[1];
}

/** Returns the names and keys of the frames of a kind of object, those with the most keys first. */
function framesOf(profile: VersionProfile, object: WireObject): readonly [string, string][] {
  return Object.entries(profile.frames).filter(([name]) => FRAMES[object].test(name))
    .toSorted(([, one], [, other]) => wordsOf(other).length - wordsOf(one).length);
}

/** Merges the keys of all frames of a kind of object. A key that only some frames have follows its predecessor there. */
function keysOf(profile: VersionProfile, object: WireObject): readonly string[] {
  const merged: string[] = [];
  for (const [, text] of framesOf(profile, object)) {
    let place = 0;
    for (const key of wordsOf(text).map((word) => word.replace(/\?$/u, ""))) {
      const known = merged.indexOf(key);
      if (known < 0) merged.splice(place, 0, key);
      place = (known < 0 ? place : known) + 1;
    }
  }
  // All fields of usage objects are passed on without this list.
  const unseen = /usage/iu.test(object) ? [] : wordsOf(profile.unseenKeys);
  return [...new Set([...merged, ...unseen])];
}

/**
 * Returns the constants of a kind of object, for keys that all its frames have. A result needs a known value in only one
 * subtype, if no other subtype has a different one.
 */
function constantsOf(
  profile: VersionProfile,
  object: "init" | "result",
): Readonly<Record<string, unknown>> {
  const frames = framesOf(profile, object);
  const constants: [string, unknown][] = [];
  for (const key of keysOf(profile, object)) {
    // These two identify the frame.
    if (key === "type" || key === "subtype") continue;
    const values = frames.flatMap(([name]) => {
      const value = profile.constants[`${name} ${key}`];
      return value === undefined ? [] : [value];
    });
    const texts = new Set(values.map((value) => JSON.stringify(value)));
    const isEverywhere = frames.every(([, text]) => wordsOf(text).includes(key));
    if (isEverywhere && texts.size === 1) constants.push([key, values[0]]);
  }
  return Object.fromEntries(constants);
}
