import { testsReaching } from "../import_graph.ts";
import { isPure } from "../layers.ts";

/** How many tests run first: most mutants are killed by those that are nearest. */
const NEAREST = 6;

/** How many tests of other modules run at most. */
const OTHERS = 12;

/**
 * Returns the pure tests that load a file: the nearest of its module, the others of its module, and those of other modules.
 *
 * @param module the module of the file
 */
export function testsFor(
  path: string,
  module: string,
): readonly (readonly string[])[] {
  const reaching = testsReaching([path]).filter(isPure);
  const own = reaching.filter((test) => test.startsWith(`test/${module}/`));
  const others = reaching.filter((test) => !own.includes(test));
  return [own.slice(0, NEAREST), own.slice(NEAREST), others.slice(0, OTHERS)]
    .filter((tests) => tests.length > 0);
}
