import { hasCapability } from "../../../claude/versions/profiles.ts";
import { isJsonObject } from "../../../json_object.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { Effect } from "../../control/effect.ts";
import type { SessionState } from "../../control/session_state.ts";
import { refuse } from "../answering.ts";

/** The request that has plugins read again. */
export const RELOADING = "reload_plugins";

/**
 * Why plugins are not read again: as a rule a headless Claude Code says which there are, and the next message goes to a new
 * child, which reads them with its start. Nothing is held back for the sake of the API's cache.
 */
export function whyNoReload(state: SessionState, request: ControlRequest): Effect | undefined {
  const { add_plugins: added, refuse_if_busy: waits } = request.body;
  if (!hasCapability(state.version, "addedPlugins")) return undefined;
  const plugins = added ?? [];
  if (!Array.isArray(plugins) || !plugins.every(isPlaced)) {
    return refuse(request, {
      error: 'reload_plugins add_plugins must be a list of { type: "local", path } entries with ' +
        "absolute paths",
    });
  }
  return waits === true && isBusy(state)
    ? refuse(request, {
      error: "reload_plugins: the session is busy; ask again once it is idle",
      error_code: "reload_plugins_busy",
    })
    : undefined;
}

/** The folders of plugins that a request adds, as arguments have them. */
export function addedPlugins(
  state: SessionState,
  { body }: ControlRequest,
): readonly string[] {
  const plugins: unknown = body["add_plugins"];
  if (!hasCapability(state.version, "addedPlugins") || !Array.isArray(plugins)) return [];
  return plugins.filter(isPlaced).map(({ path, skipMcpDiscovery }) =>
    `--plugin-dir${skipMcpDiscovery === true ? "-no-mcp" : ""}=${path}`
  );
}

interface PlacedPlugin {
  readonly path: string;
  readonly skipMcpDiscovery?: unknown;
}

function isPlaced(plugin: unknown): plugin is PlacedPlugin {
  return isJsonObject(plugin) && plugin["type"] === "local" &&
    typeof plugin["path"] === "string" && plugin["path"].startsWith("/");
}

function isBusy({ phase, queue }: SessionState): boolean {
  return queue.length > 0 || phase === "entered" || phase === "working" || phase === "settling";
}
