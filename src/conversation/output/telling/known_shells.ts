import type { Effect } from "../../control/effect.ts";

/** A shell in the foreground of the turn. */
export interface WaitedShell {
  /** When it was started, in milliseconds since the epoch; as long as that is not known, when it was called. */
  readonly since: number;
  readonly description: string;
  /** The id of its task, once that has been told. */
  readonly task?: string;
}

/** A call of the tool Bash that has not been told to be over. */
export interface ShellCall {
  readonly command: string;
  /** The shell that carries it out, once that is known. */
  readonly shell?: string;
  /** Whether the turn goes on without waiting for it. */
  readonly background?: true;
  /** Whether it has returned, or ended in the background, and only the rest of its output is awaited. */
  readonly returned?: true;
}

/** What a shell has written, to one of its streams where that is known. */
export interface ShellText {
  readonly text: string;
  readonly stream?: "stdout" | "stderr";
}

/** A shell of the tool Bash, as it was seen to run. */
export interface SeenShell {
  /** What its process carried out; absent for one that was gone too soon. */
  readonly command?: string;
  /** Whether it was seen to run for some time. */
  readonly running: boolean;
  /** Whether it is known whose it is: then what it writes is told. */
  readonly called: boolean;
  /** What it has written and nobody has been told. */
  readonly untold: readonly ShellText[];
  /** Whether that is all it wrote. */
  readonly over: boolean;
}

/** What the output waits for, or wants to know. */
export type OutputEffect = Extract<Effect, { readonly type: "deadline" | "list-shells" }>;

/** What is to be done about a shell, or noted of it. */
export type ShellOrder = Extract<
  Effect,
  { readonly type: "follow-shell" | "leave-shell" | "trace" }
>;
