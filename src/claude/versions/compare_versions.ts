/**
 * The oldest Claude Code that is supported, published on 2026-09-29: the first one whose socket takes every prompt
 * exactly. Transcripts of older versions are still read.
 */
export const OLDEST_VERSION = "2.1.285";

/**
 * Tells whether a version `a.b.c` is a minimum or newer. Suffixes do not count, and text counts as 0.
 *
 * Code asks for a capability of a version instead, see `hasCapability()`: versions themselves are compared only in this
 * folder.
 */
export function isVersionAtLeast(version: string, minimum: string): boolean {
  return compareVersions(version, minimum) >= 0;
}

/** Orders versions `a.b.c`: negative if the first is older. */
export function compareVersions(one: string, other: string): number {
  // It is asked some ten times for each line of a transcript, so nothing is split.
  for (let [at, otherAt, part] = [0, 0, 0]; part < 3; part++) {
    const [number, otherNumber] = [numberAt(one, at), numberAt(other, otherAt)];
    if (number !== otherNumber) return number - otherNumber;
    at = nextPart(one, at);
    otherAt = nextPart(other, otherAt);
  }
  return 0;
}

const ZERO = "0".charCodeAt(0);

/** The number with which a part of a version begins. */
function numberAt(version: string, at: number): number {
  let number = 0;
  for (let place = at; place < version.length; place++) {
    const digit = version.charCodeAt(place) - ZERO;
    if (!(digit >= 0 && digit <= 9)) break;
    number = number * 10 + digit;
  }
  return number;
}

/** The index after the next dot; the length of the version if there is none. */
function nextPart(version: string, at: number): number {
  const dot = version.indexOf(".", at);
  return dot < 0 ? version.length : dot + 1;
}
