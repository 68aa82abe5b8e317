/** Where two JSON values are not the same, and what they are there. */
export function differences(
  path: string,
  [one, other]: readonly [unknown, unknown],
): readonly string[] {
  if (JSON.stringify(one) === JSON.stringify(other)) return [];
  const [keys, others] = [keysOf(one), keysOf(other)];
  // Of lists that differ in length nobody knows what belongs to what.
  const isComparable = keys !== undefined && others !== undefined &&
    Array.isArray(one) === Array.isArray(other) &&
    (!Array.isArray(one) || keys.length === others.length);
  return isComparable
    ? [...new Set([...keys, ...others])].flatMap((key) =>
      differences(`${path}.${key}`, [
        (one as Readonly<Record<string, unknown>>)[key],
        (other as Readonly<Record<string, unknown>>)[key],
      ])
    )
    : [`${path}: ${JSON.stringify(one)} instead of ${JSON.stringify(other)}`];
}

function keysOf(value: unknown): readonly string[] | undefined {
  return typeof value === "object" && value !== null ? Object.keys(value) : undefined;
}
