const FOLDERS = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/** The path of a program of this machine, or undefined. */
export function findTool(name: string): string | undefined {
  return FOLDERS.map((folder) => `${folder}/${name}`).find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}

/** The name of a program, if this machine does not have it. */
export function missingTool(name: string): string | undefined {
  return findTool(name) === undefined ? name : undefined;
}
