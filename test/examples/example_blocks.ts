import { type CodeBlock, codeBlocks } from "./code_blocks.ts";

/** A `ts` block, and the file it stands in, as a path from the root of the checkout. */
export interface ExampleBlock extends CodeBlock {
  readonly path: string;
}

/**
 * The `ts` blocks of Markdown files or of sources' doc comments, in order.
 *
 * @param paths from the root of the checkout
 */
export function exampleBlocks(paths: readonly string[]): readonly ExampleBlock[] {
  return paths.flatMap((path) => {
    const text = Deno.readTextFileSync(new URL(`../../${path}`, import.meta.url));
    return codeBlocks(text, "ts").map((block) => ({ ...block, path }));
  });
}
