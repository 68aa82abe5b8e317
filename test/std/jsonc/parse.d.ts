/** A value that JSON can express. */
export type JsonValue =
  | { [key: string]: JsonValue | undefined }
  | JsonValue[]
  | string
  | number
  | boolean
  | null;

/** Parses JSON with comments and trailing commas; throws `SyntaxError`. */
export declare function parse(text: string): JsonValue;
