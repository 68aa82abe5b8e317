/** A number of things in words, such as `1 turn` and `2 turns`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
