import { namesIn } from "../../../ffi/files/at_path.ts";
import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { CliError } from "../../cli_error.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { parentOf } from "../../sandbox/paths.ts";
import { wholePath } from "../../whole_path.ts";
import { isOurUnit, type UnitFile } from "./unit_files.ts";

/** The largest unit that is looked at, in bytes. */
const LARGEST_UNIT = 1_000_000;

const DROP_IN = "systemctl --user edit claude-print.service";

/**
 * The folder of this user's own units; see systemd.unit(5).
 *
 * @throws {CliError} when no home is known
 */
export function unitFolder(env: Environment): string {
  const { XDG_CONFIG_HOME: config = "", HOME: home = "" } = env;
  if (config.startsWith("/")) return `${config}/systemd/user`;
  if (home.startsWith("/")) return `${home}/.config/systemd/user`;
  throw new CliError("Cannot tell where units of systemd go: HOME is not set", {
    suggestion: "Set HOME to your home directory",
  });
}

/**
 * Writes units in the place of those that were written before, if any.
 *
 * @returns the paths
 * @throws {CliError} when something else is in the place of one, or the folder cannot be written to; nothing is changed
 * then
 */
export function installUnits(folder: string, units: readonly UnitFile[]): readonly string[] {
  const files = units.map(({ name, text }) => ({ path: `${folder}/${name}`, text }));
  for (const { path } of files) refuseForeign(path, "install the server");
  const unfinished: string[] = [];
  try {
    Deno.mkdirSync(folder, { recursive: true });
    for (const { path, text } of files) {
      const temporary = `${path}.${crypto.randomUUID()}`;
      unfinished.push(temporary);
      Deno.writeTextFileSync(temporary, text, { createNew: true, mode: 0o644 });
    }
    for (const [at, { path }] of files.entries()) Deno.renameSync(unfinished[at] as string, path);
  } catch (error) {
    for (const path of unfinished) removeIfThere(path);
    throw new CliError(`Cannot install the server: ${(error as Error).message}`, {
      suggestion: "Set XDG_CONFIG_HOME to a folder that you may write to",
      cause: error,
    });
  }
  return files.map(({ path }) => path);
}

/**
 * Removes units that were written by `installUnits`, and what `systemctl enable` has made of them.
 *
 * @returns the paths of those that were there
 * @throws {CliError} when something else is in the place of one, or it cannot be removed
 */
export function uninstallUnits(folder: string, names: readonly string[]): readonly string[] {
  const paths = names.map((name) => `${folder}/${name}`)
    .filter((path) => refuseForeign(path, "uninstall the server") === "ours");
  for (const path of paths) {
    try {
      for (const link of linksTo(path)) Deno.removeSync(link);
      Deno.removeSync(path);
    } catch (error) {
      throw new CliError(`Cannot uninstall the server: ${(error as Error).message}`, {
        suggestion: `Remove ${path} by hand`,
        cause: error,
      });
    }
  }
  return paths;
}

/** Where `systemctl enable` has linked a unit to. */
function linksTo(path: string): readonly string[] {
  const folder = parentOf(path);
  return namesIn(folder).filter((name) => name.endsWith(".wants"))
    .map((name) => `${folder}/${name}${path.slice(folder.length)}`)
    .filter((link) => leadsTo(link, path));
}

function leadsTo(link: string, path: string): boolean {
  try {
    return wholePath(Deno.readLinkSync(link), parentOf(link)) === path;
  } catch {
    return false;
  }
}

/** What is at a path: a unit that was written here, or nothing. */
function refuseForeign(path: string, action: string): "ours" | "nothing" {
  const foreign = (why: string, cause?: unknown) =>
    new CliError(`Cannot ${action}: "${path}" ${why}`, {
      suggestion: `Move it away; what you want otherwise goes into a file beside it: ${DROP_IN}`,
      cause,
    });
  try {
    // A link of somebody's is not replaced, whatever it leads to.
    if (Deno.lstatSync(path).isSymlink) throw foreign("is a link");
    const text = new TextDecoder().decode(readRegularFile(path, { limit: LARGEST_UNIT }));
    if (isOurUnit(text)) return "ours";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return "nothing";
    }
    if (error instanceof UnfitFileError) throw foreign(`cannot be read: ${error.reason}`, error);
    throw error;
  }
  throw foreign("was written or changed by somebody else");
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // It was renamed, or never written.
  }
}
