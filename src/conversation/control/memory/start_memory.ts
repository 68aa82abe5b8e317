/** What is remembered of how the child starts: what the first prompt waits for. */
export interface StartMemory {
  /** Whether the child has shown that it can take a prompt. */
  readonly ready: boolean;
  /** Whether the child's rendezvous socket takes a prompt. */
  readonly reachable: boolean;
  /**
   * Whether the first SessionStart hook has told what the child is started with, or is not waited for any longer: what a
   * compaction or a session after it starts is not held.
   */
  readonly introduced: boolean;
  /**
   * The hook that holds the first request back, until it is answered, and how often the child was asked
   * whether it has run its timers, if it was.
   */
  readonly held?: {
    readonly id: string;
    readonly overdue: boolean;
    readonly pings?: number;
    /** Whether the child has begun connections that it is not done with. */
    readonly connecting?: boolean;
  };
  /** The MCP servers that the child has done with connecting to, by their names. */
  readonly settled: Readonly<Record<string, "connected" | "failed">>;
}

/** The child has just been started. */
export const JUST_STARTED: StartMemory = {
  ready: false,
  reachable: false,
  introduced: false,
  settled: {},
};
