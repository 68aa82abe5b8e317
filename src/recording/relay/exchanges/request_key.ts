import { createHash } from "node:crypto";
import { isJsonObject } from "../../../json_object.ts";
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

/** Removes a place, and each object that then holds nothing: where the place is absent, so may be what would hold it. */
function remove(holder: unknown, [name, ...names]: readonly string[]): void {
  if (typeof holder !== "object" || holder === null) return;
  if (name === undefined || !Object.hasOwn(holder, name)) return;
  const fields = holder as Record<string, unknown>;
  const held = fields[name];
  remove(held, names);
  const isNothing = isJsonObject(held) && Object.keys(held).length === 0;
  if (names.length === 0 || isNothing) delete fields[name];
}

/** Names a place in JSON as a pointer. */
export function pointerOf(names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
