import { askVersion, refuseOldVersion } from "../../claude/program/claude_version.ts";
import { findClaude } from "../../claude/program/find_claude.ts";
import { useLearntProfiles } from "../../claude/program/learnt_profiles.ts";
import {
  hasProfile,
  isNewerThanProfiles,
  PROFILED_VERSIONS,
} from "../../claude/versions/profiles.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { type Check, durationInWords, failedCheck, skippedCheck } from "./check_report.ts";
import { readOwnJsonObject } from "../../sandbox/read_json_object.ts";
import { isJsonObject } from "../../json_object.ts";
import { findLogin, type Login, noLoginError } from "../../sandbox/child/login.ts";
import { readCredentials } from "../../sandbox/child/passed_credentials.ts";
import {
  readSettings,
  settingSources,
  soundSettings,
  valuesOf,
} from "../../sandbox/child/read_settings.ts";
import { locateUserConfig, type UserConfig } from "../../sandbox/user_config.ts";
import { FIRST_PARTY } from "../plan/api_variables.ts";

/**
 * Whether there is a Claude Code that the program can drive: the one that a run would start.
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
  const check = claudeVerdict({ binary, version });
  return problem === undefined ? check : { ...check, detail: `${check.detail}. ${problem}` };
}

/**
 * Says whether an executable is a Claude Code that the program can drive.
 *
 * @param version what it gives itself as its version; `undefined` when it is something else
 */
function claudeVerdict(
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

/** What the user has told Claude Code about logins and the API, as a run in this folder would find it. */
interface UserSetup {
  readonly userConfig: UserConfig;
  readonly login: Login | undefined;
  /** The address of the API, unless it is the usual one. */
  readonly baseUrl: string | undefined;
}

/**
 * Reads the user's setup from the environment, the user's config dir and the project's settings.
 *
 * @throws {CliError} when there is no telling where the config dir is
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
  // Variables of the settings win over those of the environment.
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
 * Says whether Claude Code can log in, and until when; whether a key or a token is still good only the API knows.
 *
 * @param now milliseconds since the epoch
 */
export function loginVerdict(
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
      return storedLoginVerdict(login, now);
    default:
      return login satisfies never;
  }
}

function storedLoginVerdict(login: Extract<Login, { kind: "stored" }>, now: number): Check {
  const name = "login";
  const { subscription, expiresAt, refreshable, refreshableUntil } = login;
  const data = {
    source: "claude /login",
    subscription: subscription ?? null,
    expires_at: time(expiresAt),
    refreshable,
    refreshable_until: time(refreshableUntil),
  };
  const what = subscription === undefined ? "stored" : `${subscription} subscription`;
  if (expiresAt === undefined) return { name, ok: true, detail: what, data };
  if (expiresAt > now) {
    const detail = `${what}, expires in ${durationInWords(expiresAt - now)}`;
    return { name, ok: true, detail, data };
  }
  if (refreshable && (refreshableUntil === undefined || refreshableUntil > now)) {
    const detail = `${what}, expired: Claude Code refreshes it in the next run`;
    return { name, ok: true, detail, data };
  }
  return {
    name,
    ok: false,
    detail: `Cannot log in to Claude: the login expired ${durationInWords(now - expiresAt)} ago`,
    suggestion: "Run: claude /login",
    data,
  };
}

/** ISO 8601, as far as dates go. */
function time(ms: number | undefined): string | null {
  return ms === undefined || Number.isNaN(new Date(ms).getTime())
    ? null
    : new Date(ms).toISOString();
}

/** Time the API may take to answer at all, in milliseconds. */
const LIMIT_MS = 5000;

/**
 * Whether the API can be reached: any answer in HTTP will do, and no login goes along.
 *
 * `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` count as they do for Deno's `fetch`.
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
  // What else the URL holds may be a secret.
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
    const why = limit.aborted ? `no answer in ${LIMIT_MS / 1000} s` : reason(error);
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

/** The end of the chain of reasons in what Deno's `fetch` throws, whose beginning repeats the whole URL. */
function reason(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  const { message } = (cause instanceof Error ? cause : error) as Error;
  const certificate = /invalid peer certificate: .*/su.exec(message)?.[0];
  return (certificate ?? message.split(": ").at(-1) ?? message).replace(/ \(os error \d+\)$/u, "");
}
