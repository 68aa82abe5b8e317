import { Buffer } from "node:buffer";

/** Characters that encoders of URLs leave as they are: by RFC 3986, of forms, of JavaScript, and the latter of whole URLs. */
const LEFT_IN_URLS = [
  ...[/[\w.~-]/u, /[\w.~/-]/u],
  /[\w.*-]/u,
  ...[/[\w.~!'()*-]/u, /[\w.~!'()*/-]/u],
  /[\w.~!'()*;,/?:@&=+$#-]/u,
];

/**
 * All spellings in which a secret is looked for: as it is, in JSON, in URLs, in hexadecimal digits, and in base64. What
 * base64 makes of a secret follows from its place among other bytes, as in `user:secret`: each of the three spellings
 * has the characters that hold nothing but bits of the secret.
 */
export function spellings(secret: string): ReadonlySet<string> {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");
  const base64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    return encoded.slice(Math.ceil(before * 8 / 6), Math.floor((before + bytes.length) * 8 / 6));
  });
  const inUrls = LEFT_IN_URLS.flatMap((left) => {
    const lower = Array.from(bytes, (byte) => {
      const character = String.fromCharCode(byte);
      return left.test(character) ? character : `%${byte.toString(16).padStart(2, "0")}`;
    }).join("");
    const upper = lower.replace(/%../gu, (escape) => escape.toUpperCase());
    return [lower, upper].flatMap((text) => [text, text.replaceAll("%20", "+")]);
  });
  return new Set([
    secret,
    JSON.stringify(secret).slice(1, -1),
    ...[hex, hex.toUpperCase()],
    ...base64.flatMap((text) => [text, text.replaceAll("+", "-").replaceAll("/", "_")]),
    ...inUrls,
  ]);
}
