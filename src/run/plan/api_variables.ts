import { CliError } from "../../cli_error.ts";
import type { Settings } from "../../sandbox/child/read_settings.ts";
import { type Environment, isSwitchedOn } from "../../sandbox/environment.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { RunOrder } from "./run_order.ts";

/** What Claude Code would ask, and how. */
export interface Upstream {
  readonly url: URL;
  /** Whether it is Anthropic's own API, for which Claude Code does more than for others. */
  readonly isFirstParty: boolean;
  /** The variables of the environment and of the settings together, which win. */
  readonly env: Environment;
}

/** Anthropic's own API. */
export const FIRST_PARTY = "https://api.anthropic.com";

/** Variables with which Claude Code speaks to somebody else than the Messages API, or by another way than the network. */
const ELSEWHERE: Readonly<Record<string, string>> = {
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

const WITHOUT: Readonly<Record<RelayFlag, string>> = {
  "--exact-stream": "Leave out --exact-stream: text comes in whole lines then",
  "--api-cassette":
    "Leave out --api-cassette, or run where Claude Code asks the Messages API itself",
  "--deterministic":
    "Leave out --deterministic, or run where Claude Code asks the Messages API itself",
  "--record": "Run where Claude Code asks the Messages API itself",
};

/**
 * Which API Claude Code asks in a run, by its environment and settings (2.1.330: those of a project count
 * too).
 *
 * @throws {CliError} where nothing can be put between the two
 */
export function upstreamOf(
  { env, settings, flag }: {
    readonly env: Environment;
    readonly settings: readonly Settings[];
    /** Why somebody asks. */
    readonly flag: RelayFlag;
  },
): Upstream {
  const suggestion = WITHOUT[flag];
  const failed = flag === "--record" ? "Cannot record the API" : `Cannot honour ${flag}`;
  const all: Record<string, string> = { ...env };
  for (const { source, values: { env: variables } } of settings) {
    if (!isJsonObject(variables)) continue;
    for (const [name, value] of Object.entries(variables)) {
      if (name === BASE_URL && source === "managed") {
        throw new CliError(
          `${failed}: managed settings decide what ${BASE_URL} is`,
          { suggestion },
        );
      }
      if (typeof value === "string") all[name] = value;
    }
  }
  const elsewhere = Object.entries(ELSEWHERE).find(([name]) => isOn(all[name]));
  if (elsewhere !== undefined) {
    const [name, what] = elsewhere;
    throw new CliError(`${failed}: ${name} lets Claude Code ask ${what}`, {
      suggestion,
    });
  }
  const given = all[BASE_URL] || FIRST_PARTY;
  const url = URL.parse(given);
  if (url === null || !/^https?:$/u.test(url.protocol)) {
    throw new CliError(`${failed}: ${BASE_URL} is no URL of the web`, {
      suggestion: `Set it to something like ${FIRST_PARTY}, or remove it`,
    });
  }
  return { url, isFirstParty: url.origin === FIRST_PARTY, env: all };
}

/** Whether a variable switches something on, as Claude Code reads it. */
function isOn(value: string | undefined): boolean {
  return value !== undefined && !["", "0", "false", "no", "off"].includes(value.toLowerCase());
}

/**
 * What a child has to be told to ask a relay in the place of its upstream.
 *
 * Loopback is never asked through a proxy. For Anthropic's own API Claude Code goes on as if it asked it directly, which
 * it does not for other addresses (2.1.330).
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

/**
 * A variable as Claude Code has it: what settings say of it comes before the caller's environment, the last ones first.
 *
 * @param options.settings what Claude Code reads for the run
 */
export function namedVariable(
  name: string,
  { env, settings }: { readonly env: Environment; readonly settings: readonly JsonObject[] },
): string {
  const all = settings.map(({ env }) => isJsonObject(env) ? env[name] : undefined);
  const last = all.findLast((value) => typeof value === "string");
  return typeof last === "string" ? last : env[name] ?? "";
}

/** Keeps Claude Code from automatic memory, which grows from run to run. */
export const WITHOUT_MEMORY = "CLAUDE_CODE_DISABLE_AUTO_MEMORY";

/**
 * What lets Claude Code say the same in each run, with `--deterministic` (2.1.330): no memory, no state of
 * the project's repository, and no line with which it says what it is, in which there is a checksum of the rest. The
 * relay sees to what it cannot be told to leave out.
 */
export function sameRequests(
  { deterministic }: { readonly deterministic?: RunOrder["deterministic"] | undefined },
): Environment {
  return deterministic !== true ? {} : {
    [WITHOUT_MEMORY]: "1",
    CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS: "1",
    CLAUDE_CODE_ATTRIBUTION_HEADER: "0",
  };
}

/** Whether Claude Code traces its turns as OpenTelemetry spans. */
export function tracesSpans(
  { env }: Pick<RunOrder, "env">,
  settings: readonly JsonObject[],
): boolean {
  const isOn = (name: string) => isSwitchedOn(namedVariable(name, { env, settings }));
  return isOn("CLAUDE_CODE_ENABLE_TELEMETRY") &&
    (isOn("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA") || isOn("ENABLE_ENHANCED_TELEMETRY_BETA"));
}
