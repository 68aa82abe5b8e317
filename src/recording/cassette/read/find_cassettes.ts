import { CliError } from "../../../cli_error.ts";
import { API_FOLDER, CAST_FILE, TAPE_FILE } from "../cassette_format.ts";

/** A cassette, or a tape without a cassette. */
export interface FoundCassette {
  readonly kind: "folder" | "tape";
  /** The cassette's folder, or the tape's file. */
  readonly path: string;
  /** The name for the user: the path; for a tape in a folder with other files, the path of the folder. */
  readonly name: string;
}

/** The tape of a folder in the layout of `claude-agent-cassette`. */
const INPUT_FILE = "input.jsonl";
const TAPE = /\.jsonl$/u;
/** Folders with the cassettes of a conversation's later children, inside the first child's cassette. */
const NEXT_CASSETTE = /^[1-9]\d*$/u;
/** The maximum number of folder levels that are searched. */
const DEEPEST = 12;

/**
 * Finds the cassettes and tapes at paths. A file is a tape. A folder is a cassette or contains some.
 *
 * A folder that is no cassette contains tapes (`*.jsonl`), or folders of which each is a cassette, has a tape
 * `input.jsonl` with other files, or contains more folders. A folder with both layouts is an error, because one of
 * them would be skipped. Links out of a folder are errors; other links are skipped.
 *
 * @param options.inputName the name of the tape in each folder; other tapes and cassettes are then ignored
 * @returns each one once, in the order of the paths and then of the names
 * @throws {CliError} for a path that does not exist or is another part of a cassette, for a folder that cannot be
 * read, and for a folder with two layouts
 */
export function findCassettes(
  paths: readonly string[],
  options: { readonly inputName?: string | undefined } = {},
): readonly FoundCassette[] {
  const found = paths.flatMap((path) => findAt(path, options));
  return [...new Map(found.map((one) => [one.path, one])).values()];
}

function findAt(given: string, { inputName }: { readonly inputName?: string | undefined }) {
  const path = given.replace(/(?<=[^/])\/+$/u, "");
  if (isFolder(path)) {
    const root = Deno.realPathSync(path);
    return findIn(path, { root, depth: 0, inputName });
  }
  if (/\.cast$|(?:^|\/)meta\.json$/u.test(path)) {
    throw new CliError(`Cannot take ${path} for a cassette: it is a part of one`, {
      suggestion: "Name the folder that it is in",
    });
  }
  return [{ kind: "tape", path, name: path }] as const;
}

interface Place {
  /** The real path of the folder that the user named. */
  readonly root: string;
  /** The level below the search root. */
  readonly depth: number;
  readonly inputName?: string | undefined;
}

function findIn(folder: string, place: Place): readonly FoundCassette[] {
  const { files, folders } = entriesOf(folder, place);
  const { inputName } = place;
  if (inputName !== undefined) {
    if (!files.includes(inputName)) return findBelow(folder, folders, place);
    const tape: FoundCassette = { kind: "tape", path: `${folder}/${inputName}`, name: folder };
    return place.depth > 0 ? [tape] : [tape, ...findBelow(folder, folders, place)];
  }
  const isCassette = isCassetteOf({ files, folders });
  const tapes = files.filter((name) => TAPE.test(name) && !(isCassette && name === TAPE_FILE));
  const [tape, another] = tapes;
  if (isCassette) {
    if (tape !== undefined) throw mixedLayout(folder, "a cassette", tape);
    const next = folders.filter((name) => NEXT_CASSETTE.test(name));
    return [{ kind: "folder", path: folder, name: folder }, ...findBelow(folder, next, place)];
  }
  if (tape === undefined) return findBelow(folder, folders, place);
  if (tapes.includes(INPUT_FILE)) {
    if (place.depth > 0) return [{ kind: "tape", path: `${folder}/${INPUT_FILE}`, name: folder }];
    // A shell that expands `*` into folders produces the same arguments.
    if (another !== undefined) {
      throw mixedLayout(folder, INPUT_FILE, tape === INPUT_FILE ? another : tape);
    }
  }
  const nested = folders.find((name) => isNested(`${folder}/${name}`, place));
  if (nested !== undefined) throw mixedLayout(folder, `cassettes in folders (${nested})`, tape);
  return tapes.map((name) => `${folder}/${name}`)
    .map((path) => ({ kind: "tape", path, name: path }));
}

function findBelow(
  folder: string,
  names: readonly string[],
  place: Place,
): readonly FoundCassette[] {
  return names.flatMap((name) => findIn(`${folder}/${name}`, { ...place, depth: place.depth + 1 }));
}

/** Whether a folder is a cassette, or has a tape in the nested layout. */
function isNested(folder: string, place: Place): boolean {
  const entries = entriesOf(folder, { ...place, depth: place.depth + 1 });
  return isCassetteOf(entries) || entries.files.includes(INPUT_FILE);
}

function isCassetteOf({ files, folders }: Entries): boolean {
  return files.includes(CAST_FILE) || files.includes(TAPE_FILE) || folders.includes(API_FOLDER);
}

function mixedLayout(folder: string, what: string, tape: string): CliError {
  return new CliError(
    `Cannot tell what is a cassette in ${folder}: it holds ${what} and tapes (${tape}) at once`,
    { suggestion: "Name the ones that you mean, or the tape in each folder by --input-name" },
  );
}

/** The sorted names in a folder. */
interface Entries {
  /** All entries that are no folders. */
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

function entriesOf(folder: string, { root, depth }: Place): Entries {
  if (depth > DEEPEST) {
    throw new CliError(`Cannot look for cassettes in ${folder}: it is too deep`, {
      suggestion: "Name a folder that is nearer to them",
    });
  }
  let entries: readonly Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(folder)].toSorted((a, b) => a.name < b.name ? -1 : 1);
  } catch (cause) {
    throw new CliError(`Cannot look for cassettes in ${folder}: ${(cause as Error).message}`, {
      suggestion: "Name a folder that you may read",
      cause,
    });
  }
  for (const { name, isSymlink } of entries) {
    if (isSymlink) refuseOutsideLink(`${folder}/${name}`, root);
  }
  const real = entries.filter(({ isSymlink }) => !isSymlink);
  return {
    files: real.filter(({ isDirectory }) => !isDirectory).map(({ name }) => name),
    folders: real.filter(({ isDirectory }) => isDirectory).map(({ name }) => name),
  };
}

/**
 * Throws for a link to a tape or folder outside the search root. The search finds the target of an inside link without
 * the link.
 */
function refuseOutsideLink(link: string, root: string): void {
  let target: string | undefined;
  try {
    target = Deno.realPathSync(link);
  } catch {
    // The target does not exist.
  }
  const isInside = target === root || target?.startsWith(`${root.replace(/\/$/u, "")}/`);
  const matters = TAPE.test(link) || (target !== undefined && isFolderThere(target));
  if (isInside || !matters) return;
  throw new CliError(`Cannot look for cassettes behind ${link}: the link leads out of the folder`, {
    suggestion: "Name what it leads to, or remove it",
  });
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch (cause) {
    const why = cause instanceof Deno.errors.NotFound
      ? "it does not exist"
      : (cause as Error).message;
    throw new CliError(`Cannot read ${path}: ${why}`, {
      suggestion: "Name a tape, a cassette, or a folder of them",
      cause,
    });
  }
}

function isFolderThere(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}
