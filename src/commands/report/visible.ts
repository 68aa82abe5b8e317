import { nameUnseen } from "../../redaction/name_unseen.ts";

/** Most characters of a line that are told: what says more says it to a machine. */
const LONGEST_LINE = 32 * 1024;

/**
 * A text in which nothing but line ends and tabs can move a cursor, colour, reorder or hide anything: what nobody sees
 * is named, as `<U+001B>`. A line of any length is cut.
 */
export function visible(text: string): string {
  return nameUnseen(text.split("\n").map(cut).join("\n"), { keep: "\n\t" });
}

function cut(line: string): string {
  const more = line.length - LONGEST_LINE;
  return more > 0 ? `${line.slice(0, LONGEST_LINE)}<${more} more characters>` : line;
}
