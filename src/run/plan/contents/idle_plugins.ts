import type { PlanFacts } from "../plan_facts.ts";
import type { RunOrder } from "../run_order.ts";
import { valuesOf } from "../../../sandbox/child/read_settings.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";

/** Draws changed files beside the conversation, on a screen that nobody looks at: `claude -p` has it not. */
const DIFF = "diff";
/** Tells the model what an AGENTS.md says where a project has no CLAUDE.md. */
const AGENTS = "agents-md";

/** Modes in which tools write nothing that no rule allows. */
const READING_MODES: readonly string[] = ["default", "dontAsk", "plan"];

/**
 * The `enabledPlugins` setting that leaves out those of Claude Code's own plugins that have nothing to do in a run:
 * each takes 20 to 90 ms of its start (2.1.330).
 *
 * AGENTS.md is read at the start, above the working directory, and whenever a file beside or below one is read. So its
 * plugin is left out where there is none, and none can come: a CLAUDE.md keeps those below it from being read, and
 * without one no tool may write any. Whatever settings say of a plugin holds.
 */
export function idlePlugins(
  order: Pick<RunOrder, "forwarded" | "initialized">,
  { facts: { settings, instructions }, mode }: {
    readonly facts: Pick<PlanFacts, "settings" | "instructions">;
    readonly mode: string;
  },
): JsonObject {
  const values = valuesOf(settings);
  const isNamed = (plugin: string) =>
    values.some(({ enabledPlugins, pluginConfigs }) =>
      [enabledPlugins, pluginConfigs].some((each) =>
        isJsonObject(each) && Object.keys(each).some((name) => name.startsWith(plugin))
      )
    );
  const mayCome = !instructions.claude &&
    (instructions.skills || mayWrite(order, { values, mode }));
  const isMoved = order.forwarded.some((argument) => /^(?:--worktree|-w)(?:=|$)/u.test(argument)) ||
    values.some(({ claudeMdExcludes }) => claudeMdExcludes !== undefined);
  const agentsIsIdle = !instructions.agents && !mayCome && !isMoved;
  const idle = [DIFF, ...agentsIsIdle ? [AGENTS] : []].filter((name) =>
    // Each has two names.
    !isNamed(`${name}@`) && !isNamed(`cc-plugin-${name}@`)
  );
  return Object.fromEntries(idle.map((name) => [`${name}@builtin`, false]));
}

/** Whether a tool of the run may write a file. */
function mayWrite(
  { forwarded, initialized }: Pick<RunOrder, "forwarded" | "initialized">,
  { values, mode }: { readonly values: readonly JsonObject[]; readonly mode: string },
): boolean {
  return !READING_MODES.includes(mode) || initialized?.longAgents !== undefined ||
    forwarded.some((argument) => /^--(?:allowed-?tools|plugin-|agents?)/iu.test(argument)) ||
    values.some(({ permissions, sandbox, hooks, enabledPlugins }) =>
      (isJsonObject(permissions) && permissions["allow"] !== undefined) ||
      [sandbox, hooks, enabledPlugins].some((each) => each !== undefined)
    );
}
