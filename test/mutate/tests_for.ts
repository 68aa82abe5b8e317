import { loadedWith, testsReaching } from "../import_graph.ts";

/** How many tests run first: most mutants are killed by those that are nearest. */
const NEAREST = 6;

/** How many tests of other modules run at most. */
const OTHERS = 12;

const cache = new Map<string, boolean>();

/**
 * Returns the pure tests that load a file: the nearest of its module, the others of its module, and those of other modules.
 *
 * @param options.modules all pure modules
 * @param options.module the module of the file
 */
export function testsFor(
  path: string,
  { modules, module }: { readonly modules: readonly string[]; readonly module: string },
): readonly (readonly string[])[] {
  const reaching = testsReaching([path]).filter(startsNoProcess);
  const own = reaching.filter((test) => test.startsWith(`test/${module}/`));
  const others = reaching.filter((test) =>
    !own.includes(test) && modules.some((each) => test.startsWith(`test/${each}/`))
  );
  return [own.slice(0, NEAREST), own.slice(NEAREST), others.slice(0, OTHERS)]
    .filter((tests) => tests.length > 0);
}

/** Whether neither a test file nor the helpers that it loads start a process. */
function startsNoProcess(test: string): boolean {
  return [...loadedWith(test).keys()].every((path) => {
    if (!/^(?:test|fixtures)\/.*\.ts$/u.test(path)) return true;
    const known = cache.get(path) ?? !Deno.readTextFileSync(path).includes("new Deno.Command(");
    cache.set(path, known);
    return known;
  });
}
