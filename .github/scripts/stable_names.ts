/** `run-J2PTNO6K.js`: the name that a bundler gives a part of a program, and the hash it adds. */
const HASHED = /^(.+)-[0-9A-Z]{8}\.js$/u;

/** A comment that tells where below a Deno cache an npm package lay. */
const NPM_PATH = /^\/\/ .*\/npm\/[^/\n]+\/(?=.+$)/gmu;

/** The same, in the name that a CommonJS module of one has among those that require it. */
const NPM_MODULE = /^ {2}"[^"\n]*\/npm\/[^"/\n]+\/(?=[^"\n]+"\([^()\n]*\) \{$)/gmu;

/**
 * The files of a bundle without any trace of the machine that made it: no folder of its Deno cache, and no hash in a
 * name, which that folder goes into as well.
 *
 * @param files the text of every file, by name
 * @param entry the file that everything is reached from
 */
export function stableNames(
  files: ReadonlyMap<string, string>,
  entry: string,
): ReadonlyMap<string, string> {
  const names = new Map([[entry, entry]]);
  const taken = new Map<string, number>();
  // A map keeps its order, and what is added meanwhile comes at its end.
  for (const file of names.keys()) {
    for (const imported of importsOf(files.get(file) ?? "")) {
      if (names.has(imported) || !files.has(imported)) continue;
      const stem = HASHED.exec(imported)?.[1] ?? imported;
      const count = (taken.get(stem) ?? 0) + 1;
      taken.set(stem, count);
      names.set(imported, `${stem}-${count}.js`);
    }
  }
  return new Map([...names].map(([file, name]) => {
    const text = (files.get(file) ?? "").replaceAll(NPM_PATH, "// npm:")
      .replaceAll(NPM_MODULE, '  "npm:')
      .replaceAll(IMPORT, (whole, imported: string) => {
        const renamed = names.get(imported);
        return renamed === undefined ? whole : `"./${renamed}"`;
      });
    return [name, text];
  }));
}

const IMPORT = /"\.\/([^"/\n]+\.js)"/gu;

function importsOf(text: string): readonly string[] {
  return [...text.matchAll(IMPORT)].map(([, name = ""]) => name);
}
