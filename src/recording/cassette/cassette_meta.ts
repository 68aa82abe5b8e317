/** The format of the cassettes that this program writes; one that it reads may be older. */
export const CASSETTE_FORMAT = 1;

/** What is known of a cassette, as its `meta.json` has it. */
export interface CassetteMeta {
  readonly format: number;
  /** The version of this program. */
  readonly claude_print: string;
  /** The version of Claude Code, once it was told. */
  readonly claude_code?: string;
  /** What both ran on, such as `linux-x86_64`. */
  readonly platform: string;
  /** The terminal's first size, in character cells. */
  readonly size: { readonly cols: number; readonly rows: number };
  /** When the child was started, as `Date` writes it. */
  readonly when: string;
  /** How often `[redacted]` stands in each part, in the place of a secret. */
  readonly scrubbed: Readonly<Record<string, number>>;
  /** What was blanked besides, as `cassette scrub` does: names and paths of a machine, prompts, answers. */
  readonly blanked?: readonly string[];
  /** The flags that the run was given for Claude Code: with their values, or by their names alone. */
  readonly flags?: readonly string[];
  /** Where the conversation comes from, if it goes on with a recorded one. */
  readonly forked_from?: ForkOrigin;
}

/** A recorded conversation, and up to where another one has it in common. */
export interface ForkOrigin {
  /** The name of the folder of its cassette. */
  readonly cassette: string;
  /** When it was recorded, as `Date` writes it; absent where its cassette does not say. */
  readonly when?: string;
  /** Its session; absent where it had none yet. */
  readonly session_id?: string;
  /** The number of the last turn that both have; 0 for none. */
  readonly turn: number;
}
