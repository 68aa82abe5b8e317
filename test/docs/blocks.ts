import { codeBlocks } from "../examples/code_blocks.ts";
import { PAGES } from "./pages.ts";

/** The code blocks of all pages in a language, in order. */
export function blocks(language: string): readonly string[] {
  return PAGES.flatMap(({ text }) => codeBlocks(text, language).map(({ code }) => code));
}
