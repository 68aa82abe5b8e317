import { constantsOfVersion, isKnownKey, keysOfVersion } from "../versions/profiles.ts";
import type { WireObject } from "../versions/profile_index.ts";

/**
 * Keeps of an object what `claude -p` of a version prints, in the order of the version's profile, and drops undefined
 * values. An `init` or a `result` also gets the constants of the version, for keys that `fields` does not name at all.
 *
 * With `extra`, keys that no version has stay too, at the end: fields of the API that Claude Code passes on as they come.
 */
export function onlyWireKeys(
  object: WireObject,
  fields: Readonly<Record<string, unknown>>,
  { version, extra = false }: { readonly version: string; readonly extra?: boolean },
): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  const constants = object === "init" || object === "result"
    ? constantsOfVersion(version, object)
    : {};
  for (const key of keysOfVersion(version, object)) {
    const value = Object.hasOwn(fields, key) ? fields[key] : constants[key];
    if (value !== undefined) kept[key] = value;
  }
  if (!extra) return kept;
  const others = Object.entries(fields).filter(([key, value]) =>
    value !== undefined && !isKnownKey(object, key)
  );
  return { ...kept, ...Object.fromEntries(others) };
}
