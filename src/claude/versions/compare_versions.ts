/**
 * The oldest Claude Code that is supported, published on 2026-09-29: the first one whose socket takes every prompt
 * exactly. Transcripts of older versions are still read.
 */
export const OLDEST_VERSION = "2.1.285";

/**
 * Returns true if a version `a.b.c` is a minimum or newer. Suffixes are ignored, and a part that is not a number is 0.
 *
 * Use `hasCapability()` to decide by a version. Only this folder compares versions themselves.
 */
export function isVersionAtLeast(version: string, minimum: string): boolean {
  return compareVersions(version, minimum) >= 0;
}

/** Compares versions `a.b.c` for sorting: negative if the first is older. */
export function compareVersions(one: string, other: string): number {
  // Called about ten times for each line of a transcript, so it does not split the texts.
  for (let [at, otherAt, part] = [0, 0, 0]; part < 3; part++) {
    const [number, otherNumber] = [numberAt(one, at), numberAt(other, otherAt)];
    if (number !== otherNumber) return number - otherNumber;
    at = nextPart(one, at);
    otherAt = nextPart(other, otherAt);
  }
  return 0;
}

const ZERO = "0".charCodeAt(0);

/** Parses the number at an index of a version. */
function numberAt(version: string, at: number): number {
  let number = 0;
  for (let place = at; place < version.length; place++) {
    const digit = version.charCodeAt(place) - ZERO;
    if (!(digit >= 0 && digit <= 9)) break;
    number = number * 10 + digit;
  }
  return number;
}

/** Returns the index after the next dot, or the length of the version if there is none. */
function nextPart(version: string, at: number): number {
  const dot = version.indexOf(".", at);
  return dot < 0 ? version.length : dot + 1;
}
