/** The folder that a path's last part is in. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
