import { CliError } from "../../../cli_error.ts";
import { API_FOLDER, CAST_FILE, TAPE_FILE } from "../cassette_format.ts";

/** A cassette, or a tape by itself. */
export interface FoundCassette {
  readonly kind: "folder" | "tape";
  /** The cassette's folder, or the tape's file. */
  readonly path: string;
  /** What it is called: its path, or that of the folder in which a tape is with what belongs to it. */
  readonly name: string;
}

/** The tape in a folder with what belongs to it, as `claude-agent-cassette` lays it out. */
const INPUT_FILE = "input.jsonl";
/** What the name of a tape's file ends in. */
const TAPE = /\.jsonl$/u;
/** The cassettes of a conversation that went on with another Claude Code, in the folder of its first one. */
const NEXT_CASSETTE = /^[1-9]\d*$/u;
/** How many folders lie in one another at most. */
const DEEPEST = 12;

/**
 * Finds the cassettes and tapes that paths name: a file is a tape; a folder is a cassette, or holds some.
 *
 * A folder that is no cassette holds tapes (`*.jsonl`), or folders each of which is a cassette, has a tape
 * `input.jsonl` with what belongs to it, or holds some again. One that holds both is refused: some of it would be passed
 * over. Links that lead out of a folder are refused, other links in it are passed over.
 *
 * @param options.inputName the tape in each folder that has what belongs to it beside; then a folder's other tapes, and
 *   other parts of cassettes, do not count
 * @returns each once, in the order of the paths and then of the names; none where the folders hold none
 * @throws {CliError} for a path that does not exist or is another part of a cassette, and a folder that cannot be read or
 *   is laid out in two ways
 */
export function findCassettes(
  paths: readonly string[],
  options: { readonly inputName?: string } = {},
): readonly FoundCassette[] {
  const found = paths.flatMap((path) => foundAt(path, options));
  return [...new Map(found.map((one) => [one.path, one])).values()];
}

function foundAt(given: string, { inputName }: { readonly inputName?: string }) {
  const path = given.replace(/(?<=[^/])\/+$/u, "");
  if (isFolder(path)) {
    const root = Deno.realPathSync(path);
    return foundIn(path, { root, depth: 0, ...(inputName === undefined ? {} : { inputName }) });
  }
  if (/\.cast$|(?:^|\/)meta\.json$/u.test(path)) {
    throw new CliError(`Cannot take ${path} for a cassette: it is a part of one`, {
      suggestion: "Name the folder that it is in",
    });
  }
  return [{ kind: "tape", path, name: path }] as const;
}

interface Place {
  /** The folder that was named, without links. */
  readonly root: string;
  /** How far below that it is. */
  readonly depth: number;
  readonly inputName?: string;
}

function foundIn(folder: string, place: Place): readonly FoundCassette[] {
  const { files, folders } = entriesOf(folder, place);
  const { inputName } = place;
  if (inputName !== undefined) {
    if (!files.includes(inputName)) return below(folder, folders, place);
    const tape: FoundCassette = { kind: "tape", path: `${folder}/${inputName}`, name: folder };
    return place.depth > 0 ? [tape] : [tape, ...below(folder, folders, place)];
  }
  const isCassette = isCassetteOf({ files, folders });
  const tapes = files.filter((name) => TAPE.test(name) && !(isCassette && name === TAPE_FILE));
  const [tape, another] = tapes;
  if (isCassette) {
    if (tape !== undefined) throw mixed(folder, "a cassette", tape);
    const next = folders.filter((name) => NEXT_CASSETTE.test(name));
    return [{ kind: "folder", path: folder, name: folder }, ...below(folder, next, place)];
  }
  if (tape === undefined) return below(folder, folders, place);
  if (tapes.includes(INPUT_FILE)) {
    if (place.depth > 0) return [{ kind: "tape", path: `${folder}/${INPUT_FILE}`, name: folder }];
    // What a shell made of a `*` that stood for folders looks like a folder of tapes.
    if (another !== undefined) {
      throw mixed(folder, INPUT_FILE, tape === INPUT_FILE ? another : tape);
    }
  }
  const nested = folders.find((name) => isNested(`${folder}/${name}`, place));
  if (nested !== undefined) throw mixed(folder, `cassettes in folders (${nested})`, tape);
  return tapes.map((name) => `${folder}/${name}`)
    .map((path) => ({ kind: "tape", path, name: path }));
}

function below(folder: string, names: readonly string[], place: Place): readonly FoundCassette[] {
  return names.flatMap((name) =>
    foundIn(`${folder}/${name}`, { ...place, depth: place.depth + 1 })
  );
}

/** Whether a folder beside tapes is a cassette, or has the tape of one. */
function isNested(folder: string, place: Place): boolean {
  const entries = entriesOf(folder, { ...place, depth: place.depth + 1 });
  return isCassetteOf(entries) || entries.files.includes(INPUT_FILE);
}

function isCassetteOf({ files, folders }: Entries): boolean {
  return files.includes(CAST_FILE) || files.includes(TAPE_FILE) || folders.includes(API_FOLDER);
}

function mixed(folder: string, what: string, tape: string): CliError {
  return new CliError(
    `Cannot tell what is a cassette in ${folder}: it holds ${what} and tapes (${tape}) at once`,
    { suggestion: "Name the ones that you mean, or the tape in each folder by --input-name" },
  );
}

/** The names of what is in a folder, in their order. */
interface Entries {
  /** Whatever is no folder. */
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
    if (isSymlink) refuseWayOut(`${folder}/${name}`, root);
  }
  const real = entries.filter(({ isSymlink }) => !isSymlink);
  return {
    files: real.filter(({ isDirectory }) => !isDirectory).map(({ name }) => name),
    folders: real.filter(({ isDirectory }) => isDirectory).map(({ name }) => name),
  };
}

/** What a link inside the folder leads to is found there; what it leads to elsewhere would be passed over. */
function refuseWayOut(link: string, root: string): void {
  let target: string | undefined;
  try {
    target = Deno.realPathSync(link);
  } catch {
    // It leads nowhere.
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
