/** What the child says of itself. */
export interface ChildStatus {
  /** `idle`, `busy` or `waiting`. */
  readonly status: string;
  readonly waitingFor?: string;
  /** Since when, in milliseconds since the epoch, where the child says so. */
  readonly updatedAt?: number;
}

/**
 * What is known of the child's own queue: of what the caller sends while a turn is under way, and of the ends of tasks
 * in the background, each of which starts a turn if none takes it up.
 */
export interface ChildQueue {
  /** How many things are in it. */
  readonly length: number;
  /** Whether the end of a task is among them, or has been since it was empty. */
  readonly noticed: boolean;
  /** When the child took such an end out of it last, in milliseconds since the epoch; absent since a turn has begun. */
  readonly leftAt?: number | undefined;
  /** Tasks that the session has started in the background, and whose ends have not been in it. */
  readonly running: ReadonlySet<string>;
  /** Tasks whose ends have been in it. */
  readonly over: ReadonlySet<string>;
  /** Shells that subagents have put into the background, and whose each is. */
  readonly shells: ReadonlyMap<string, string>;
  /** Subagents that were over and are at work again because of such a shell's end, and whose own has not been in it. */
  readonly woken: ReadonlySet<string>;
}

/** What is remembered of the child while it lives, whatever turn it is in. */
export interface ChildMemory {
  /** When there was a sign of life last. */
  readonly lifeAt: number;
  /** Its last status, once its status file exists. */
  readonly status?: ChildStatus;
  /** The version of Claude Code, once its status file or its transcript has told it. */
  readonly version?: string;
  /** Names of the tools that run, by the ids of their calls. */
  readonly tools: ReadonlyMap<string, string>;
  readonly childQueue: ChildQueue;
  /**
   * When the child wakes the model, in milliseconds after its start, if it is to, and whether that is all that is still
   * waited for.
   */
  readonly wakeup?: { readonly at: number; readonly awaited?: true } | undefined;
  /** Whether the transcript has a goal that is not reached yet. */
  readonly pursues: boolean;
  /** How many turns the child has outlived. */
  readonly turns: number;
}

/** A queue that has had nothing in it. */
export const EMPTY_QUEUE: ChildQueue = {
  length: 0,
  noticed: false,
  running: new Set(),
  over: new Set(),
  shells: new Map(),
  woken: new Set(),
};

/** A child that has not said anything. */
export const UNHEARD_CHILD: ChildMemory = {
  lifeAt: 0,
  tools: new Map(),
  childQueue: EMPTY_QUEUE,
  pursues: false,
  turns: 0,
};
