/** A block of code in a text for people. */
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
