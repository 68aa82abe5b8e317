import { withoutBlocks } from "./without_blocks.ts";

/** What `#…` can name in a Markdown file, in order: its headings, as GitHub spells them. */
export function anchors(text: string): readonly string[] {
  const seen = new Map<string, number>();
  return [...withoutBlocks(text).matchAll(/^#{1,6} +(.*)$/gmu)].map(([, heading = ""]) => {
    const anchor = heading
      .trim()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/gu, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{M}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-");
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
}
