/** A text that tells users what to type. */
export interface Page {
  /** From the root of the project. */
  readonly path: string;
  readonly text: string;
}

const ROOT = new URL("../../../", import.meta.url);

/** README.md and the pages below `docs`, these by name. */
export const PAGES: readonly Page[] = ["README.md", ...docs()].map((path) => ({
  path,
  text: Deno.readTextFileSync(new URL(path, ROOT)),
}));

function docs(): readonly string[] {
  const names = [...Deno.readDirSync(new URL("docs", ROOT))].map(({ name }) => name);
  return names.toSorted().map((name) => `docs/${name}`);
}
