import { type Redact, REDACTED } from "./redact_pieces.ts";

/** Levels of a value that are kept: what a recording is read with takes some more. */
const MOST_DEPTH = 400;
const TOO_DEEP = "[nested too deeply]";

/**
 * Creates what redacts JSON values: every string in them, every name of a field, and whatever text a field holds whose
 * name says that it is a secret.
 */
export function createValueRedactor(redact: Redact): <Value>(value: Value) => Value {
  const secretNames = new Map<string, boolean>();
  /** Whether a redactor that sees this name with any value takes the value out. */
  const isSecret = (name: string): boolean => {
    const known = secretNames.get(name);
    if (known !== undefined) return known;
    const field = JSON.stringify({ [name]: "whatever it is" });
    const secret = redact(field) !== field;
    secretNames.set(name, secret);
    return secret;
  };
  const redacted = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") return redact(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > MOST_DEPTH) return TOO_DEEP;
    if (Array.isArray(value)) return value.map((item) => redacted(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        redact(name),
        typeof item === "string" && item !== "" && isSecret(name)
          ? REDACTED
          : redacted(item, depth + 1),
      ]),
    );
  };
  return <Value>(value: Value) => redacted(value, 0) as Value;
}
