import type { TerminalToken } from "./terminal_scanner.ts";

/** What a reply to a probe may depend on. */
export interface ProbeContext {
  /** Size of the child's terminal, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  /** Where the cursor is, counted from 1; absent while no screen has been rendered. */
  readonly cursor?: { readonly row: number; readonly col: number };
}

/** A terminal query that can be recognised and answered. */
export interface Probe {
  /** The query's usual name. */
  readonly name: "DA1" | "DA2" | "DSR" | "XTVERSION" | "XTWINOPS-18";
  /** Parameters and final byte of the CSI sequences that ask it. */
  readonly asked: readonly string[];
  /** Whether it is answered unless told otherwise. */
  readonly answered: boolean;
  /** The reply, as the terminal would type it. */
  readonly reply: (context: ProbeContext) => string;
}

/**
 * The probes Claude Code may send and the policy which of them are answered.
 *
 * DA1 alone, every time, is what measured best: on 2.1.330 silence costs up to 0.1 s before the first request
 * and 0.25 s at exit, while an answer to XTVERSION starts a second round of probes. 2.1.168 and 2.1.197 do
 * not wait for any of them.
 */
export const PROBES: readonly Probe[] = [
  { name: "DA1", asked: ["c", "0c"], answered: true, reply: () => "\x1b[?6c" },
  { name: "DA2", asked: [">c", ">0c"], answered: false, reply: () => "\x1b[>0;0;0c" },
  {
    name: "DSR",
    asked: ["6n"],
    answered: false,
    reply: ({ cursor }) => `\x1b[${cursor?.row ?? 1};${cursor?.col ?? 1}R`,
  },
  {
    name: "XTVERSION",
    asked: [">q", ">0q"],
    answered: false,
    reply: () => "\x1bP>|claude-print\x1b\\",
  },
  {
    name: "XTWINOPS-18",
    asked: ["18t"],
    answered: false,
    reply: ({ size }) => `\x1b[8;${size.rows};${size.cols}t`,
  },
];

const ASKED: ReadonlyMap<string, Probe> = new Map(
  PROBES.flatMap((probe) => probe.asked.map((asked) => [asked, probe])),
);

/**
 * The replies that a chunk's tokens ask for, in the order they were asked.
 *
 * Unknown probes are ignored, as most terminals do.
 *
 * @param options.answer names to answer instead of the policy's own choice
 */
export function answerProbes(
  tokens: readonly TerminalToken[],
  options: ProbeContext & { readonly answer?: readonly Probe["name"][] },
): string {
  let replies = "";
  for (const token of tokens) {
    if (token.kind !== "csi") continue;
    const probe = ASKED.get(token.parameters + token.final);
    if (probe === undefined) continue;
    if (options.answer?.includes(probe.name) ?? probe.answered) replies += probe.reply(options);
  }
  return replies;
}
