import type { Chain } from "../../../chain.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { SubagentLine } from "../../control/input.ts";
import type { Entry } from "../../../claude/transcript/entry.ts";
import type { KeptLines } from "../telling/kept_lines.ts";

/** A line of the session's own transcript or of a subagent's, or what is noted beside that. */
export type MirroredLine =
  | { readonly agentId?: string; readonly entry: Entry }
  | { readonly agentId: string; readonly note: JsonObject };

/** What is remembered of lines: of those that have been told, and of those that are to be. */
export interface LineMemory {
  /** The lines of earlier runs of the session. */
  readonly earlier: readonly Entry[];
  /** What is kept of the lines of this run that have been told. */
  readonly kept: KeptLines;
  /** Lines since the last `read`, which are told in the order of their times. */
  readonly own: Chain<Entry> | undefined;
  readonly subagents: Chain<SubagentLine> | undefined;
  /** Whether an answer goes on after the line that is being told. */
  readonly amid: boolean;
  /** What has been read and is to be mirrored. */
  readonly unmirrored: Chain<MirroredLine> | undefined;
  /** Lines of subagents whose call is in a line that has not been written yet. */
  readonly uncalled: readonly SubagentLine[];
  /** Ends of Stop hooks that are told when all of them have ended. */
  readonly stopEnds: readonly Entry[];
  /** Lines that tell the ends of tasks whose beginnings have not been told. */
  readonly notices: readonly Entry[];
  /** Whether nothing that is still written belongs to the run. */
  readonly closed: boolean;
}
