import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { isTooDeep } from "./json_text.ts";

/** The JSON object that a text is; undefined for what is none, or is nested too deeply. */
export function jsonObjectIn(text: string): JsonObject | undefined {
  if (isTooDeep(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
