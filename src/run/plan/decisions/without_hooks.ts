import { UnsupportedError } from "../../../cli_error.ts";
import type { RunOrder } from "../run_order.ts";
import { isSwitchedOn } from "../../../sandbox/environment.ts";

/** Flags with which Claude Code runs no hooks, whoever registers them, and variables that do the same. */
const SWITCHES = [
  { flag: "--bare", variable: "CLAUDE_CODE_SIMPLE" },
  { flag: "--safe-mode", variable: "CLAUDE_CODE_SAFE_MODE" },
] as const;

/** Modes that settle every permission without asking anybody; the first stands for "default", in which hooks refuse. */
const SETTLED = { default: "dontAsk", dontAsk: "dontAsk", bypassPermissions: "bypassPermissions" };

/** The flag that leaves a run without hooks, given as such or by its variable; absent where it has them. */
export function hooklessFlag(
  { forwarded, env }: Pick<RunOrder, "forwarded" | "env">,
): string | undefined {
  return SWITCHES.find(({ flag, variable }) =>
    forwarded.includes(flag) || isSwitchedOn(env[variable])
  )?.flag;
}

/**
 * The permission mode of a child without hooks, where the run is to be in another one.
 *
 * @throws {CliError} when something is asked for that takes hooks
 */
export function modeWithoutHooks(
  order: RunOrder,
  { flag, mode }: { readonly flag: string; readonly mode: string },
): string {
  const needed = [
    [order.prompt === undefined, "a conversation"],
    [order.maxTurns !== undefined && !(order.maxTurns >= 1 && hasNoTools(order)), "--max-turns"],
    [order.maxBudgetUsd !== undefined, "--max-budget-usd"],
    [order.jsonSchema !== undefined, "--json-schema"],
    [order.promptTool !== undefined, "--permission-prompt-tool"],
    [order.partialMessages && !order.exactStream, "live text without --exact-stream"],
    [order.mcpConfigs.length > 0 && flag === "--bare", "--mcp-config"],
    [order.inheritHooks, "--inherit-hooks"],
    [!Object.hasOwn(SETTLED, mode), `the permission mode ${mode}`],
  ] as const;
  const missed = needed.find(([isAsked]) => isAsked)?.[1];
  if (missed !== undefined) {
    throw new UnsupportedError(
      `Cannot honour ${flag} with ${missed}: it turns off the hooks by which claude-print does that`,
      { suggestion: "Leave out one of them, or use claude -p" },
    );
  }
  return SETTLED[mode as keyof typeof SETTLED];
}

/**
 * Whether the model has no tool to call, so that one request is the whole turn. With an empty `--tools`
 * Claude Code offers none without customizations; plugins could bring some.
 */
function hasNoTools({ forwarded }: Pick<RunOrder, "forwarded">): boolean {
  const named = forwarded.filter((argument) => argument.startsWith("--tools="));
  return named.length > 0 && named.every((argument) => /^--tools=[\s,]*$/u.test(argument)) &&
    !forwarded.some((argument) => argument.startsWith("--plugin-"));
}
