/** The ids that a caller gave prompts, by those that they have in the transcript. */
export type GivenIds = Pick<ReadonlyMap<string, string>, "get" | "has" | "size">;

/** A value of JSON with the ids that the caller gave, wherever one of the transcript's stands alone. */
export function withGivenIds<Value>(value: Value, ids: GivenIds): Value {
  return (ids.size === 0 ? value : given(value, ids)) as Value;
}

function given(value: unknown, ids: GivenIds): unknown {
  if (typeof value === "string") return ids.get(value) ?? value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => given(item, ids));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, given(item, ids)]));
}
