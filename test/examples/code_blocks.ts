/** The sources with examples in their doc comments, as paths from the root of the checkout. */
export const LIBRARY_SOURCES: readonly string[] = [
  ...["mod", "open_conversation", "recordings", "run", "run_output"],
]
  .map((name) => `src/library/${name}.ts`);

/** A block of code in Markdown or in a doc comment. */
export interface CodeBlock {
  readonly code: string;
  /** The line on which its first line of code stands, from 1. */
  readonly line: number;
}

/**
 * Finds the fenced blocks of a language in a Markdown file, or in the doc comments of a TypeScript file.
 *
 * A fence with more than the language, such as `ts ignore`, opens no block.
 */
export function codeBlocks(text: string, language: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let lines: string[] | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const bare = line.replace(/^ *\* ?/u, "");
    if (lines === undefined) {
      if (bare.trim() === `\`\`\`${language}`) lines = [];
    } else if (bare.trim() === "```") {
      blocks.push({ code: `${lines.join("\n")}\n`, line: index + 1 - lines.length });
      lines = undefined;
    } else {
      lines.push(bare);
    }
  }
  return blocks;
}

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
