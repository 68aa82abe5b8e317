import type { ProfileFacts } from "../../claude/versions/profile_index.ts";
import type { Cost, Spent } from "../../claude/transcript/cost.ts";
import type { JsonObject } from "../../json_object.ts";
import type { ConfigFolders } from "../../claude/transcript/moved_lines.ts";
import type { FastModeAsked } from "./frames/init_frame.ts";
import type { SubagentStats } from "./result/turn_totals.ts";

/** The facts about a run that are known before its child has written anything. */
export interface OutputOptions {
  /** Whether the caller may send further messages after the first. */
  readonly conversation?: true;
  /** The version of Claude Code, if known before the child starts. */
  readonly version?: string;
  /**
   * The facts that `claude-print learn` has measured of versions newer than every shipped profile; absent if there are
   * none.
   */
  readonly learnt?: Readonly<Record<string, ProfileFacts>>;
  readonly sessionId: string;
  /** The child's working directory. */
  readonly cwd: string;
  /** The user's home folder; absent if the user has none. */
  readonly home?: string;
  readonly permissionMode: string;
  readonly apiKeySource: string;
  /** The output style as settings name it; absent for the default style. */
  readonly outputStyle?: string;
  /** The folder of the user's automatic memory for this project; absent if there is none. */
  readonly memoryPath?: string;
  readonly servedByAnthropic: boolean;
  /** Whether the user has set the maximum length of an answer. Then requests have this limit, and not the model's. */
  readonly limitsOutput?: true;
  /** The headers that the user has added to requests; absent for none. */
  readonly betas?: readonly string[];
  /** Whether a tool decides on permissions. Then `claude -p` does not print denials by rules. */
  readonly denialsUntold?: true;
  /** A UUID from which the ids of frames are made. */
  readonly seed: string;
  /** When the child was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** The configured MCP servers, and where each is configured; absent in the first recordings. */
  readonly servers?: readonly {
    readonly name: string;
    readonly source: string;
    readonly disabled: boolean;
    /** Whether the server could not be reached when it was set. */
    readonly unreached?: true;
  }[];
  /** The MCP servers that Claude Code leaves out, with the reasons; absent for none. */
  readonly faultyServers?: readonly JsonObject[];
  /** Whether the state of the session is printed. `shown` means that it is also shown to the user of the Agent SDK. */
  readonly activity?: true | "shown";
  /** What earlier children of the same conversation have printed and cost. */
  readonly before?: EarlierOutput;
  /** Whether messages are printed again once the child has taken them. */
  readonly replay?: true;
  /** The user's transcript of the session. Its new lines are mirrored in frames; absent for no mirror. */
  readonly mirrorPath?: string;
  /** Whether hooks may run before calls. Then a call begins when its hooks have ended. */
  readonly callHooks?: true;
  /** Whether the transcripts of subagents are not read. Then the output never waits for their lines. */
  readonly subagentsUnread?: true;
  /** Whether the text of subagents is printed for which the turn waits. */
  readonly subagentText?: true;
  /** The config dir of the child, and the folder to which its files go; absent if the files stay. */
  readonly homes?: ConfigFolders;
  /** The source of the request for fast mode. */
  readonly fastMode?: FastModeAsked;
  /** The title that the session will have; absent to keep its title. */
  readonly title?: string;
  /** Whether commands run in Claude Code's own sandbox. */
  readonly sandboxed?: true;
  /** Whether the ends of all hooks are printed. The ends of SessionStart hooks are always printed. */
  readonly hookEvents?: true;
  /** The model, if it differs from the model in the lines of a resumed session. */
  readonly model?: string;
  /**
   * Whether answers are printed while they are written: as hooks report them (`true`), or exactly as the API streams
   * them (`exact`).
   */
  readonly partial?: true | "exact";
  /** Whether the API's stream is observed although answers are not printed from it. */
  readonly heard?: true;
  /** How the output of shells is printed while they run; absent if it is not printed. */
  readonly shellOutput?: "joined" | "split";
  /** Whether the caller wants structured answers, by the command line or by its `initialize` request. */
  readonly output?: true | "initialized";
}

/** Whether a session works, waits for a decision of the caller, or for its next message. */
export type Activity = "running" | "requires_action" | "idle";

/** What earlier children of a conversation have printed and cost, and the subagents that they had. */
export interface EarlierOutput extends Spent {
  readonly results: number;
  /** When the first child of the conversation was started, in milliseconds since the epoch; absent if unknown. */
  readonly startedAt?: number;
  readonly subagents?: SubagentStats;
  /** The number of answers that safeguards stopped; absent for none. */
  readonly safetyStops?: number;
  /** The usage of each model; absent if unknown. */
  readonly modelUsage?: Cost["modelUsage"];
  /** The `system/init` of the headless helper. */
  readonly described?: JsonObject;
  /** The commands that the caller knows. */
  readonly commands?: readonly unknown[];
  /** Ids of messages that no child has taken. The caller knows that they are queued. */
  readonly queued?: readonly string[];
  /** The last printed state of the session. */
  readonly activity?: Activity;
}
