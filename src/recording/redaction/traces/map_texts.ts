/** Levels of a JSON value that are gone through: what a recording is read with takes no more. */
const MOST_DEPTH = 1000;

/**
 * A JSON value with other texts: of each string and each name of a field what a function makes of it. Where nothing
 * changes, it is the same value.
 *
 * @param change takes a text and, of one that is the value of a field, the field's name
 */
export function mapTexts<Value>(value: Value, change: Change): Value {
  return mapped(value, change, { depth: 0 }) as Value;
}

type Change = (text: string, field?: string) => string;

function mapped(
  value: unknown,
  change: Change,
  { field, depth }: { readonly field?: string; readonly depth: number },
): unknown {
  if (typeof value === "string") return change(value, field);
  if (typeof value !== "object" || value === null || depth > MOST_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapped(item, change, { depth: depth + 1 }));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  let isSame = true;
  const fields = new Map<string, unknown>();
  for (const [name, item] of Object.entries(value)) {
    const other = mapped(item, change, { field: name, depth: depth + 1 });
    const plain = change(name);
    let key = plain;
    // Two names that have become one are told apart: no field is lost.
    for (let number = 2; fields.has(key); number++) key = `${plain}-${number}`;
    fields.set(key, other);
    if (key !== name || other !== item) isSame = false;
  }
  return isSame ? value : Object.fromEntries(fields);
}
