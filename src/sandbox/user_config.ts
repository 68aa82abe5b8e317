import { CliError } from "../cli_error.ts";
import { type Environment, pathVariable } from "./environment.ts";
import { readOwnJsonObject } from "./read_json_object.ts";
import { isJsonObject, type JsonObject } from "../json_object.ts";
import type { PassedCredential } from "./child/passed_credentials.ts";

/** The paths of the user's own Claude Code. */
export interface UserConfig {
  /** The config dir: settings, transcripts, memory. */
  readonly dir: string;
  /** The `.claude.json` with accounts, trusted folders and user-level MCP servers. */
  readonly claudeJson: string;
  /** The folder whose `.credentials.json` holds the login, read and refreshed there. */
  readonly loginDir: string;
}

/** Set for the child, so that a claude-print which one of its tools starts finds the user's config dir and not the sandbox. */
export const USER_CONFIG_VARIABLE = "CLAUDE_PRINT_USER_CONFIG_DIR";

/**
 * Finds the user's config dir as Claude Code does: `CLAUDE_CONFIG_DIR`, else `.claude` in the home folder.
 *
 * `CLAUDE_SECURESTORAGE_CONFIG_DIR` moves the login alone; empty, it means `.claude` in the home folder.
 *
 * @throws {CliError} if neither a variable nor a home folder is known, or the path is not UTF-8
 */
export function locateUserConfig(env: Environment): UserConfig {
  const configured = pathVariable(env, USER_CONFIG_VARIABLE) ??
    pathVariable(env, "CLAUDE_CONFIG_DIR") ?? "";
  const storage = pathVariable(env, "CLAUDE_SECURESTORAGE_CONFIG_DIR");
  const isHomeNeeded = configured === "" || storage === "";
  const home = isHomeNeeded ? pathVariable(env, "HOME") : undefined;
  if (configured === "" && (home === undefined || home === "")) {
    throw new CliError("Cannot find the login of Claude Code: HOME is not set", {
      suggestion: "Set HOME, or CLAUDE_CONFIG_DIR to the config dir of Claude Code",
    });
  }
  const dir = configured === "" ? `${home}/.claude` : configured;
  return {
    dir,
    claudeJson: configured === "" ? `${home}/.claude.json` : `${dir}/.claude.json`,
    loginDir: storage === undefined ? dir : storage === "" ? `${home}/.claude` : storage,
  };
}

/** The kind of credentials with which Claude Code logs in, without the secret itself. */
export type Login =
  /** A variable of the environment or of the settings that names a provider, a key or a token. */
  | { readonly kind: "variable"; readonly name: string }
  /** The `apiKeyHelper` of the settings. */
  | { readonly kind: "helper" }
  /** The login that `claude /login` stored. */
  | {
    readonly kind: "stored";
    /** For example "max" or "pro". */
    readonly subscription: string | undefined;
    /** When the access token expires, in milliseconds since the epoch. */
    readonly expiresAt: number | undefined;
    /** Whether Claude Code can refresh the access token. */
    readonly refreshable: boolean;
    /** Until when it can, in milliseconds since the epoch; since 2.1.330. */
    readonly refreshableUntil: number | undefined;
  }
  /** The API key that `claude /login` stored. */
  | { readonly kind: "key" };

/** Variables that Claude Code prefers to a key helper. */
const FIRST_VARIABLES = [
  "CLAUDE_CODE_USE_BEDROCK",
  "CLAUDE_CODE_USE_FOUNDRY",
  "CLAUDE_CODE_USE_VERTEX",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_API_KEY",
] as const;

/** The variable that Claude Code uses if there is no key helper. */
const LAST_VARIABLE = "CLAUDE_CODE_OAUTH_TOKEN";

/** The descriptor that Claude Code prefers to a key helper; other descriptors come last. */
export const KEY_DESCRIPTOR = "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR";

/**
 * Finds the login that Claude Code will use; undefined if there is none. It tries the kinds of login in the order of
 * Claude Code 2.1.330 (measured).
 *
 * Checks only that a login exists. An expired access token counts, because Claude Code refreshes it.
 *
 * @param options.credentials the credentials from descriptors
 * @param options.settings every settings object that applies to the run
 * @throws {UnfitFileError} if the file of the stored login is not a regular file
 */
export function findLogin(options: {
  readonly env: Environment;
  readonly credentials: readonly PassedCredential[];
  readonly userConfig: UserConfig;
  readonly claudeJson: JsonObject | undefined;
  readonly settings: readonly JsonObject[];
}): Login | undefined {
  // Claude Code reads this file with every kind of login.
  const stored = readOwnJsonObject(`${options.userConfig.loginDir}/.credentials.json`);
  const variables = [options.env, ...options.settings.map(({ env }) => env).filter(isJsonObject)];
  const isSet = (name: string) => variables.some((env) => isFilled(env[name]));
  const first = FIRST_VARIABLES.find(isSet);
  if (first !== undefined) return { kind: "variable", name: first };
  const passed = options.credentials.map(({ variable }) => variable);
  if (passed.includes(KEY_DESCRIPTOR)) return { kind: "variable", name: KEY_DESCRIPTOR };
  if (options.settings.some(({ apiKeyHelper }) => isFilled(apiKeyHelper))) {
    return { kind: "helper" };
  }
  if (isSet(LAST_VARIABLE)) return { kind: "variable", name: LAST_VARIABLE };
  const [token] = passed;
  if (token !== undefined) return { kind: "variable", name: token };
  const oauth = stored?.["claudeAiOauth"];
  if (
    isJsonObject(oauth) && (isFilled(oauth["accessToken"]) || isFilled(oauth["refreshToken"]))
  ) {
    const { subscriptionType, expiresAt, refreshTokenExpiresAt } = oauth;
    return {
      kind: "stored",
      subscription: isFilled(subscriptionType) ? subscriptionType : undefined,
      expiresAt: typeof expiresAt === "number" ? expiresAt : undefined,
      refreshable: isFilled(oauth["refreshToken"]),
      refreshableUntil: typeof refreshTokenExpiresAt === "number"
        ? refreshTokenExpiresAt
        : undefined,
    };
  }
  return isFilled(options.claudeJson?.["primaryApiKey"]) ? { kind: "key" } : undefined;
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Returns the error for a missing login. */
export function noLoginError({ loginDir }: UserConfig): CliError {
  return new CliError(`Cannot log in to Claude: there is no login in ${loginDir}`, {
    suggestion: "Run: claude /login, or set CLAUDE_CODE_OAUTH_TOKEN or ANTHROPIC_API_KEY",
  });
}
