import { z } from "zod/mini";

/** Words with one space between them, such as the keys of an object in the order in which they are printed. */
const words = z.string();

/**
 * What a version of Claude Code does, as `learn` measures it: `src/claude/versions/VERSION.json`.
 *
 * Lists are one text of words, so that a change is one line of a diff.
 */
export const versionProfileSchema = z.object({
  version: z.string().check(z.regex(/^\d+\.\d+\.\d+$/)),
  /** Names of what this version can do, sorted. An unknown name has no effect. */
  capabilities: z.array(z.string()),
  /**
   * The keys of each kind of frame that `claude -p` prints, in their order: `system/init`, `assistant`, `result/success`.
   * A nested object is named by its path, `result/success.usage`, `system/init.mcp_servers[]`, `result/success.modelUsage.*`.
   * A key that some frames of the kind lack has a `?` behind it.
   */
  frames: z.record(z.string(), words),
  /** Values that are the same for every account, model and folder, by frame and key: `"system/init view_mode": "default"`. */
  constants: z.record(z.string(), z.json()),
  /** Keys that the program names but no run has shown, such as those of rare API errors. */
  unseenKeys: words,
  hookEvents: words,
  /** Subtypes of control requests that `claude -p` answers. */
  controlRequests: words,
  /** Tools by the names that permission rules know. */
  tools: words,
  /** What `claude -p` makes of each slash command: `prompt` (a text for the model), `local` (an answer without the model), `unavailable`. */
  commands: z.object({ prompt: words, local: words, unavailable: words }),
  /** Words that are subcommands as the first argument, hidden ones included. */
  subcommands: words,
  /** Flags of `--help` and hidden ones, each with `=` behind it if it takes a value. */
  flags: words,
  /** Keys of settings by what they have to hold, as Claude Code words it: `"boolean": "autoMemoryEnabled …"`. */
  settings: z.record(z.string(), words),
  permissionModes: words,
  /** The dialogs that the interactive program showed while it was measured, by the text that names them. */
  dialogs: z.array(z.string()),
});

/** What is known of a version of Claude Code. */
export type VersionProfile = z.infer<typeof versionProfileSchema>;
