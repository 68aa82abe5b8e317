/** The sources with examples in their doc comments, as paths from the root of the checkout. */
export const LIBRARY_SOURCES: readonly string[] = ["converse", "mod", "replay", "run", "run_error"]
  .map((name) => `src/library/${name}.ts`);
