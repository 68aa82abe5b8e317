import { createValueRedactor } from "../redaction/redact_pieces.ts";

/**
 * What is made of a value that is nested too deeply to be scrubbed, where somebody only looks for secrets: itself, unless
 * there is one in it, however deep.
 */
export function keptWithoutSecrets(redact: (text: string) => string): (value: object) => unknown {
  const redactFields = createValueRedactor(redact);
  /** One level of a value: what is in its objects is looked at by itself. */
  const hasSecret = (item: object): boolean => {
    const flat = Object.entries(item).filter(([, held]) => typeof held === "string");
    const fields = Array.isArray(item) ? flat.map(([, text]) => text) : Object.fromEntries(flat);
    return Object.keys(item).some((name) => redact(name) !== name) ||
      JSON.stringify(redactFields(fields)) !== JSON.stringify(fields);
  };
  return (value) => {
    const left: unknown[] = [value];
    while (left.length > 0) {
      const item = left.pop();
      if (typeof item !== "object" || item === null) continue;
      if (hasSecret(item)) return "[redacted]";
      for (const held of Object.values(item)) left.push(held);
    }
    return value;
  };
}
