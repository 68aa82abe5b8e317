import type { ProfileFacts } from "../../claude/versions/profile_index.ts";
import type { Cost, Spent } from "../../claude/transcript/cost.ts";
import type { JsonObject } from "../../json_object.ts";
import type { ConfigFolders } from "../../claude/transcript/moved_lines.ts";
import type { FastModeAsked } from "./frames/init_frame.ts";
import type { SubagentStats } from "./result/turn_totals.ts";

/** What is known of a run before its child has written anything. */
export interface OutputOptions {
  /** Whether the caller may send further messages after the first. */
  readonly conversation?: true;
  /** The version of Claude Code, where it is known before there is a child. */
  readonly version?: string;
  /** What `claude-print learn` has measured of versions that are newer than every shipped profile; absent for nothing. */
  readonly learnt?: Readonly<Record<string, ProfileFacts>>;
  readonly sessionId: string;
  /** The child's working directory. */
  readonly cwd: string;
  /** The user's home; absent where it has none. */
  readonly home?: string;
  readonly permissionMode: string;
  readonly apiKeySource: string;
  /** As settings name it; absent for the default one. */
  readonly outputStyle?: string;
  /** Where the user's automatic memory of this project is; absent where there is none. */
  readonly memoryPath?: string;
  readonly servedByAnthropic: boolean;
  /** Whether the user has set how long an answer may be: then requests have this limit, and not the model's. */
  readonly limitsOutput?: true;
  /** The headers that the user has added to requests; absent for none. */
  readonly betas?: readonly string[];
  /** Whether a tool decides on permissions: then `claude -p` does not print what rules deny. */
  readonly denialsUntold?: true;
  /** A UUID from which the ids of frames are made. */
  readonly seed: string;
  /** When the child was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** The MCP servers that are configured, and where; absent in the first recordings. */
  readonly servers?: readonly {
    readonly name: string;
    readonly source: string;
    readonly disabled: boolean;
    /** Whether it could not be reached when it was set. */
    readonly unreached?: true;
  }[];
  /** The MCP servers that Claude Code leaves out, and why; absent for none. */
  readonly faultyServers?: readonly JsonObject[];
  /** Whether the state of the session is printed; `shown` where it is also for the user of the Agent SDK. */
  readonly activity?: true | "shown";
  /** What earlier children of the same conversation have printed and cost. */
  readonly before?: EarlierOutput;
  /** Whether messages are printed again once the child has taken them. */
  readonly replay?: true;
  /** The user's transcript of the session, whose new lines are mirrored in frames; absent for none. */
  readonly mirrorPath?: string;
  /** Whether hooks may run before calls: then a call begins when its hooks have ended. */
  readonly callHooks?: true;
  /** Whether the transcripts of subagents are not read: then nothing waits for their lines. */
  readonly subagentsUnread?: true;
  /** Whether the text of subagents is printed for whose end the turn waits. */
  readonly subagentText?: true;
  /** The folder that the child writes to, and the folder where its files go; absent where they stay. */
  readonly homes?: ConfigFolders;
  /** How fast mode was asked for. */
  readonly fastMode?: FastModeAsked;
  /** The title that the session is to have; absent for the one that it has. */
  readonly title?: string;
  /** Whether commands run in Claude Code's own sandbox. */
  readonly sandboxed?: true;
  /** Whether the ends of all hooks are printed; those of SessionStart hooks always are. */
  readonly hookEvents?: true;
  /** The model, where it is another one than the lines of a resumed session name. */
  readonly model?: string;
  /** Whether answers are printed as they are written: as hooks report them, or exactly as the API streams them. */
  readonly partial?: true | "exact";
  /** Whether the API's stream is observed though answers are not printed from it. */
  readonly heard?: true;
  /** How the output of shells is printed while they run; absent for not at all. */
  readonly shellOutput?: "joined" | "split";
  /** Whether structured answers are wanted, from the command line or by an initialization. */
  readonly output?: true | "initialized";
}

/** Whether a session works, waits for a decision of the caller, or for its next message. */
export type Activity = "running" | "requires_action" | "idle";

/** What earlier children of a conversation have printed and cost, and the subagents that they had. */
export interface EarlierOutput extends Spent {
  readonly results: number;
  /** When its first child was started, in milliseconds since the epoch; absent where that is not known. */
  readonly startedAt?: number;
  readonly subagents?: SubagentStats;
  /** How many answers were stopped by safeguards; absent for none. */
  readonly safetyStops?: number;
  /** The usage of each model; absent where it is not known. */
  readonly modelUsage?: Cost["modelUsage"];
  /** The `system/init` of the headless helper. */
  readonly described?: JsonObject;
  /** The commands that the caller knows. */
  readonly commands?: readonly unknown[];
  /** Ids of messages that no child has taken: the caller knows that they are queued. */
  readonly queued?: readonly string[];
  /** The last printed state of the session. */
  readonly activity?: Activity;
}
