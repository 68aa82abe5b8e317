/** Takes something out of whatever holds texts. */
export interface TextScrub {
  readonly text: (text: string) => string;
  /** A JSON value. */
  readonly value: <Value>(value: Value) => Value;
  /**
   * A text that was cut into pieces: as many pieces of what it becomes.
   *
   * @param options.isAnswer whether it is what the model says or thinks
   * @param options.tool the tool that is given it, as JSON
   */
  readonly pieces: (
    pieces: readonly string[],
    options?: { readonly isAnswer: boolean; readonly tool?: string | undefined },
  ) => readonly string[];
}

/** One after the other. */
export function inTurn(...scrubs: readonly TextScrub[]): TextScrub {
  return {
    text: (text) => scrubs.reduce((rest, scrub) => scrub.text(rest), text),
    value: (value) => scrubs.reduce((rest, scrub) => scrub.value(rest), value),
    pieces: (pieces, options) =>
      scrubs.reduce((rest, scrub) => scrub.pieces(rest, options), pieces),
  };
}
