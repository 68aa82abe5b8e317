/** Escape sequences of a terminal's colours, and the advice on a key that `claude -p` does not have. */
// deno-lint-ignore no-control-regex
const COLOURS = /\x1b\[[\d;]*m/gu;
const ADVICE = /\(ctrl\+o to see full summary\)\n?/u;

/** The output of a typed /compact as `claude -p` prints it, from that of the interactive Claude Code. */
export function compactionOutput(output: string): string {
  return output.replace(COLOURS, "").replace(ADVICE, "");
}
