import { isJsonObject, type JsonObject, readJsonObject } from "./json_object.ts";
import type { Environment, UserConfig } from "./user_config.ts";

/** Variables that name an account, a key or another provider by themselves. */
const LOGIN_VARIABLES = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "CLAUDE_CODE_USE_BEDROCK",
  "CLAUDE_CODE_USE_FOUNDRY",
  "CLAUDE_CODE_USE_VERTEX",
] as const;

/**
 * Whether Claude Code has anything to log in with: a variable, a stored login, a stored key or a key helper.
 *
 * Only its presence is looked at. An expired access token is a login, because Claude Code refreshes it.
 *
 * @param options.settings every settings object that applies to the run
 */
export function hasLogin(options: {
  readonly env: Environment;
  readonly userConfig: UserConfig;
  readonly claudeJson: JsonObject | undefined;
  readonly settings: readonly JsonObject[];
}): boolean {
  const variables = [options.env, ...options.settings.map(({ env }) => env).filter(isJsonObject)];
  if (variables.some((env) => LOGIN_VARIABLES.some((name) => isFilled(env[name])))) return true;
  if (options.settings.some(({ apiKeyHelper }) => isFilled(apiKeyHelper))) return true;
  if (isFilled(options.claudeJson?.["primaryApiKey"])) return true;
  const stored = readJsonObject(`${options.userConfig.loginDir}/.credentials.json`);
  const oauth = stored?.["claudeAiOauth"];
  return isJsonObject(oauth) && (isFilled(oauth["accessToken"]) || isFilled(oauth["refreshToken"]));
}

function isFilled(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
