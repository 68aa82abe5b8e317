/** Returns the file to which a path leads, through links; undefined if it does not exist or cannot be read. */
export function fileAt(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch {
    return undefined;
  }
}

/** Returns the entry at a path without following a link; undefined if it does not exist or cannot be read. */
export function entryAt(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch {
    return undefined;
  }
}

/** Removes a file if possible. A file that was renamed or never written is no error. */
export function tryRemove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // It does not exist, or its folder cannot be changed.
  }
}

/** Returns the names in a folder in no particular order; none if it cannot be read. */
export function namesIn(folder: string): readonly string[] {
  try {
    return Array.from(Deno.readDirSync(folder), ({ name }) => name);
  } catch {
    return [];
  }
}

/**
 * Returns true if a path is a link to a target outside of the folder that contains the link. A link without a target and an
 * unreadable path return false.
 */
export function linksOutside(path: string): boolean {
  try {
    if (!Deno.lstatSync(path).isSymlink) return false;
    const folder = Deno.realPathSync(path.slice(0, path.lastIndexOf("/") + 1) || ".");
    return !Deno.realPathSync(path).startsWith(folder === "/" ? "/" : `${folder}/`);
  } catch {
    return false;
  }
}
