import type { GrowingMap } from "../../../growing_map.ts";
import type { Entry } from "../../../claude/transcript/entry.ts";
import type { SubagentStats } from "../result/subagent_stats.ts";
import type { Task, Tasks } from "../single/task.ts";
import type { CallEnd } from "../single/task_ends.ts";

/** What a hook says of a task: that a subagent begins, or that a call has returned which may have been one. */
export type HookedTask =
  | {
    readonly kind: "begun";
    readonly agentId: string;
    readonly type: string;
    /** When, in milliseconds since the epoch. */
    readonly at: number;
  }
  | (CallEnd & { readonly kind: "returned" });

/** What is remembered of tasks, and of subagents that begin and end. */
export interface TaskMemory {
  readonly tasks: Tasks;
  /** All tasks so far, as they began. */
  readonly allTasks: GrowingMap<string, Task>;
  /** How tasks ended that are not at work again: their statuses, by their ids. */
  readonly taskEnds: GrowingMap<string, string>;
  /** What hooks have said of tasks, where the calls that they are about have not been told yet. */
  readonly hooked: readonly HookedTask[];
  /** Whether what a subagent's end has led to waits for lines of the subagent. */
  readonly awaitsSubagent: boolean;
  /** The call whose subagent's beginning is waited for ahead of what was written behind it, and the line that holds it. */
  readonly unbegun: { readonly id: string; readonly line: Entry } | undefined;
  /** Counts of the subagents that children before this one had, unless the conversation has begun anew. */
  readonly subagentsBefore: SubagentStats | undefined;
}
