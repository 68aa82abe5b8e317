import { dirname } from "node:path";

/** A folder for a test, removed when it is disposed of. */
export interface TempFolder extends Disposable {
  readonly path: string;
  /** The names in it, sorted. */
  readonly names: () => readonly string[];
}

/** Makes a folder with files by their paths; a path that ends in a slash is a folder. */
export function tempFolder(files: Readonly<Record<string, string>> = {}): TempFolder {
  const path = Deno.realPathSync(Deno.makeTempDirSync());
  for (const [name, text] of Object.entries(files)) {
    const at = `${path}/${name}`;
    Deno.mkdirSync(name.endsWith("/") ? at : dirname(at), { recursive: true });
    if (!name.endsWith("/")) Deno.writeTextFileSync(at, text);
  }
  return {
    path,
    names: () => Array.from(Deno.readDirSync(path), ({ name }) => name).sort(),
    [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }),
  };
}
