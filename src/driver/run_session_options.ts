import type { Outlet } from "../../ffi/descriptors/outlet.ts";
import type { ChildTerminal } from "./child_terminal.ts";
import type { TwinPlan } from "./effects/twin_plan.ts";
import type { RendezvousOptions } from "./effects/rendezvous.ts";
import type { Caller, CallerInput } from "./inputs/caller/caller.ts";
import type { StreamSource } from "./inputs/stream_source.ts";
import type { Child } from "./start_child.ts";
import type { StopSignals } from "./stop_signals.ts";
import type { UserTerminal } from "./user_terminal.ts";
import type {
  ConversationEffect,
  ConversationOptions,
} from "../conversation/output/conversation.ts";
import type { LateTerms } from "../conversation/control/session_options.ts";
import type { Bridge } from "../sandbox/folder/folder_contents.ts";
import type { Input, OutputProblem } from "../conversation/control/input.ts";
import type { Entry } from "../claude/transcript/entry.ts";

/** A child and how to watch it. */
export interface RunSessionOptions {
  /** The child, which whoever started it disposes of, and its terminal. */
  readonly child: Child;
  readonly childTerminal: ChildTerminal;
  /** Path of its executable, and its environment. */
  readonly binary: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** What the machines are told. */
  readonly conversation: ConversationOptions;
  /** What is sent in any case, and what the caller has said before there was a child. */
  readonly begin: readonly CallerInput[];
  /** The caller of a conversation. */
  readonly caller?: Caller | undefined;
  /** Gives, once there are some, the terms of a caller that came after the child. */
  readonly takeTerms?: () => LateTerms | undefined;
  /** The lines that earlier runs of a resumed session wrote. */
  readonly earlier: readonly Entry[];
  /** Whether anybody wants frames, which take a look at what subagents and shells do. */
  readonly frames: boolean;
  /** Whether an answer alone is printed once there is one, and nobody looks on. */
  readonly answerAlone?: boolean | undefined;
  /** The id under which Claude Code keeps the session. */
  readonly sessionId: string;
  /** The run's private folder. */
  readonly sandbox: {
    readonly configDir: string;
    readonly tempDir: string;
    readonly streamsDir: string;
    readonly bridges: readonly Bridge[];
    readonly resumed: ReadonlyMap<string, number>;
    /** Takes the id that a caller gave what has another one in the transcript. */
    name(id: { readonly line: string; readonly given: string }): void;
  };
  /** The child's rendezvous socket, if the session was told to send the prompt there. */
  readonly rendezvous?: RendezvousOptions | undefined;
  /** How a headless Claude Code is started that is asked what the child cannot tell, where somebody may ask. */
  readonly twin?: TwinPlan | undefined;
  /** What stands between the child and the API, and what that streams, if it is heard. */
  readonly relay?: { readonly source?: StreamSource } | undefined;
  /** What structured answers have to look like, if some are wanted. */
  readonly output?: { readonly problemsOf: (value: unknown) => readonly OutputProblem[] };
  /** The signals that ask this run to stop. */
  readonly signals: StopSignals;
  /** The terminal whose size the child's has; absent for this program's own, if the signals are its own. */
  readonly terminal?: UserTerminal | undefined;
  /** What is written to meanwhile, without waiting: it is flushed whenever it takes what it owes. */
  readonly outlets?: readonly Outlet[];
  /** The child's debug log, if MCP servers are waited for. */
  readonly mcpLog?: string | undefined;
  /** Gives the new lines of the child's debug log, if retries of the API are to be seen. */
  readonly retryLines?: (() => readonly string[]) | undefined;
  /** Gives them too, if they are to be told. */
  readonly toldLines?: (() => readonly string[]) | undefined;
  /**
   * Called with every input before the machines take it: written down, they are a recording of the session. The
   * bytes of a `terminal` input are good only until it returns.
   */
  readonly onInput?: (input: Input) => void;
  /** Called with every effect of the machines before it is carried out; what is said is up to whoever takes it. */
  readonly onEffect?: (effect: ConversationEffect) => void;
}
