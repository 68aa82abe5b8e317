/** Calls a function with a new folder that has these files, by their paths, and removes the folder. */
export function inFolder<T>(
  files: Readonly<Record<string, string>>,
  use: (folder: string) => T,
): T {
  const folder = Deno.realPathSync(Deno.makeTempDirSync());
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = `${folder}/${name}`;
      Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      Deno.writeTextFileSync(path, text);
    }
    return use(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}
