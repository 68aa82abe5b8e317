import type { JsonObject } from "../../../json_object.ts";
import type { FastMode } from "../result/fast_mode.ts";
import type { Activity } from "../telling/frames_options.ts";

/** What is known of the session itself, as it was told last. */
export interface SessionMemory {
  /** Whether the title that it has from the start has been told. */
  readonly isTitled?: true;
  /** The model as SessionStart names it, with the `[1m]` that the API does not say. */
  readonly model?: string;
  /** What a headless Claude Code that was started like the child says of a session that begins. */
  readonly described?: JsonObject;
  /** The commands that there are, as the caller was told them last. */
  readonly commands?: readonly unknown[];
  /** What the session is at, as it was told last. */
  readonly activity?: Activity;
  /** What became of connections to MCP servers, by their names. */
  readonly connections?: Readonly<Record<string, "connected" | "failed">>;
  /** The version that the child gave in its transcript. */
  readonly version?: string;
  /** The permission mode, once it is another one than at the start. */
  readonly permissionMode?: string;
  /** How `system/init` has told of fast mode last. */
  readonly fastMode?: FastMode;
  /** Since when the run is ending, and with it what goes on in the background, in milliseconds since the epoch. */
  readonly endingAt?: number;
}
