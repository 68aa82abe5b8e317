import { damagedLine } from "./damaged_line.ts";

/**
 * Reads a text that holds a JSON value a line.
 *
 * @param options.path the file, for errors
 * @throws {CassetteError} when a line is no JSON, or the last one was cut short
 */
export function parseLines(text: string, options: { readonly path: string }): readonly unknown[] {
  const lines = text.split("\n");
  const rest = lines.pop() ?? "";
  if (rest !== "") throw damagedLine(lines.length + 1, { ...options, what: "it was cut short" });
  return lines.map((line, index): unknown => {
    try {
      return JSON.parse(line);
    } catch (cause) {
      throw damagedLine(index + 1, { ...options, what: "it is not JSON", cause });
    }
  });
}
