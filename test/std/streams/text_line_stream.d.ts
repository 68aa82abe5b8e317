/** Splits a stream of text into its lines. */
export declare class TextLineStream extends TransformStream<string, string> {
  constructor(options?: { allowCR?: boolean });
}
