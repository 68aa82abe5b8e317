import { CliError } from "../../cli_error.ts";
import { parseJsonObject } from "../../claude/wire/json_text.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { Login } from "../../sandbox/user_config.ts";
import type { Settings } from "../../sandbox/child/read_settings.ts";
import { type Environment, isSwitchedOn } from "../../sandbox/environment.ts";
import type { RunOrder } from "./run_order.ts";

/** The caller's environment, and the settings in effect. */
interface VariableSources {
  readonly env: Environment;
  readonly settings: readonly JsonObject[];
}

/**
 * The value of a variable in Claude Code: the last settings that set it override the environment. Empty if it is not
 * set.
 */
export function variableOf(name: string, { env, settings }: VariableSources): string {
  const value = settings.map(({ env }) => isJsonObject(env) ? env[name] : undefined)
    .findLast((each) => typeof each === "string");
  return typeof value === "string" ? value : env[name] ?? "";
}

/** Whether Claude Code traces turns as OpenTelemetry spans. */
export function tracesSpans(sources: VariableSources): boolean {
  const isOn = (name: string) => isSwitchedOn(variableOf(name, sources));
  return isOn("CLAUDE_CODE_ENABLE_TELEMETRY") &&
    (isOn("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA") || isOn("ENABLE_ENHANCED_TELEMETRY_BETA"));
}

/** Switches off automatic memory, which grows from run to run. */
export const WITHOUT_MEMORY = "CLAUDE_CODE_DISABLE_AUTO_MEMORY";

/**
 * The variables of `--deterministic`, which make Claude Code send equal requests in each run (2.1.330): no memory, no
 * state of the git repository, and no line about Claude Code itself, which contains a checksum. The relay replaces all
 * other differences.
 */
export function deterministicVariables(
  { deterministic }: Pick<RunOrder, "deterministic">,
): Environment {
  return deterministic
    ? {
      [WITHOUT_MEMORY]: "1",
      CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS: "1",
      CLAUDE_CODE_ATTRIBUTION_HEADER: "0",
    }
    : {};
}

/** The only beta header that users may add to Claude Code's requests (2.1.330). */
const ALLOWED_BETA = "context-1m-2025-08-07";

/** The beta header that `--task-budget` adds. */
const TASK_BUDGET_BETA = "task-budgets-2026-03-13";

/** Variables with which Claude Code extends its API requests. */
const BETAS = "ANTHROPIC_BETAS";
const BODY = "CLAUDE_CODE_EXTRA_BODY";

/** Variables for the child, and warnings about flags that have no effect. */
interface RequestVariables {
  readonly variables: Environment;
  /** The headers of `--betas` that Claude Code sends. */
  readonly betas: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Translates `--betas` and `--task-budget` into variables, because the interactive Claude Code ignores the flags.
 *
 * As in `claude -p`, `--betas` accepts one header and needs an API key. Other values cause a warning.
 */
export function requestVariables(
  { betas, taskBudget, env }: Pick<RunOrder, "betas" | "taskBudget" | "env">,
  { login, settings }: { readonly login: Login; readonly settings: readonly JsonObject[] },
): RequestVariables {
  const current = (name: string) => variableOf(name, { env, settings });
  const allowed = hasApiKey(login) && betas.includes(ALLOWED_BETA) ? [ALLOWED_BETA] : [];
  const added = [...allowed, ...(taskBudget === undefined ? [] : [TASK_BUDGET_BETA])];
  const known = current(BETAS).split(",").map((beta) => beta.trim()).filter((beta) => beta !== "");
  return {
    variables: {
      ...(added.length === 0 ? {} : { [BETAS]: [...new Set([...known, ...added])].join(",") }),
      ...(taskBudget === undefined ? {} : { [BODY]: withTaskBudget(current(BODY), taskBudget) }),
    },
    betas: allowed,
    warnings: betaWarnings(betas, login),
  };
}

/** Whether Claude Code treats its user as an API key user: with every login except a subscription. */
function hasApiKey(login: Login): boolean {
  return !(login.kind === "stored" ||
    (login.kind === "variable" && login.name.startsWith("CLAUDE_CODE_OAUTH_TOKEN")));
}

function betaWarnings(betas: readonly string[], login: Login): readonly string[] {
  if (betas.length === 0) return [];
  if (!hasApiKey(login)) {
    return ["--betas has no effect: Claude Code takes it with an API key only"];
  }
  return betas.filter((beta) => beta !== ALLOWED_BETA).map((beta) =>
    `--betas has no effect for "${beta}": Claude Code takes ${ALLOWED_BETA} only`
  );
}

/** Adds the budget to an extra request body. Claude Code ignores a body that is no JSON object. */
function withTaskBudget(body: string, total: number): string {
  const others = parseJsonObject(body) ?? {};
  const config = isJsonObject(others["output_config"]) ? others["output_config"] : {};
  return JSON.stringify({
    ...others,
    output_config: { ...config, task_budget: { type: "tokens", total } },
  });
}

/** The API to which Claude Code would send its requests. */
export interface Upstream {
  readonly url: URL;
  /** Whether it is Anthropic's own API, for which Claude Code has more features. */
  readonly isFirstParty: boolean;
  /** The environment, overridden by the variables of settings. */
  readonly env: Environment;
}

/** Anthropic's own API. */
export const FIRST_PARTY = "https://api.anthropic.com";

/** Variables that make Claude Code use another API, or use it in a way that a relay cannot. */
const UNRELAYED: Readonly<Record<string, string>> = {
  CLAUDE_CODE_USE_BEDROCK: "Amazon Bedrock",
  CLAUDE_CODE_USE_MANTLE: "Amazon Bedrock",
  CLAUDE_CODE_USE_ANTHROPIC_AWS: "AWS",
  CLAUDE_CODE_USE_VERTEX: "Google Vertex AI",
  CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD: "Google Cloud",
  CLAUDE_CODE_USE_FOUNDRY: "Microsoft Foundry",
  CLAUDE_CODE_USE_GATEWAY: "a gateway of its own",
  ANTHROPIC_UNIX_SOCKET: "a Unix socket",
  CLAUDE_CODE_CLIENT_CERT: "with a certificate of its own",
};

const BASE_URL = "ANTHROPIC_BASE_URL";

/** A flag that puts a relay between Claude Code and its API. */
export type RelayFlag = "--exact-stream" | "--api-cassette" | "--deterministic" | "--record";

const SUGGESTIONS: Readonly<Record<RelayFlag, string>> = {
  "--exact-stream": "Leave out --exact-stream: text comes in whole lines then",
  "--api-cassette":
    "Leave out --api-cassette, or run where Claude Code asks the Messages API itself",
  "--deterministic":
    "Leave out --deterministic, or run where Claude Code asks the Messages API itself",
  "--record": "Run where Claude Code asks the Messages API itself",
};

/**
 * Finds the API that Claude Code uses in a run. The settings of a project also count (2.1.330).
 *
 * @param options.flag the flag that needs a relay, for the error
 * @throws {CliError} when Claude Code would not use a relay
 */
export function upstreamOf(
  { env, settings, flag }: {
    readonly env: Environment;
    readonly settings: readonly Settings[];
    readonly flag: RelayFlag;
  },
): Upstream {
  const suggestion = SUGGESTIONS[flag];
  const failed = flag === "--record" ? "Cannot record the API" : `Cannot honour ${flag}`;
  const all: Record<string, string> = { ...env };
  for (const { source, values: { env: variables } } of settings) {
    if (!isJsonObject(variables)) continue;
    for (const [name, value] of Object.entries(variables)) {
      if (name === BASE_URL && source === "managed") {
        throw new CliError(`${failed}: managed settings decide what ${BASE_URL} is`, {
          suggestion,
        });
      }
      if (typeof value === "string") all[name] = value;
    }
  }
  const unrelayed = Object.entries(UNRELAYED).find(([name]) => isOn(all[name]));
  if (unrelayed !== undefined) {
    const [name, api] = unrelayed;
    throw new CliError(`${failed}: ${name} lets Claude Code ask ${api}`, { suggestion });
  }
  const url = URL.parse(all[BASE_URL] || FIRST_PARTY);
  if (url === null || !/^https?:$/u.test(url.protocol)) {
    throw new CliError(`${failed}: ${BASE_URL} is no URL of the web`, {
      suggestion: `Set it to something like ${FIRST_PARTY}, or remove it`,
    });
  }
  return { url, isFirstParty: url.origin === FIRST_PARTY, env: all };
}

/** Whether Claude Code treats a variable of {@linkcode UNRELAYED} as set. It may be a path or a switch. */
function isOn(value: string | undefined): boolean {
  return value !== undefined && !["", "0", "false", "no", "off"].includes(value.toLowerCase());
}

/**
 * The variables that make a child use a relay instead of its API. `NO_PROXY` keeps it from reaching the relay through a
 * proxy.
 *
 * If the API is Anthropic's own, a variable says so, because Claude Code has fewer features for other addresses
 * (2.1.330).
 */
export function relayVariables(
  { isFirstParty, env }: Upstream,
  relayUrl: string,
): Readonly<Record<string, string>> {
  const exempt = env["no_proxy"] || env["NO_PROXY"];
  const noProxy = exempt ? `${exempt},127.0.0.1` : "127.0.0.1";
  return {
    [BASE_URL]: relayUrl,
    NO_PROXY: noProxy,
    no_proxy: noProxy,
    ...(isFirstParty ? { _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL: "1" } : {}),
  };
}
