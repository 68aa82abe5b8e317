import type { ProfileFacts } from "../../claude/versions/profile_index.ts";
import type { Cost, Spent } from "../../claude/transcript/cost.ts";
import type { JsonObject } from "../../json_object.ts";
import type { Homes } from "../../claude/transcript/moved_lines.ts";
import type { FastModeAsked } from "./frames/init_frame.ts";
import type { SubagentStats } from "./result/turn_totals.ts";

/** What is known of a run before its child has said anything. */
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
  /** Whether the user has set how much a model may answer, which requests tell then in the place of its own limit. */
  readonly limitsOutput?: true;
  /** The headers that the user has added to requests; absent for none. */
  readonly betas?: readonly string[];
  /** Whether a tool decides on permissions: then `claude -p` does not tell what rules deny. */
  readonly denialsUntold?: true;
  /** A UUID of which the ids of frames are made. */
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
  /** Those that Claude Code leaves out, and why; absent for none. */
  readonly faultyServers?: readonly JsonObject[];
  /** Whether it is told what the session is at; `shown` where not only an Agent SDK is told, but its user. */
  readonly activity?: true | "shown";
  /** What was told and paid before, by another child of the same conversation. */
  readonly before?: EarlierOutput;
  /** Whether messages are printed again once the child has taken them. */
  readonly replay?: true;
  /** The user's transcript of the session, whose new lines are told; absent for none. */
  readonly mirrorPath?: string;
  /** Whether hooks may run before calls: what they call begins when they say so. */
  readonly callHooks?: true;
  /** Whether nobody reads what subagents write: nothing waits for it. */
  readonly subagentsUnread?: true;
  /** Whether what subagents say is told, whose end the turn waits for. */
  readonly subagentText?: true;
  /** Where what the child writes is, and where it goes; absent where it stays. */
  readonly homes?: Homes;
  /** What is asked of fast mode. */
  readonly fastMode?: FastModeAsked;
  /** The title that the session is to have; absent for the one that it has. */
  readonly title?: string;
  /** Whether commands are carried out in Claude Code's own sandbox. */
  readonly sandboxed?: true;
  /** Whether the ends of hooks are told, other than those of SessionStart hooks, which always are. */
  readonly hookEvents?: true;
  /** The model, where it is known to be another one than the lines of a resumed session name. */
  readonly model?: string;
  /** Whether answers are told as they are written: from hooks, or exactly as the API streams them. */
  readonly partial?: true | "exact";
  /** Whether the API's stream is heard though answers are not told by it. */
  readonly heard?: true;
  /** How the output of shells is printed while they run; absent for not at all. */
  readonly shellOutput?: "joined" | "split";
  /** Whether structured answers are wanted, from the command line or by an initialization. */
  readonly output?: true | "initialized";
}

/** Whether a session works, waits for an answer of the caller's, or for its next message. */
export type Activity = "running" | "requires_action" | "idle";

/** How many results a conversation has told, what it has cost, and which subagents it has had. */
export interface EarlierOutput extends Spent {
  readonly results: number;
  /** When its first child was started, in milliseconds since the epoch; absent where that is not known. */
  readonly startedAt?: number;
  readonly subagents?: SubagentStats;
  /** How often safeguards have stopped an answer; absent for never. */
  readonly safetyStops?: number;
  /** What each model has used of it; absent where that is not known. */
  readonly modelUsage?: Cost["modelUsage"];
  /** What a headless Claude Code has said of the session. */
  readonly described?: JsonObject;
  /** The commands that there are, as the caller was told them last. */
  readonly commands?: readonly unknown[];
  /** Ids of the messages that it has not taken: whoever sent them has heard that they wait. */
  readonly queued?: readonly string[];
  /** What the session is at, as it has been told. */
  readonly activity?: Activity;
}
