import { askVersion } from "./ask_version.ts";
import { isScript } from "./is_script.ts";
import { refuseOldVersion } from "./refuse_old.ts";

/** Versions that have been asked for, by the executable, and by what the shim of a version manager goes by. */
const versions = new Map<string, string>();
const MOST_VERSIONS = 100;

/**
 * The version Claude Code gives itself, which this process asks for once, as long as the program is the same.
 *
 * @param options.trustsScripts whether a script is taken to start the same Claude Code as before
 * @param options.ask asks the program
 * @throws {CliError} as `askVersion` does, and for a version that is too old
 */
export async function knownVersion(
  binary: string,
  env: Readonly<Record<string, string>>,
  { cwd, trustsScripts = false, ask = askVersion }: {
    readonly cwd: string;
    readonly trustsScripts?: boolean;
    readonly ask?: typeof askVersion;
  },
): Promise<string | undefined> {
  const program = !trustsScripts && isScript(binary) ? undefined : identityOf(binary);
  const askNow = async () => {
    const version = await ask(binary, env, { cwd });
    refuseOldVersion(version);
    return version;
  };
  if (program === undefined) return await askNow();
  // Deno names variables in another order each time.
  const key = JSON.stringify([program, cwd, Object.entries(env).toSorted()]);
  const known = versions.get(key);
  if (known !== undefined) return known;
  const version = await askNow();
  if (version !== undefined && versions.size < MOST_VERSIONS) versions.set(key, version);
  return version;
}

/** What of an executable is another one as soon as it is; undefined for one that cannot be looked at. */
function identityOf(binary: string): readonly unknown[] | undefined {
  try {
    const { dev, ino, size, mtime, ctime } = Deno.statSync(binary);
    return [Deno.realPathSync(binary), dev, ino, size, mtime, ctime];
  } catch {
    return undefined;
  }
}
