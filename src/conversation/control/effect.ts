import type { JsonObject } from "../../json_object.ts";
import type { StopSignal } from "../../claude/wire/stop_signal.ts";
import type { ControlRequest, ControlResponse } from "../../claude/wire/control.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { DeadlineName, Exit, HookPayload } from "./input.ts";
import type { Message, SettledMessage } from "./message.ts";
import type { Screen } from "../terminal/screen.ts";

/** The caller's changes of MCP servers. */
export interface ServerChanges {
  /** The servers that the caller has set last, in the form of `--mcp-config`. */
  readonly setServers?: JsonObject;
  /** Servers that could not be reached when they were set. The first API request does not wait for them again. */
  readonly unreached?: readonly string[];
  /** Servers that the caller has enabled (true) or disabled (false), by name. */
  readonly switched?: Readonly<Record<string, boolean>>;
}

/** Changes by a request or a command that need another child. */
export interface ChildChanges extends ServerChanges {
  /** The model; null for the default one. */
  readonly model?: string | null;
  /** The model's full name, if `model` is an alias and the name is known. */
  readonly chosenModel?: string;
  /** The effort; null for the default one. */
  readonly effort?: string | null;
  readonly permissionMode?: string;
  /** The maximum number of thinking tokens; null for no limit. */
  readonly maxThinkingTokens?: number | null;
  /** How thinking is displayed; null for the default. */
  readonly thinkingDisplay?: string | null;
  /** Arguments that load further plugins. The child reads all plugins again. */
  readonly plugins?: readonly string[];
  /** Settings that override those of `--settings`; null removes a setting. */
  readonly flagSettings?: JsonObject;
  /** The session in which the conversation continues. */
  readonly begun?: string;
  /** Whether the child no longer reads the files that messages mention. */
  readonly readsNoMentions?: true;
  /** The message on fd 0 of the next child, but not of later ones. */
  readonly onStdin?: string;
  /** Texts of the user that are written to the transcript before the next child resumes the session. */
  readonly context?: readonly string[];
}

/** The answer to a waiting hook. With neither reply nor veto, Claude Code's own rules decide. */
export interface Answer {
  readonly type: "answer";
  readonly id: string;
  readonly reply?: HookPayload;
  /** Forbids the event's action, if hooks of this event can do so. */
  readonly veto?: true;
}

/** How a turn ended. The run ends with the turn if it was the last turn or the child did not outlive it. */
export type Ending =
  /** The Stop hook ran: the assistant has finished. `unfinished` are the background tasks whose wait has expired. */
  | {
    readonly kind: "answered";
    readonly stop: HookPayload;
    readonly unfinished?: readonly HookPayload[];
  }
  /** The StopFailure hook ran: the API failed. */
  | { readonly kind: "failed"; readonly failure: HookPayload }
  /** A hook of ours stopped the turn: it has reached the maximum number of requests to the model. */
  | { readonly kind: "max-turns" }
  /** A permission is needed, but the tool that should decide does not exist. */
  | {
    readonly kind: "no-prompt-tool";
    readonly name: string;
    readonly available: readonly string[];
  }
  /** The caller's answer to a prompt's hook names another event; `message` is the error. */
  | { readonly kind: "misnamed-answer"; readonly message: string }
  /** The budget of the conversation is used up. */
  | { readonly kind: "budget" }
  /** A hook of ours stopped the turn: the model has reached the maximum number of attempts at a structured answer. */
  | { readonly kind: "output-tries" }
  /** The child is idle again without a hook: the turn was interrupted, or the child carried out a command itself. */
  | { readonly kind: "idle"; readonly prompted: boolean }
  /** A hook of the project has blocked the prompt; `text` is Claude Code's message. */
  | { readonly kind: "blocked"; readonly text: string }
  /** The child ended by itself before the turn did. */
  | { readonly kind: "exited"; readonly exit: Exit }
  /** The child refused to start and printed why. `claude -p` prints the same and exits with 1. */
  | { readonly kind: "refused"; readonly words: string }
  /** The time limit of the run has expired. */
  | { readonly kind: "timeout" }
  /** Hooks of ours could not report, because their folder is full or missing. */
  | { readonly kind: "unheard" }
  /** The child gave no sign of life for too long. */
  | { readonly kind: "silent" }
  /** This program was asked to stop. */
  | { readonly kind: "interrupted"; readonly signal: StopSignal }
  /** The caller stopped the turn, but not the session. */
  | { readonly kind: "aborted" }
  /** The child continues a turn that the caller has stopped. */
  | { readonly kind: "unstoppable" }
  /** A message was answered, or refused, without the child. */
  | { readonly kind: "settled"; readonly message: SettledMessage }
  /** There are no further messages. */
  | { readonly kind: "closed" }
  /** The session continues in another child, which is started with changes. */
  | {
    readonly kind: "renewed";
    readonly changes: ChildChanges;
    /** Whether this child has lost its prompts. */
    readonly lost?: true;
  }
  /** The caller's input is invalid. */
  | { readonly kind: "unreadable"; readonly reason: string }
  /** A dialog waits for a choice that this program does not know, or does not make. */
  | { readonly kind: "dialog"; readonly name?: string; readonly screen: Screen }
  /** The child was not ready for a prompt in time; `silent` when it wrote nothing at all. */
  | { readonly kind: "not-started"; readonly silent: boolean }
  /** The child was ready, but did not take the prompt in time. */
  | { readonly kind: "not-taken" }
  /** The child was ready, but had no rendezvous socket for the prompt. */
  | { readonly kind: "unreachable" }
  /**
   * Claude Code took another text than the prompt. Without `taken`, the pasted text or an image in it was never seen.
   */
  | { readonly kind: "undelivered"; readonly taken?: string; readonly image?: true };

/** A task for the driver or the output. */
export type Effect =
  /** Type to the child's terminal, completely and in order. */
  | { readonly type: "write"; readonly bytes: Uint8Array }
  /** Put an image, as base64, into a new file at a path. */
  | { readonly type: "place-image"; readonly path: string; readonly data: string }
  /** Send a prompt to the child's rendezvous socket. */
  | { readonly type: "deliver"; readonly prompt: string }
  /** Answer a waiting hook. */
  | Answer
  /** Arm a deadline again, or clear it if `afterMs` is absent. */
  | { readonly type: "deadline"; readonly name: DeadlineName; readonly afterMs?: number }
  /** Postpone all deadlines except `timeout`. */
  | { readonly type: "postpone"; readonly byMs: number }
  /** Give the child's terminal another size, in character cells. */
  | {
    readonly type: "resize";
    readonly size: { readonly rows: number; readonly cols: number };
  }
  /** Render the terminal and answer with a `screen` input. */
  | { readonly type: "look" }
  /** Record which processes the child's tools have started. Once the child has ended them, this is impossible. */
  | { readonly type: "note-tools" }
  /** Signal the child; with `tree`, also the processes that its tools started. */
  | { readonly type: "kill"; readonly signal: "SIGTERM" | "SIGKILL"; readonly tree: boolean }
  /** List the running shells, and answer with a `shells` input. */
  | { readonly type: "list-shells" }
  /** Report all output of a shell, not only its beginning. */
  | { readonly type: "follow-shell"; readonly id: string }
  /** Report the rest of a shell's output, and then forget the shell. */
  | { readonly type: "leave-shell"; readonly id: string }
  /**
   * A turn has ended, and the conversation continues. If not `recorded`, lines of the turn follow before the next
   * turn's prompt. `tickets` are the tickets of its messages; `unwritten` are its messages whose lines have not been
   * read. `endedBy` is when the hook ran that announced the end, in milliseconds since the epoch.
   */
  | {
    readonly type: "turn";
    readonly ending: Ending;
    readonly recorded: boolean;
    readonly tickets: readonly string[];
    readonly unwritten?: readonly Message[];
    readonly endedBy?: number;
  }
  /** Answer a request of the caller; `used` if the answer includes the conversation's usage. */
  | { readonly type: "respond"; readonly response: ControlResponse; readonly used?: true }
  /**
   * Ask the headless helper, or read a task's output, and report the answer as a `consulted` input. The helper is
   * started with `changes` that the child does not have yet.
   */
  | {
    readonly type: "consult";
    readonly request: ControlRequest;
    readonly changes?: ChildChanges;
  }
  /** Print a frame: a question to the caller, who answers with an `answer` input, or the cancellation of a question. */
  | { readonly type: "frame"; readonly frame: Frame }
  /** Send a message to the child in the name of an MCP server. */
  | { readonly type: "mcp-message"; readonly server: string; readonly message: JsonObject }
  /** The caller has cancelled a message that the child had not received. */
  | { readonly type: "cancelled"; readonly message: Message }
  /** A background task was stopped at the caller's request. */
  | { readonly type: "stopped"; readonly task: string }
  /** The caller has chosen another model. */
  | { readonly type: "model"; readonly model: string }
  /** An answer or a request of the caller has changed the permission mode. */
  | { readonly type: "mode"; readonly mode: string }
  /** Report that a hook of the caller has failed, in the words of `claude -p`. */
  | {
    readonly type: "remark";
    readonly text: string;
    /** Whether the message is Claude Code's own, and not about a failed call of the caller. */
    readonly own?: true;
    /** Whether the message is about a Stop hook that should block on failure. */
    readonly ofStop?: true;
  }
  /** The commands were reloaded. */
  | { readonly type: "commands"; readonly commands: readonly unknown[] }
  /** The transcript has a prompt under another id than the caller gave it. `line` is the id in the transcript. */
  | { readonly type: "named"; readonly line: string; readonly given: string }
  /** The caller has given the session another title. */
  | { readonly type: "title"; readonly title: string }
  /** Print a line of the child's debug log. */
  | { readonly type: "log"; readonly line: string }
  /** Print a line under `--trace`. */
  | { readonly type: "trace"; readonly text: string }
  /** The session has ended: no effect follows. `exit` is absent if the child could not even be killed. */
  | { readonly type: "end"; readonly ending: Ending; readonly exit?: Exit };

/** Arms a deadline again, or clears it. */
export function deadline(name: DeadlineName, afterMs?: number): Effect {
  return { type: "deadline", name, ...(afterMs === undefined ? {} : { afterMs }) };
}

/** Types keys. */
export function write(keys: string): Effect {
  return { type: "write", bytes: new TextEncoder().encode(keys) };
}
