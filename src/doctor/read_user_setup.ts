import { isJsonObject, readJsonObject, readOwnJsonObject } from "../sandbox/json_object.ts";
import { findLogin, type Login } from "../sandbox/login.ts";
import { projectSettings } from "../sandbox/project_settings.ts";
import { type Environment, locateUserConfig, type UserConfig } from "../sandbox/user_config.ts";

/** What the user has told Claude Code about logins and the API, as a run in this folder would find it. */
export interface UserSetup {
  readonly userConfig: UserConfig;
  readonly login: Login | undefined;
  /** The address of the API, unless it is the usual one. */
  readonly baseUrl: string | undefined;
}

/**
 * Reads the user's setup from the environment, the user's config dir and the project's settings.
 *
 * @throws {SandboxError} when there is no telling where the config dir is
 */
export function readUserSetup(
  { env, cwd }: { readonly env: Environment; readonly cwd: string },
): UserSetup {
  const userConfig = locateUserConfig(env);
  const userSettings = readJsonObject(`${userConfig.dir}/settings.json`);
  const settings = [...projectSettings(cwd), ...(userSettings === undefined ? [] : [userSettings])];
  const claudeJson = readOwnJsonObject(userConfig.claudeJson);
  // Variables of the settings win over those of the environment.
  const baseUrl = [...settings.map(({ env }) => env).filter(isJsonObject), env]
    .map((variables) => variables["ANTHROPIC_BASE_URL"])
    .find((url) => typeof url === "string" && url !== "");
  return {
    userConfig,
    login: findLogin({ env, userConfig, claudeJson, settings }),
    baseUrl: typeof baseUrl === "string" ? baseUrl : undefined,
  };
}
