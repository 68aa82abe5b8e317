import { dirname, join } from "node:path/posix";

/**
 * What is wrong with the links of a Markdown file that lead to this project: one line for each that leads nowhere.
 *
 * They have to be relative to the file, which is what both the repository and the package's page understand.
 *
 * @param path from the root of the project
 * @param read the text of a file, empty for a folder; undefined where there is none
 */
export function linkProblems(
  path: string,
  read: (path: string) => string | undefined,
): readonly string[] {
  return links(read(path) ?? "").flatMap((link) => {
    if (/^https:\/\//u.test(link)) return [];
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? path : join(dirname(path), file);
    if (/^(?:[a-z]+:|\/)/u.test(file) || target.startsWith("..")) {
      return [`${link} is neither relative nor https`];
    }
    const text = read(target);
    if (text === undefined) return [`${link}: there is no ${target}`];
    if (anchor === undefined || anchors(text).includes(anchor)) return [];
    return [`${link}: ${target} has no such heading`];
  });
}

/** Where the links and pictures of a Markdown file lead to. */
function links(text: string): readonly string[] {
  return [...withoutBlocks(text).matchAll(/\]\(([^)\s]*)[^)]*\)|^\[[^\]]+\]: *(\S+)/gmu)].map(
    ([, inline, reference]) => inline ?? reference ?? "",
  );
}

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

/** A Markdown file without its fenced blocks, in which nothing is a heading or a link. */
function withoutBlocks(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```$/gmsu, "");
}
