const MAX_WIDTH = 80;

/** Rows of a name and its meaning. */
export type Rows = readonly (readonly [name: string, meaning: string])[];

/** Wraps words into lines of up to 80 columns, each after `indent` spaces. */
export function wrapWords(text: string, { indent = 0 }: { readonly indent?: number } = {}): string {
  const margin = " ".repeat(indent);
  return text.split(" ")
    .reduce<readonly string[]>((lines, word) => {
      const line = lines.at(-1);
      return line !== undefined && line.length + 1 + word.length <= MAX_WIDTH
        ? [...lines.slice(0, -1), `${line} ${word}`]
        : [...lines, margin + word];
    }, [])
    .join("\n");
}

/** Formats rows of two columns. The second column begins at `column`. A longer name has a separate line. */
export function table(rows: Rows, { column }: { readonly column: number }): string {
  return rows.map(([name, meaning]) => {
    const left = `  ${name}`;
    const right = wrapWords(meaning, { indent: column });
    return left.length + 2 > column
      ? `${left}\n${right}`
      : left.padEnd(column) + right.slice(column);
  }).join("\n");
}

/** Formats a section with a title. */
export function section(title: string, body: string): readonly string[] {
  return body === "" ? [] : [`${title}:\n${body}`];
}

/** Formats command lines. */
export function lines(commands: readonly string[]): string {
  return commands.map((command) => `  ${command}`).join("\n");
}
