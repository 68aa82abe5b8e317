/** What is at a path, or at the end of the links that it leads to; undefined where nothing can be seen. */
export function fileAt(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch {
    return undefined;
  }
}

/** What is at a path itself, be it a link; undefined where nothing can be seen. */
export function entryAt(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch {
    return undefined;
  }
}

/** Removes a file if possible: one that was renamed or never written is no error. */
export function tryRemove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // It does not exist, or its folder cannot be changed.
  }
}

/** The names in a folder, in no order; none where it cannot be read. */
export function namesIn(folder: string): readonly string[] {
  try {
    return Array.from(Deno.readDirSync(folder), ({ name }) => name);
  } catch {
    return [];
  }
}

/**
 * Whether a path is a link that leads to something outside of the folder that it lies in. What leads nowhere does not, nor
 * does what cannot be looked at.
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
