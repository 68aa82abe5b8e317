import { realPath } from "../../paths.ts";
import { CliError } from "../../cli_error.ts";
import { findCassettes, type FoundCassette } from "../cassette/read/find_cassettes.ts";
import { cassetteParts } from "./cassette_parts.ts";
import { scrubCassette, type ScrubCassetteOptions, type ScrubReport } from "./scrub_cassette.ts";

/** The result of scrubbing into a folder. */
interface ScrubbedCopies {
  readonly reports: readonly (readonly [name: string, report: ScrubReport])[];
  /** Files in the same folders that were not copied, because they are no parts. */
  readonly leftOut: readonly string[];
}

/**
 * Scrubs cassettes and tapes into a new folder. One cassette becomes the folder itself; several get their names in
 * it; cassettes inside a folder keep their places. The originals stay as they are.
 *
 * The folder appears once all of them are scrubbed, or not at all.
 *
 * @throws {CliError} if the folder has files or is inside an original, or a part cannot be read or written
 */
export function scrubInto(
  out: string,
  { paths, inputName, ...options }: Omit<ScrubCassetteOptions, "to"> & {
    readonly paths: readonly string[];
    readonly inputName?: string | undefined;
  },
): ScrubbedCopies {
  const folder = out.replace(/(?<=[^/])\/+$/u, "");
  const found = paths.flatMap((path) =>
    findCassettes([path], { inputName }).map((one) => ({
      one,
      root: path.replace(/(?<=[^/])\/+$/u, ""),
    }))
  );
  refuseInside(folder, found.map(({ one, root }) => one.kind === "tape" ? one.path : root));
  const several = paths.length > 1;
  const targets = new Map<string, FoundCassette>();
  for (const { one, root } of found) {
    const target = targetOf(one, { root, several });
    const other = targets.get(target);
    if (other !== undefined && Deno.realPathSync(other.path) !== Deno.realPathSync(one.path)) {
      throw new CliError(
        `Cannot scrub in ${folder}: ${other.name} and ${one.name} are called alike`,
        {
          suggestion: "Scrub one after the other, with an --out for each",
        },
      );
    }
    targets.set(target, other ?? one);
  }
  using fresh = openEmptyFolder(folder, "--out");
  const reports = [...targets].map(([target, one]) =>
    [one.name, scrubCassette(one, { ...options, to: fresh.unfinished + target })] as const
  );
  fresh.finish();
  return {
    reports,
    leftOut: otherFiles(
      found.filter(({ one, root }) => one.path !== root || one.kind === "folder"),
    ),
  };
}

/** The path of a copy inside the folder. */
function targetOf(
  { kind, path }: FoundCassette,
  { root, several }: { readonly root: string; readonly several: boolean },
): string {
  const isRoot = path === root;
  const name = several || (isRoot && kind === "tape") ? `/${realBaseName(root)}` : "";
  return isRoot ? name : name + path.slice(root.length);
}

function realBaseName(path: string): string {
  return Deno.realPathSync(path).replace(/^.*\//u, "");
}

function refuseInside(folder: string, roots: readonly string[]): void {
  const parent = realPath(folder.includes("/") ? folder.replace(/\/[^/]*$/u, "") || "/" : ".");
  const place = `${parent}/${folder.replace(/^.*\//u, "")}`.replace(/^\/\//u, "/");
  for (const root of roots) {
    const real = Deno.realPathSync(root);
    if (place !== real && !place.startsWith(`${real.replace(/\/$/u, "")}/`)) continue;
    throw new CliError(`Cannot scrub in ${folder}: it is in ${root}, which is to stay as it is`, {
      suggestion: "Give --out a folder somewhere else",
    });
  }
}

/** Files next to cassettes and tapes that are no parts of them. */
function otherFiles(within: readonly { readonly one: FoundCassette }[]): readonly string[] {
  const found = within.map(({ one }) => one);
  const own = new Set(found.flatMap((one) => [one.path, ...Object.values(cassetteParts(one))]));
  const folders = new Set(
    found.map(({ kind, path }) => kind === "folder" ? path : path.replace(/\/?[^/]*$/u, "") || "."),
  );
  return [...folders].flatMap((folder) =>
    [...Deno.readDirSync(folder)].filter(({ isDirectory }) => !isDirectory)
      .map(({ name }) => `${folder}/${name}`)
      .filter((path) => !own.has(path) && !own.has(path.replace(/^\.\//u, "")))
  ).toSorted();
}

/** An empty folder that is filled at once. */
interface EmptyFolder extends Disposable {
  /** The path of a hidden subfolder. Files are written there first, and moved up by `finish`. */
  readonly unfinished: string;
  /**
   * Moves everything into the folder.
   *
   * @throws {CliError} if that fails
   */
  readonly finish: () => void;
}

/**
 * Claims a folder: creates it with mode 0700, or takes an empty one. Without `finish()` it is left as it was.
 *
 * @param flag the flag that names the folder
 * @throws {CliError} if the folder has files or cannot be created
 */
function openEmptyFolder(folder: string, flag: string): EmptyFolder {
  const failed = `Cannot scrub in ${folder}`;
  const attempt = (act: () => void) => {
    try {
      act();
    } catch (cause) {
      const isGone = cause instanceof Deno.errors.NotFound;
      throw new CliError(
        `${failed}: ${isGone ? "the folder above it does not exist" : (cause as Error).message}`,
        { suggestion: `Give ${flag} a new folder in one that is yours`, cause },
      );
    }
  };
  const isThere = isEmpty(folder, { failed, flag });
  if (!isThere) attempt(() => Deno.mkdirSync(folder, { mode: 0o700 }));
  // A hidden subfolder keeps other processes from claiming the folder.
  const unfinished = `${folder}/.unfinished`;
  attempt(() => Deno.mkdirSync(unfinished, { mode: 0o700 }));
  let isDone = false;
  return {
    unfinished,
    finish: () => {
      attempt(() => {
        for (const { name } of [...Deno.readDirSync(unfinished)]) {
          Deno.renameSync(`${unfinished}/${name}`, `${folder}/${name}`);
        }
      });
      isDone = true;
    },
    [Symbol.dispose]: () => {
      tryRemoveFolder(unfinished, { recursive: true });
      if (!isDone && !isThere) tryRemoveFolder(folder, { recursive: false });
    },
  };
}

/** False if the folder does not exist. */
function isEmpty(
  folder: string,
  { failed, flag }: { readonly failed: string; readonly flag: string },
): boolean {
  const suggestion = `Give ${flag} a folder that does not exist yet, or an empty one`;
  try {
    if ([...Deno.readDirSync(folder)].length === 0) return true;
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return false;
    const isFile = cause instanceof Deno.errors.NotADirectory;
    const why = isFile ? "it is not a folder" : (cause as Error).message;
    throw new CliError(`${failed}: ${why}`, { suggestion, cause });
  }
  throw new CliError(`${failed}: there is something in it`, { suggestion });
}

function tryRemoveFolder(folder: string, options: Deno.RemoveOptions): void {
  try {
    Deno.removeSync(folder, options);
  } catch {
    // Another process changed the folder.
  }
}
