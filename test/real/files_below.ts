/**
 * Reads all files below a folder, by their path in it. A byte is a character, so that any file
 * compares exactly. Of a symbolic link the target is read.
 */
export function filesBelow(folder: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const visit = (inner: string) => {
    for (const { name } of Deno.readDirSync(`${folder}/${inner}`)) {
      const path = inner === "" ? name : `${inner}/${name}`;
      if (Deno.statSync(`${folder}/${path}`).isDirectory) visit(path);
      else found.set(path, bytesOf(`${folder}/${path}`));
    }
  };
  visit("");
  return found;
}

const latin1 = new TextDecoder("latin1");

function bytesOf(path: string): string {
  return latin1.decode(Deno.readFileSync(path));
}
