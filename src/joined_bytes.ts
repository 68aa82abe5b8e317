/** Concatenates bytes. A single part is returned as it is, without a copy. */
export function joinedBytes<Buffer extends ArrayBufferLike>(
  parts: readonly Uint8Array<Buffer>[],
): Uint8Array<Buffer | ArrayBuffer> {
  const [only, second] = parts;
  if (only !== undefined && second === undefined) return only;
  const whole = new Uint8Array(parts.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
