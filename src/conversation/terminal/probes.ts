import type { TerminalToken } from "./terminal_scanner.ts";

/** The final byte of the probes that are answered. */
export const PROBE_FINAL = "c";
/** Parameters of the two spellings of DA1. */
const DA1: readonly string[] = ["", "0"];
/** What a VT102 answers. */
const DA1_REPLY = "\x1b[?6c";

/**
 * The replies to what a chunk's tokens ask of the terminal, in their order.
 *
 * DA1 alone is answered, every time, which measured best: on 2.1.330 silence costs up to 0.1 s before the first request
 * and 0.25 s at exit, while an answer to XTVERSION starts a second round of probes. DA2, the cursor's place (DSR) and the
 * size (XTWINOPS 18) are asked too and nothing waits for them. Other probes are ignored, as most terminals do.
 */
export function answerProbes(tokens: readonly TerminalToken[]): string {
  const asked = tokens.filter((token) =>
    token.kind === "csi" && token.final === PROBE_FINAL && DA1.includes(token.parameters)
  );
  return DA1_REPLY.repeat(asked.length);
}
