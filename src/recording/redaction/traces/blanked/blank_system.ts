import { blankBetween } from "./blank_between.ts";
import { isJsonObject, type JsonObject } from "../../../../json_object.ts";

/** The line with which Claude Code says to the API what it is. */
const BILLING = /^x-anthropic-billing-header:/u;
const NOTHING = /(?!)/gu;

/**
 * What the model is told of itself, which may be the user's words: a text, texts, or blocks of them.
 *
 * @param varying what is another in each run, and stays so that it can be known for that
 */
export function blankSystem(system: unknown, varying: RegExp = NOTHING): unknown {
  if (typeof system === "string") {
    return BILLING.test(system) ? system : blankBetween(system, varying);
  }
  if (Array.isArray(system)) return system.map((part) => blankSystem(part, varying));
  // Of a preset of the SDKs, what is appended to it.
  const named = isJsonObject(system) ? ["text", "append"].filter((name) => name in system) : [];
  return named.length === 0 ? system : {
    ...system as JsonObject,
    ...Object.fromEntries(
      named.map((name) => [name, blankSystem((system as JsonObject)[name], varying)]),
    ),
  };
}
