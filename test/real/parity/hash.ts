import { createHash } from "node:crypto";

/** A text in short, for recordings: two that differ have other hashes. */
export function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}
