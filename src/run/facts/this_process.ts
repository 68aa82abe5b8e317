import { CliError } from "../../cli_error.ts";

/**
 * What keeps Deno from reading modules before they are needed, which are more than half of them: a run starts 30 ms
 * sooner.
 */
const LATE = "--unstable-lazy-dynamic-imports";

/**
 * What has V8 compile all of a module at once. Deno caches a module's code before it is run, and so without the functions
 * that V8 compiles when they are called first, a thousand in each run: with them in the cache a start takes 7 to 10 ms less
 * of processor time and a run some 20 less, and one that has to do without the cache none more.
 */
const EAGER = "--v8-flags=--no-lazy";

/** Keeps Deno from asking dl.deno.land once a day for a newer version, which only a variable can (2.9.6). */
const WITHOUT_UPDATE_CHECK = ["/usr/bin/env", "DENO_NO_UPDATE_CHECK=1"];

/**
 * This program as a command: the executable it is, or Deno with what it runs.
 *
 * Deno's cache of code is used, which saves some 12 ms of each start. Of 220 starts on a terminal, up to 40 of them at once,
 * none could not open it, which Deno 2.9.6 would say there even if told to be quiet, and nowhere else.
 */
export function thisProgram(): readonly string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const { mainModule } = Deno;
  // A module from elsewhere must not be read by the settings of whatever folder it is called in.
  const alone = mainModule.startsWith("file:") ? [] : ["--no-config", "--no-lock"];
  const deno = [Deno.execPath(), "run", "-A", "--quiet", LATE, EAGER];
  return [...WITHOUT_UPDATE_CHECK, ...deno, ...alone, mainModule];
}

/**
 * The working directory.
 *
 * @param suggestion what to do where there is none to work in
 * @throws {CliError} when it has been removed, has a name that is not UTF-8, or lies where no path leads
 */
export function currentFolder(suggestion = "Change to another folder: cd ~"): string {
  const attempt = "Cannot work in the current folder";
  let path: string;
  try {
    path = Deno.cwd();
  } catch (cause) {
    const why = cause instanceof Deno.errors.InvalidData
      ? "its path is not UTF-8"
      : cause instanceof Deno.errors.NotFound
      ? "it no longer exists"
      : cause instanceof Error
      ? cause.message
      : String(cause);
    throw new CliError(`${attempt}: ${why}`, { suggestion, cause });
  }
  if (path.startsWith("/")) return path;
  // getcwd(3) puts "(unreachable)" before the path of a folder outside of the process's root.
  throw new CliError(`${attempt}: no path leads to it from "/"`, { suggestion });
}
