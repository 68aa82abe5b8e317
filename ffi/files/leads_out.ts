/**
 * Whether a path is a link that leads to something outside of the folder that it lies in. What leads nowhere does not, nor
 * does what cannot be looked at.
 */
export function leadsOut(path: string): boolean {
  try {
    if (!Deno.lstatSync(path).isSymlink) return false;
    const folder = Deno.realPathSync(path.slice(0, path.lastIndexOf("/") + 1) || ".");
    return !Deno.realPathSync(path).startsWith(folder === "/" ? "/" : `${folder}/`);
  } catch {
    return false;
  }
}
