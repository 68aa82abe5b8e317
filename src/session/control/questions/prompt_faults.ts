import { isJsonObject } from "../../../json_object.ts";

/** A value that is another one than is wanted. */
type Fault = Readonly<Record<string, unknown>>;

/** What 2.1.197 says of an answer that neither allows nor denies, as it was read; null for one that is no JSON. */
export function promptFaults(said: unknown): string {
  const errors = isJsonObject(said)
    ? [
      [
        ...behaviour(said["behavior"], "allow"),
        ...(isJsonObject(said["updatedInput"])
          ? []
          : [otherType("record", said["updatedInput"], ["updatedInput"])]),
      ],
      [
        ...behaviour(said["behavior"], "deny"),
        ...(typeof said["message"] === "string"
          ? []
          : [otherType("string", said["message"], ["message"])]),
      ],
    ]
    : [[otherType("object", said, [])], [otherType("object", said, [])]];
  return JSON.stringify(
    [{ code: "invalid_union", errors, path: [], message: "Invalid input" }],
    null,
    2,
  );
}

function behaviour(said: unknown, wanted: string): readonly Fault[] {
  return said === wanted ? [] : [{
    code: "invalid_value",
    values: [wanted],
    path: ["behavior"],
    message: `Invalid input: expected "${wanted}"`,
  }];
}

function otherType(expected: string, said: unknown, path: readonly string[]): Fault {
  const received = said === null ? "null" : Array.isArray(said) ? "array" : typeof said;
  const message = `Invalid input: expected ${expected}, received ${received}`;
  return { expected, code: "invalid_type", path, message };
}
