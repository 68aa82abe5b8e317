import { z } from "zod/mini";

/** Words with one space between them, such as the keys of an object in the order in which they are printed. */
const words = z.string();

/**
 * The schema of a version profile, `src/claude/versions/VERSION.json`: what `learn` measured of a version of Claude Code.
 *
 * A list is one string of words, so that a change is one line of a diff.
 */
export const versionProfileSchema = z.object({
  version: z.string().check(z.regex(/^\d+\.\d+\.\d+$/)),
  /** The names of the version's capabilities, sorted. An unknown name has no effect. */
  capabilities: z.array(z.string()),
  /**
   * The keys of each kind of frame that `claude -p` prints, in their order: `system/init`, `assistant`, `result/success`.
   * A nested object is named by its path, `result/success.usage`, `system/init.mcp_servers[]`, `result/success.modelUsage.*`.
   * A `?` follows a key that some frames of the kind lack.
   */
  frames: z.record(z.string(), words),
  /** Values that are the same for every account, model and folder, by frame and key: `"system/init view_mode": "default"`. */
  constants: z.record(z.string(), z.json()),
  /** Keys that occur in Claude Code's program but in no measured run, such as those of rare API errors. */
  unseenKeys: words,
  hookEvents: words,
  /** Subtypes of control requests that `claude -p` answers. */
  controlRequests: words,
  /** The names of tools in permission rules. */
  tools: words,
  /**
   * Slash commands by how `claude -p` handles them: `prompt` sends a text to the model, `local`
   * answers without the model, `unavailable` is an error.
   */
  commands: z.object({ prompt: words, local: words, unavailable: words }),
  /** Subcommands, hidden ones included. */
  subcommands: words,
  /** Flags, hidden ones included. A `=` follows a flag that has a value. */
  flags: words,
  /** Keys of settings by Claude Code's message for a wrong value: `"Expected boolean": "autoMemoryEnabled …"`. */
  settings: z.record(z.string(), words),
  permissionModes: words,
  /** Texts that identify the dialogs which the interactive program showed during the measurement. */
  dialogs: z.array(z.string()),
});

/** A version profile. */
export type VersionProfile = z.infer<typeof versionProfileSchema>;
