import { closestString } from "@std/text/closest-string";
import { FLAGS } from "../../cli/arguments/flags.ts";
import { ProblemError } from "./problem.ts";

/**
 * The problem of a body with keys that it may not have, which says how to give what was meant.
 *
 * @param keys of which there is at least one
 * @param options.place what the keys are in, such as "profile"
 * @param options.known the keys that may be there
 */
export function unknownKey(
  keys: readonly string[],
  { place, known }: { readonly place: string; readonly known: readonly string[] },
): ProblemError {
  const [key = ""] = keys;
  return new ProblemError({
    status: 422,
    detail: `Cannot read the body: ${place} takes no ${
      keys.map((each) => JSON.stringify(each)).join(", ")
    }`,
    suggestion: `${remedy(key, known)} All bodies are in the OpenAPI file: GET /openapi.json`,
  });
}

function remedy(key: string, known: readonly string[]): string {
  const flag = flagNamed(key);
  if (key === "cwd" && known.includes("prompt")) return "Give the folder in the URL: ?cwd=/path.";
  if (flag !== undefined && known.includes("args")) {
    return `Give it as a flag: "args": ["${flag}", …].`;
  }
  if (flag !== undefined && known.includes("profile")) {
    return `Give it as a flag: "profile": {"args": ["${flag}", …]}.`;
  }
  if (known.length === 0) return "Leave it out.";
  return `Did you mean ${JSON.stringify(closestString(key, known))}?`;
}

/** The flag that a key is the name of, such as `maxTurns` and `max_turns`. */
function flagNamed(key: string): string | undefined {
  const name = `--${key.replace(/[A-Z]/gu, "-$&").replaceAll("_", "-").toLowerCase()}`;
  return FLAGS.find((flag) => [flag.name, ...flag.aliases].includes(name))?.name;
}
