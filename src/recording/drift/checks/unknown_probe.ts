import type { TerminalToken } from "../../../conversation/terminal/terminal_scanner.ts";
import type { Found } from "../finding.ts";
import type { KnownClaude } from "../known.ts";

/** Sizes and places that a window is asked for (XTWINOPS). */
const WINDOW_REPORT = /^(?:1[1345689]|2[01])(?:;|$)/u;

/**
 * What a sequence asks of the terminal, as in `CSI > 0 q`, if it asks for an answer: device attributes, status and
 * modes, the terminal's version, its keyboard protocol and sizes, and colours, settings and pictures by their strings.
 */
function probeIn(token: TerminalToken): string | undefined {
  switch (token.kind) {
    case "csi": {
      const { parameters, final } = token;
      return asks(parameters, final) ? `CSI ${parameters}${final}` : undefined;
    }
    case "string":
      return stringProbe(token);
    case "esc":
      return token.intermediates === "" && token.final === "Z" ? "ESC Z" : undefined;
    case "text":
      return undefined;
    default:
      return token satisfies never;
  }
}

function asks(parameters: string, final: string): boolean {
  switch (final) {
    case "c":
      return /^[>=]?[\d;]*$/u.test(parameters);
    case "n":
      return /^\??[\d;]+$/u.test(parameters);
    case "p":
      return parameters.endsWith("$");
    case "q":
      return parameters.startsWith(">");
    case "t":
      return WINDOW_REPORT.test(parameters);
    case "u":
      return parameters.startsWith("?");
    case "S":
      return parameters.startsWith("?");
    case "x":
      return /^\d?$/u.test(parameters);
    default:
      return false;
  }
}

function stringProbe(
  { introducer, content }: { readonly introducer: string; readonly content: string },
): string | undefined {
  if (introducer === "]" && /^[\d;a-z]*;\?$/u.test(content)) return `OSC ${content}`;
  if (introducer === "P" && /^\+q|^\$q/u.test(content)) return `DCS ${content}`;
  if (introducer === "_" && /^G[^;]*\ba=q\b/u.test(content)) return "APC G a=q";
  return undefined;
}

/** Whether the terminal is asked something that no recording has. */
export function unknownProbe(token: TerminalToken, known: KnownClaude): readonly Found[] {
  const probe = probeIn(token);
  return probe === undefined || known.probes.has(probe)
    ? []
    : [{ check: "probe unknown", where: "terminal", what: probe }];
}
