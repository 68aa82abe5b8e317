import { codeBlocks } from "../examples/code_blocks.ts";

const README = Deno.readTextFileSync(new URL("../../README.md", import.meta.url));

/** The code blocks of the README in a language, in order. */
export function blocks(language: string): readonly string[] {
  return codeBlocks(README, language).map(({ code }) => code);
}
