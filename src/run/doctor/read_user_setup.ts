import { readOwnJsonObject } from "../../sandbox/read_json_object.ts";
import { isJsonObject } from "../../json_object.ts";
import { findLogin, type Login } from "../../sandbox/child/login.ts";
import { readCredentials } from "../../sandbox/child/passed_credentials.ts";
import {
  readSettings,
  settingSources,
  soundSettings,
  valuesOf,
} from "../../sandbox/child/read_settings.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { locateUserConfig, type UserConfig } from "../../sandbox/user_config.ts";

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
