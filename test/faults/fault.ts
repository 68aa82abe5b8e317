import type { Moment as StandInMoment, Scenario } from "../../fixtures/mock/scenario.ts";

/** The moments of a run at which something goes wrong, in order. */
export const MOMENTS = [
  "before start",
  "at the dialog",
  "at the prompt",
  "in a tool",
  "at Stop",
  "while forwarding",
] as const;

/** One of {@link MOMENTS}. */
export type Moment = typeof MOMENTS[number];

/** Makes another command out of the one that would be run. */
export type Wrap = (command: readonly string[]) => readonly string[];

/** How a run ends to which something happens at a moment. */
export interface Ends {
  /** The exit code, and the `subtype` of the result object. */
  readonly code: number;
  readonly subtype: string;
  /** The one line on stderr that names the cause; absent where there is nothing to say. */
  readonly says?: RegExp;
  /** Flags of the run: the limits that end it. */
  readonly args?: readonly string[];
  /** What is unusual about the child besides the fault, or instead of it. */
  readonly scenario?: Partial<Scenario>;
  readonly wrap?: Wrap;
  /** Whether it may outdate a child that waits, so that the run gets one of its own. */
  readonly outdates?: true;
}

/** A cell of the table: how the run ends, or why there is nothing that could happen. */
export type Cell = Ends | { readonly senseless: string };

/** A row of the table: something that goes wrong, and how a run ends to which that happens. */
export interface Fault {
  readonly name: string;
  /** What the stand-in does, or is done to it, at one of its moments. */
  readonly scenario: (at: StandInMoment) => Partial<Scenario>;
  /** What this machine lacks to have the fault. */
  readonly lack?: string | undefined;
  /**
   * Moments that one run can have all of, since what is done at one of them is over before the next: their cells are the
   * same.
   */
  readonly together?: readonly Moment[];
  /** Whether it lasts, so that a run is another one which begins after it. */
  readonly goesBefore?: boolean;
  readonly cells: Readonly<Record<Moment, Cell>>;
}
