/** A word as a shell that knows single quotes takes it literally. */
export function shellQuote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
