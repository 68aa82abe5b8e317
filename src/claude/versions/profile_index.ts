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

/** What the synchronous part of the program has to know of one version. */
export interface ProfileFacts {
  /** Words, as in a profile. */
  readonly capabilities: string;
  /** Keys in their order, as words; those of all subtypes of a result together, and keys that no run has shown last. */
  readonly keys: Readonly<Record<WireObject, string>>;
  /** Values of keys that every frame has, the same one in each. */
  readonly constants: Readonly<Record<"init" | "result", Readonly<Record<string, unknown>>>>;
}

/** A value by the version since which it holds; the oldest version comes first. */
export type Since<T> = Readonly<Record<string, T>>;

/** The facts of all profiles: a fact that does not change from one version to the next is there once. */
export interface ProfileIndex {
  /** Versions that have a profile, as words, the oldest first. */
  readonly versions: string;
  readonly capabilities: Since<string>;
  readonly keys: Readonly<Record<WireObject, Since<string>>>;
  readonly subcommands: Since<string>;
  readonly constants: {
    readonly [Object in "init" | "result"]: Since<Readonly<Record<string, unknown>>>;
  };
}

/** How the frames of a profile are called that have the keys of an object. */
const FRAMES: Readonly<Record<WireObject, RegExp>> = {
  init: /^system\/init$/u,
  assistant: /^assistant$/u,
  user: /^user$/u,
  streamEvent: /^stream_event\/\w+$/u,
  result: /^result\/\w+$/u,
  usage: /^result\/\w+\.usage$/u,
  modelUsage: /^result\/\w+\.modelUsage\.\*$/u,
};

/** Makes something of each kind of object. */
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

/** The words of a text that has one space between them. */
export function wordsOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(" ");
}

/** Takes the facts out of a profile. */
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

/** What is picked from profiles, by the version since which it holds, whatever order the profiles are in. */
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

/** Puts the facts of profiles together, whatever order the profiles are in. */
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

/** The facts that hold for a version: those of the newest profile that is not newer, or of the oldest profile. */
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

/** The value that holds for a version, as with `factsFor()`. */
export function factFor<T>(version: string, values: Since<T>): T {
  const rows = Object.entries(values);
  const row = rows.findLast(([since]) => compareVersions(since, version) <= 0) ?? rows[0];
  if (row === undefined) throw new Error("There is no profile");
  return row[1];
}

/** The frames that are an object with their keys, those with the most keys first. */
function framesOf(profile: VersionProfile, object: WireObject): readonly [string, string][] {
  return Object.entries(profile.frames).filter(([name]) => FRAMES[object].test(name))
    .toSorted(([, one], [, other]) => wordsOf(other).length - wordsOf(one).length);
}

/** The keys of all frames that are an object: a key that only some have comes after the one that it follows there. */
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
  // What is in usage is passed on anyway.
  const unseen = /usage/iu.test(object) ? [] : wordsOf(profile.unseenKeys);
  return [...new Set([...merged, ...unseen])];
}

/**
 * The constants of an object, for keys that each of its frames has. Of results, not every kind has known constants: one
 * kind with the value is enough, if none has another.
 */
function constantsOf(
  profile: VersionProfile,
  object: "init" | "result",
): Readonly<Record<string, unknown>> {
  const frames = framesOf(profile, object);
  const constants: [string, unknown][] = [];
  for (const key of keysOf(profile, object)) {
    // They say which frame it is.
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
