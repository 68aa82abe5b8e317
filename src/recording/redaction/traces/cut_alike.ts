/** A text, cut at the places where another one of the same length was. */
export function cutAlike(text: string, pieces: readonly string[]): readonly string[] {
  let from = 0;
  return pieces.map(({ length }) => text.slice(from, from += length));
}
