/** A text that tells users what to type. */
export interface Page {
  /** From the root of the project. */
  readonly path: string;
  readonly text: string;
}

const ROOT = new URL("../../", import.meta.url);

/** README.md and the pages below `docs`, these by name. */
export const PAGES: readonly Page[] = ["README.md", ...pagesBelow("docs")].map((path) => ({
  path,
  text: Deno.readTextFileSync(new URL(path, ROOT)),
}));

function pagesBelow(folder: string): readonly string[] {
  return [...Deno.readDirSync(new URL(folder, ROOT))]
    .toSorted((one, other) => one.name < other.name ? -1 : 1)
    .flatMap(({ name, isDirectory }) =>
      isDirectory ? pagesBelow(`${folder}/${name}`) : [`${folder}/${name}`]
    );
}
