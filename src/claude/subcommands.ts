import before from "./versions/2.1.197.json" with { type: "json" };
import newest from "./versions/2.1.330.json" with { type: "json" };

/** The words that are subcommands of Claude Code as its first argument, by the version measured, the oldest first. */
export const SUBCOMMANDS: readonly {
  readonly version: string;
  readonly words: readonly string[];
}[] = [
  { version: "2.1.197", words: before.subcommands },
  { version: "2.1.330", words: newest.subcommands },
];
