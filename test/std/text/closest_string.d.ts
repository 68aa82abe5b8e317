/** The member of `possibleWords` with the smallest edit distance to `givenWord`. */
export declare function closestString(
  givenWord: string,
  possibleWords: ReadonlyArray<string>,
  options?: {
    caseSensitive?: boolean;
    compareFn?: (a: string, b: string) => number;
  },
): string;
