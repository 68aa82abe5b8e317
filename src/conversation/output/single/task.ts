import type { ToolUse } from "../../../claude/transcript/turn.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";

/** A shell or a subagent at work. */
export interface Task {
  readonly id: string;
  /** The call that started it. */
  readonly toolUseId: string;
  readonly type: "local_bash" | "local_agent";
  readonly description: string;
  /** Whether the turn goes on without waiting for it. */
  readonly background: boolean;
  /**
   * Who has asked for the skill for which the turn waits, if it carries out one: `claude -p` prints less of such a one,
   * and one that was typed has no call.
   */
  readonly skill?: "called" | "typed";
  /** A subagent's type and prompt, and the name by which others send it messages, if it has one. */
  readonly agentType?: string;
  readonly prompt?: string;
  readonly name?: string;
  /** The subagent that has started it, and how deep it is below the session itself; absent for 1. */
  readonly parent?: string;
  readonly depth?: number;
  /** When a subagent began, in milliseconds since the epoch, and how many calls it has made; once that is known. */
  readonly since?: number;
  readonly calls?: number;
  /** Whether the last line of a subagent's was words, with which it may be over. */
  readonly spoken?: boolean;
  /** Whether the last answer to it was an error of the API. */
  readonly failed?: boolean;
}

/** The tasks at work, by id. */
export type Tasks = ReadonlyMap<string, Task>;

/** The tasks after something was heard of them, and the frames `claude -p` prints for it. */
export interface TaskStep {
  readonly tasks: Tasks;
  readonly frames: readonly SystemFrame[];
  /** The one that began, which may be over as well. */
  readonly started?: Task;
}

/** What a line alone does not say about tasks. */
export interface TaskContext {
  readonly version: string;
  readonly sessionId: string;
  readonly newUuid: () => string;
  /** The calls so far, by id. */
  readonly toolUses: ReadonlyMap<string, ToolUse>;
  /** The tasks so far, those that are over as well. */
  readonly allTasks: Pick<Tasks, "get">;
  /** Those of them that this run has told. */
  readonly toldTasks: Pick<Tasks, "has">;
}

/** Whether it is a shell that a subagent has put into the background: the session itself hears nothing of it. */
export function isOwned({ type, parent }: Task): boolean {
  return type === "local_bash" && parent !== undefined;
}

/** The call that has started a task, where it is told. */
export function startingCall({ skill, toolUseId }: Task): string | undefined {
  return skill === "typed" ? undefined : toolUseId;
}

/** How `claude -p` marks tasks that are part of a call and no news by themselves. */
export const AMBIENT = { skip_transcript: true, ambient: true };
