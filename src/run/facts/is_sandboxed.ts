import { fileAt } from "../../../ffi/files/at_path.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";

/** What Claude Code's own sandbox is made of on Linux. */
const NEEDED = ["bwrap", "socat"];

/**
 * Whether Claude Code carries commands out in its own sandbox: settings ask for it, and there is what it takes. Where
 * there is not, it says that they are not (2.1.332).
 *
 * @param settings later ones overriding earlier ones
 */
export function isSandboxed(
  settings: readonly JsonObject[],
  { PATH = "" }: Environment,
): boolean {
  const enabled = settings.map(({ sandbox }) => isJsonObject(sandbox) ? sandbox["enabled"] : "")
    .findLast((value) => typeof value === "boolean");
  const folders = PATH.split(":").filter((dir) => dir.startsWith("/"));
  return enabled === true &&
    NEEDED.every((name) => folders.some((dir) => fileAt(`${dir}/${name}`) !== undefined));
}
