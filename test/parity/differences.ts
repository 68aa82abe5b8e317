/** Most differences of one recording that are printed. */
const MOST_PRINTED = 10;

/** Longer values are shown around the first character that differs, with so many characters before and after it. */
const LONG = 400;
const AROUND = { before: 60, after: 200 };

/** Lists the paths at which two JSON values differ, with both values. */
export function differences(
  path: string,
  [one, other]: readonly [unknown, unknown],
  between = " instead of ",
): readonly string[] {
  const texts = [one, other].map((value) => JSON.stringify(value) ?? "nothing");
  const [text = "", otherText = ""] = texts;
  if (text === otherText) return [];
  const [keys, others] = [keysOf(one), keysOf(other)];
  // Items of lists of different lengths cannot be matched.
  const isComparable = keys !== undefined && others !== undefined &&
    Array.isArray(one) === Array.isArray(other) &&
    (!Array.isArray(one) || keys.length === others.length);
  if (isComparable) {
    return [...new Set([...keys, ...others])].flatMap((key) =>
      differences(`${path}.${key}`, [
        (one as Readonly<Record<string, unknown>>)[key],
        (other as Readonly<Record<string, unknown>>)[key],
      ], between)
    );
  }
  let at = 0;
  while (at < text.length && text[at] === otherText[at]) at++;
  const shown = texts.map((each) =>
    each.length <= LONG
      ? each
      : `…${each.slice(Math.max(0, at - AROUND.before), at + AROUND.after)}…`
  );
  return [`${path}: ${shown.join(between)}`];
}

/** Prints for the reviewer of a recording which fields have changed, from what to what. */
export function printChanges(name: string, values: readonly [unknown, unknown]): void {
  const found = differences(name, values, " -> ");
  const more = found.length - MOST_PRINTED;
  const lines = [...found.slice(0, MOST_PRINTED), ...more > 0 ? [`${name}: ${more} more`] : []];
  const text = lines.map((line) => `${line}\n`).join("");
  Deno.stderr.writeSync(new TextEncoder().encode(text));
}

function keysOf(value: unknown): readonly string[] | undefined {
  return typeof value === "object" && value !== null ? Object.keys(value) : undefined;
}
