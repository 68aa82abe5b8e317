import { askVersion, refuseOldVersion } from "../../claude/program/claude_version.ts";
import { findClaude } from "../../claude/program/find_claude.ts";
import { useLearntProfiles } from "../../claude/program/learnt_profiles.ts";
import {
  hasProfile,
  isNewerThanProfiles,
  PROFILED_VERSIONS,
} from "../../claude/versions/profiles.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { type Check, failedCheck, formatDuration, skippedCheck } from "./check_report.ts";
import { readOwnJsonObject } from "../../sandbox/read_json_object.ts";
import { isJsonObject } from "../../json_object.ts";
import {
  findLogin,
  locateUserConfig,
  type Login,
  noLoginError,
  type UserConfig,
} from "../../sandbox/user_config.ts";
import { readCredentials } from "../../sandbox/child/passed_credentials.ts";
import {
  readSettings,
  settingSources,
  soundSettings,
  valuesOf,
} from "../../sandbox/child/read_settings.ts";
import { FIRST_PARTY } from "../plan/api_variables.ts";

/**
 * Checks the Claude Code that a run would start.
 *
 * @throws {CliError} when there is none
 */
export async function claudeCheck(options: {
  readonly named: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
}): Promise<Check> {
  const binary = findClaude(options);
  const version = await askVersion(binary, options.env);
  const { warnings: [problem] } = await useLearntProfiles(options.env);
  const check = versionCheck({ binary, version });
  return problem === undefined ? check : { ...check, detail: `${check.detail}. ${problem}` };
}

/** @param options.version the version that the executable prints; undefined if it is another program */
function versionCheck(
  { binary, version }: { readonly binary: string; readonly version: string | undefined },
): Check {
  const name = "claude";
  if (version === undefined) {
    return {
      name,
      ok: false,
      detail: `Cannot use "${binary}": it is not Claude Code`,
      suggestion: "Name Claude Code's executable with --claude-binary",
      data: { binary },
    };
  }
  const data = { binary, version, profiles: PROFILED_VERSIONS };
  try {
    refuseOldVersion(version);
  } catch (error) {
    return { ...failedCheck(name, error), data };
  }
  const detail = `${version} in ${binary}`;
  if (!isNewerThanProfiles(version)) return { name, ok: true, detail, data };
  const newest = PROFILED_VERSIONS.at(-1);
  return hasProfile(version)
    ? { name, ok: true, detail: `${detail}, newer than ${newest}, and learnt`, data }
    : {
      name,
      ok: true,
      detail: `${detail}, newer than the newest known version (${newest})`,
      suggestion: "Measure it once, so that runs print all that it does: claude-print learn",
      data,
    };
}

/** The login and the API of a run in this folder. */
interface UserSetup {
  readonly userConfig: UserConfig;
  readonly login: Login | undefined;
  /** The value of `ANTHROPIC_BASE_URL` from settings and environment. */
  readonly baseUrl: string | undefined;
}

/**
 * Reads the environment, the user's config dir and the project's settings.
 *
 * @throws {CliError} when the config dir is unknown
 */
export async function readUserSetup(
  { env, cwd }: { readonly env: Environment; readonly cwd: string },
): Promise<UserSetup> {
  const userConfig = locateUserConfig(env);
  const read = await readSettings({
    projectRoot: cwd,
    home: env["HOME"],
    userDir: userConfig.dir,
    sources: settingSources(undefined),
    sharesLocal: true,
  });
  const settings = valuesOf(soundSettings(read));
  const claudeJson = readOwnJsonObject(userConfig.claudeJson);
  // Variables of settings override the environment.
  const baseUrl = [env, ...settings.map(({ env }) => env).filter(isJsonObject)]
    .map((variables) => variables["ANTHROPIC_BASE_URL"])
    .findLast((url) => typeof url === "string" && url !== "");
  return {
    userConfig,
    login: findLogin({
      env,
      credentials: await readCredentials(env),
      userConfig,
      claudeJson,
      settings,
    }),
    baseUrl: typeof baseUrl === "string" ? baseUrl : undefined,
  };
}

/**
 * Checks whether Claude Code has a login that has not expired. Only the API knows whether a key or token is still valid.
 *
 * @param now milliseconds since the epoch
 */
export function loginCheck(
  { login, userConfig }: Pick<UserSetup, "login" | "userConfig">,
  now: number,
): Check {
  const name = "login";
  if (login === undefined) return failedCheck(name, noLoginError(userConfig));
  switch (login.kind) {
    case "variable":
      return { name, ok: true, detail: `${login.name} is set`, data: { source: login.name } };
    case "helper":
      return {
        name,
        ok: true,
        detail: "the apiKeyHelper of the settings gives the key",
        data: { source: "apiKeyHelper" },
      };
    case "key":
      return { name, ok: true, detail: "an API key is stored", data: { source: "stored key" } };
    case "stored":
      return storedLoginCheck(login, now);
    default:
      return login satisfies never;
  }
}

function storedLoginCheck(login: Extract<Login, { kind: "stored" }>, now: number): Check {
  const name = "login";
  const { subscription, expiresAt, refreshable, refreshableUntil } = login;
  const data = {
    source: "claude /login",
    subscription: subscription ?? null,
    expires_at: isoTime(expiresAt),
    refreshable,
    refreshable_until: isoTime(refreshableUntil),
  };
  const what = subscription === undefined ? "stored" : `${subscription} subscription`;
  if (expiresAt === undefined) return { name, ok: true, detail: what, data };
  if (expiresAt > now) {
    const detail = `${what}, expires in ${formatDuration(expiresAt - now)}`;
    return { name, ok: true, detail, data };
  }
  if (refreshable && (refreshableUntil === undefined || refreshableUntil > now)) {
    const detail = `${what}, expired: Claude Code refreshes it in the next run`;
    return { name, ok: true, detail, data };
  }
  return {
    name,
    ok: false,
    detail: `Cannot log in to Claude: the login expired ${formatDuration(now - expiresAt)} ago`,
    suggestion: "Run: claude /login",
    data,
  };
}

/** A time in ISO 8601; null if it is no date. */
function isoTime(ms: number | undefined): string | null {
  return ms === undefined || Number.isNaN(new Date(ms).getTime())
    ? null
    : new Date(ms).toISOString();
}

/** How long the API may take to answer, in milliseconds. */
const LIMIT_MS = 5000;

/**
 * Checks whether the API can be reached. Any HTTP response counts; the request has no login. Deno's `fetch` reads
 * `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`.
 *
 * @param options.baseUrl the value of `ANTHROPIC_BASE_URL`
 * @param options.stop ends the wait
 */
export async function apiCheck(options: {
  readonly baseUrl: string | undefined;
  readonly stop: AbortSignal;
}): Promise<Check> {
  const name = "api";
  const address = URL.parse(options.baseUrl || FIRST_PARTY);
  if (address === null || !/^https?:$/u.test(address.protocol)) {
    return {
      name,
      ok: false,
      detail: "Cannot reach the API: ANTHROPIC_BASE_URL is no URL of the web",
      suggestion: `Set it to something like ${FIRST_PARTY}, or remove it`,
      data: {},
    };
  }
  // Other parts of the URL may be secret.
  const url = address.origin;
  address.username = address.password = "";
  const startedAt = performance.now();
  const limit = AbortSignal.timeout(LIMIT_MS);
  try {
    const { status, body } = await fetch(address, {
      method: "HEAD",
      redirect: "manual",
      signal: AbortSignal.any([limit, options.stop]),
    });
    await body?.cancel();
    const ms = Math.round(performance.now() - startedAt);
    const detail = `${url} answers (${status}), ${ms} ms`;
    return { name, ok: true, detail, data: { url, status, ms } };
  } catch (error) {
    if (options.stop.aborted) return skippedCheck(name, "interrupted");
    const why = limit.aborted ? `no answer in ${LIMIT_MS / 1000} s` : rootCause(error);
    return {
      name,
      ok: false,
      detail: `Cannot reach ${url}: ${why}`,
      suggestion: /certificate/iu.test(why)
        ? "Set NODE_EXTRA_CA_CERTS to the certificate of your proxy"
        : "Look at the network, HTTPS_PROXY and ANTHROPIC_BASE_URL; --offline leaves this out",
      data: { url },
    };
  }
}

/** The last reason in an error of Deno's `fetch`. The earlier reasons repeat the complete URL. */
function rootCause(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  const { message } = (cause instanceof Error ? cause : error) as Error;
  const certificate = /invalid peer certificate: .*/su.exec(message)?.[0];
  return (certificate ?? message.split(": ").at(-1) ?? message).replace(/ \(os error \d+\)$/u, "");
}
