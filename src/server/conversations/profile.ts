import { z } from "zod/mini";

/** Most flags, and most characters of one: a prompt is no flag. */
const MOST_ARGS = 1000;
const LONGEST = 1_000_000;

const line = z.string().check(z.maxLength(LONGEST));

/** What a conversation is held with, as a caller says it. */
export const PROFILE_SCHEMA = z.strictObject({
  /** Flags of a run. */
  args: z._default(z.array(line).check(z.maxLength(MOST_ARGS)), []),
  /** The working directory, from the root; that of the server if absent. */
  cwd: z.optional(line.check(z.startsWith("/"))),
  /** Variables over those of the server. */
  env: z._default(
    z.record(line.check(z.regex(/^[^=\0]+$/u)), line.check(z.regex(/^[^\0]*$/u))),
    {},
  ),
  /** Whether permissions, questions and plans are asked about, instead of refused. */
  asks: z._default(z.boolean(), true),
  /** Whether its events have what is said to it too. */
  replay_user_messages: z._default(z.boolean(), false),
  /** Whether it is recorded as a cassette. */
  record: z._default(z.boolean(), false),
});

/** What a conversation is held with: what cannot be changed later. */
export type Profile = z.infer<typeof PROFILE_SCHEMA>;
