import type { Environment } from "../environment.ts";
import { removeEmpty, removeFolder } from "../on_disk.ts";
import { parentOf } from "../paths.ts";
import { places } from "../places/places.ts";
import { locateUserConfig } from "../user_config.ts";
import { privateFolderFailure } from "./folder_failure.ts";
import { makePrivateFolder } from "./private_folder.ts";
import { sweep } from "./sweep.ts";

/**
 * A folder for what a command needs while it works, which is gone with it: where the command is killed, it is swept as a
 * run's folder is. What others have left that were killed goes first.
 *
 * @param options.place the folder in which it is made; `TMPDIR` by default
 * @throws {CliError} when it cannot be made
 */
export function borrowFolder(
  env: Environment,
  options: { readonly place?: string } = {},
): Disposable & { readonly path: string } {
  const all = places(env);
  const { place = all[0] } = options;
  sweep({ places: [...new Set([place, ...all])], userConfigDir: locateUserConfig(env).dir });
  const path = made(place);
  return {
    path,
    [Symbol.dispose]: () => {
      removeFolder(path);
      removeEmpty(parentOf(path));
    },
  };
}

function made(tmp: string): string {
  try {
    return makePrivateFolder(tmp).path;
  } catch (cause) {
    throw privateFolderFailure(tmp, cause);
  }
}
