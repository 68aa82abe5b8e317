import type { JsonObject } from "../../../json_object.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { ChildChanges, Effect } from "../effect.ts";
import type { Consulted } from "../input.ts";

/** What is remembered of what the caller has asked for. */
export interface RequestMemory {
  /** What the first initialization has asked for. */
  readonly inForce?: JsonObject;
  /** What Claude Code says to the initialization that a caller who is not there yet will ask for. */
  readonly foretold?: Extract<Consulted, { readonly response: unknown }>;
  /** Answers to what was asked behind an initialization that has not been answered yet. */
  readonly heldAnswers?: readonly HeldAnswer[];
  /** Requests that a headless Claude Code is asked about, by their ids. */
  readonly consulted: ReadonlyMap<string, ControlRequest>;
  /** What the next message's child is to be started with otherwise. */
  readonly changes?: ChildChanges;
  /** Calls that are to go into the background, by their ids, and how often the key for it was pressed. */
  readonly moving?: { readonly calls: ReadonlySet<string>; readonly presses: number };
  /** Tasks in the background that the caller wants to be stopped; what is done about the first. */
  readonly stops: readonly Stopping[];
  /** By what names the screen may call what calls of tools have begun, by the ids of the calls that have not returned. */
  readonly launches: ReadonlyMap<string, readonly string[]>;
  /** The same of the tasks in the background, by their ids. */
  readonly atWork: ReadonlyMap<string, readonly string[]>;
}

/** An answer that waits, and the initialization, by its id among what is asked, behind which it was asked for. */
export interface HeldAnswer {
  readonly behind: string;
  readonly answer: Effect;
}

/** A task in the background that the caller wants to be stopped. */
export interface Stopping {
  readonly request: ControlRequest;
  readonly task: string;
  /** What is waited for: that keys may be pressed, the list of tasks, the task in it, its end, or that nothing is open. */
  readonly stage: "waiting" | "opening" | "finding" | "ending" | "closing";
  /** How often that was looked for. */
  readonly looks: number;
  /** Why it cannot be stopped. */
  readonly failure?: string;
  /** Whether the caller has been told that it is, and only the list is still open. */
  readonly answered?: true;
}

/** The caller has asked for nothing. */
export const NOTHING_REQUESTED: RequestMemory = {
  consulted: new Map(),
  stops: [],
  launches: new Map(),
  atWork: new Map(),
};
