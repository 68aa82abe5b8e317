import { createHash } from "node:crypto";
import type { ExchangeRequest } from "./exchange.ts";
import { masked } from "./masks.ts";

/** Which requests are taken for one. */
export type Match = "exact" | "normalized" | "sequence";

/** The key of a request: SHA-256 of its method, path and body, in hexadecimal digits. */
export function keyOf({ method, path, body }: ExchangeRequest): string {
  return createHash("sha256").update(`${method} ${path}\n`).update(body).digest("hex");
}

/**
 * The body of a request as a text without what is another in each run.
 *
 * @param ignored places of the JSON that do not count, as JSON pointers (RFC 6901); nor does what holds nothing else
 */
export function normalizedBody(body: Uint8Array, ignored: readonly string[]): string {
  const text = new TextDecoder().decode(body);
  return masked(ignored.length === 0 ? text : without(text, ignored));
}

function without(text: string, pointers: readonly string[]): string {
  try {
    const value: unknown = JSON.parse(text);
    for (const pointer of pointers) remove(value, namesOf(pointer));
    return JSON.stringify(value);
  } catch {
    return text;
  }
}

/** The names in a JSON pointer. */
function namesOf(pointer: string): readonly string[] {
  return pointer.split("/").slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Removes a place, and of whatever holds it and nothing else that too: where it is absent, so may be what would hold it. */
function remove(value: unknown, names: readonly string[]): void {
  const holders = [value];
  for (const name of names.slice(0, -1)) holders.push(own(holders.at(-1), name));
  for (const [index, holder] of [...holders.entries()].toReversed()) {
    const name = names[index];
    if (name === undefined) return;
    if (own(holder, name) !== undefined) delete (holder as Record<string, unknown>)[name];
    const isNothing = index > 0 && typeof holder === "object" && holder !== null &&
      !Array.isArray(holder) && Object.keys(holder).length === 0;
    if (!isNothing) return;
  }
}

function own(holder: unknown, name: string): unknown {
  return typeof holder === "object" && holder !== null && Object.hasOwn(holder, name)
    ? (holder as Record<string, unknown>)[name]
    : undefined;
}

/** Names a place in JSON as a pointer. */
export function pointerOf(names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
