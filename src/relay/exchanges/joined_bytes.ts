type Bytes = Uint8Array<ArrayBuffer>;

/** Bytes one behind the other. */
export function joinedBytes(parts: readonly Bytes[]): Bytes {
  const whole = new Uint8Array(parts.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
