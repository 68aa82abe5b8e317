import type { Login } from "../../sandbox/child/login.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { namedVariable } from "./named_variable.ts";
import type { RunOrder } from "./run_order.ts";

/** The only beta header that Claude Code lets its user add (2.1.330). */
const ALLOWED_BETA = "context-1m-2025-08-07";

/** What `--task-budget` makes Claude Code send along. */
const TASK_BUDGET_BETA = "task-budgets-2026-03-13";

/** Variables of the child that add to its requests to the API. */
const BETAS = "ANTHROPIC_BETAS";
const BODY = "CLAUDE_CODE_EXTRA_BODY";

/** Variables for the child, and what the user is to be told of flags that have no effect. */
export interface RequestVariables {
  readonly variables: Environment;
  /** The headers of `--betas` that Claude Code sends. */
  readonly betas: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * What `--betas` and `--task-budget` ask for, as the interactive Claude Code takes it: it ignores these flags, but
 * adds to its requests what the environment names.
 *
 * As with `claude -p`, `--betas` takes one header and works with an API key alone; everything else is warned of and left
 * out.
 *
 * @param options.settings what Claude Code reads for the run, the last ones first in effect: their `env` comes before
 * the caller's environment
 */
export function requestVariables(
  { betas, taskBudget, env }: Pick<RunOrder, "betas" | "taskBudget" | "env">,
  { login, settings }: { readonly login: Login; readonly settings: readonly JsonObject[] },
): RequestVariables {
  const named = (name: string) => namedVariable(name, { env, settings });
  const isAllowed = hasApiKey(login) && betas.includes(ALLOWED_BETA);
  const allowed = isAllowed ? [ALLOWED_BETA] : [];
  const added = [
    ...allowed,
    ...(taskBudget === undefined ? [] : [TASK_BUDGET_BETA]),
  ];
  const known = named(BETAS).split(",").map((beta) => beta.trim()).filter((beta) => beta !== "");
  return {
    variables: {
      ...(added.length === 0 ? {} : { [BETAS]: [...new Set([...known, ...added])].join(",") }),
      ...(taskBudget === undefined ? {} : { [BODY]: withTaskBudget(named(BODY), taskBudget) }),
    },
    betas: allowed,
    warnings: warningsOf(betas, login),
  };
}

/** Whether Claude Code takes itself for a user of an API key: with everything but a subscription's login. */
function hasApiKey(login: Login): boolean {
  return !(login.kind === "stored" ||
    (login.kind === "variable" && login.name.startsWith("CLAUDE_CODE_OAUTH_TOKEN")));
}

function warningsOf(betas: readonly string[], login: Login): readonly string[] {
  if (betas.length === 0) return [];
  if (!hasApiKey(login)) {
    return ["--betas has no effect: Claude Code takes it with an API key only"];
  }
  return betas.filter((beta) => beta !== ALLOWED_BETA).map((beta) =>
    `--betas has no effect for "${beta}": Claude Code takes ${ALLOWED_BETA} only`
  );
}

/** The body with the budget in it; what is no object Claude Code would leave out too. */
function withTaskBudget(body: string, total: number): string {
  let known: unknown;
  try {
    known = JSON.parse(body);
  } catch {
    known = {};
  }
  const others = isJsonObject(known) ? known : {};
  const config = isJsonObject(others["output_config"]) ? others["output_config"] : {};
  return JSON.stringify({
    ...others,
    output_config: { ...config, task_budget: { type: "tokens", total } },
  });
}
