import {
  SCANNER_START,
  scanTerminal,
  type TerminalToken,
} from "../../../src/session/terminal/terminal_scanner.ts";

/** Scans chunks and spells the tokens out, neighbouring text joined as chunks may cut it anywhere. */
export function scanChunks(chunks: readonly Uint8Array[]): readonly string[] {
  const found: TerminalToken[] = [];
  let state = SCANNER_START;
  for (const chunk of chunks) {
    const scanned = scanTerminal(state, chunk);
    state = scanned.state;
    found.push(...scanned.tokens);
  }
  const spelled: string[] = [];
  let text: number[] = [];
  const flush = () => {
    if (text.length > 0) spelled.push(`text ${new TextDecoder().decode(Uint8Array.from(text))}`);
    text = [];
  };
  for (const token of found) {
    if (token.kind === "text") {
      text.push(...token.bytes);
      continue;
    }
    flush();
    switch (token.kind) {
      case "csi":
        spelled.push(`csi ${token.parameters} ${token.final}`);
        break;
      case "string":
        spelled.push(`string ${token.introducer} ${token.content}`);
        break;
      case "esc":
        spelled.push(`esc ${token.final}`);
        break;
      default:
        token satisfies never;
    }
  }
  flush();
  return spelled;
}
