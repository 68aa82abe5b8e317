import type { JsonObject } from "../../json_object.ts";
import type { StopSignal } from "../../claude/wire/stop_signal.ts";
import type { ControlRequest, ControlResponse } from "../../claude/wire/control.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { DeadlineName, Exit, HookPayload } from "./input.ts";
import type { Message, SettledMessage } from "./message.ts";
import type { Screen } from "../terminal/screen.ts";

/** The caller's changes of MCP servers. */
export interface ServerChanges {
  /** The servers that the caller has set last, as in `--mcp-config`. */
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
  /** The model's full name, where `model` is an alias and the name is known. */
  readonly chosenModel?: string;
  /** The effort; null for the default one. */
  readonly effort?: string | null;
  readonly permissionMode?: string;
  /** Most tokens to think with; null for no limit. */
  readonly maxThinkingTokens?: number | null;
  /** How thinking is displayed; null for the default. */
  readonly thinkingDisplay?: string | null;
  /** Arguments that load further plugins; all are read again. */
  readonly plugins?: readonly string[];
  /** Settings that override those of `--settings`; null removes a setting. */
  readonly flagSettings?: JsonObject;
  /** The session in which the conversation continues. */
  readonly begun?: string;
  /** Whether the files that messages mention are no longer read. */
  readonly readsNoMentions?: true;
  /** The message on the fd 0 of the next child alone. */
  readonly onStdin?: string;
  /** Texts of the user that are written into the transcript before the next child resumes the session. */
  readonly context?: readonly string[];
}

/** The answer to a hook that waits for one. With neither reply nor veto, Claude Code's own rules decide. */
export interface Answer {
  readonly type: "answer";
  readonly id: string;
  readonly reply?: HookPayload;
  /** Forbids the event's action, if its hooks can. */
  readonly veto?: true;
}

/** How a turn ended, and with it the run if it was the last one or the child did not outlive it. */
export type Ending =
  /** The Stop hook: the assistant is done; `unfinished` are the background tasks that were waited for long enough. */
  | {
    readonly kind: "answered";
    readonly stop: HookPayload;
    readonly unfinished?: readonly HookPayload[];
  }
  /** The StopFailure hook: the API failed. */
  | { readonly kind: "failed"; readonly failure: HookPayload }
  /** A hook of ours stopped the turn: it has had as many requests to the model as it may have. */
  | { readonly kind: "max-turns" }
  /** A permission is needed, and the tool that should decide does not exist. */
  | {
    readonly kind: "no-prompt-tool";
    readonly name: string;
    readonly available: readonly string[];
  }
  /** The caller's answer to a prompt's hook names another event; `message` is the error. */
  | { readonly kind: "misnamed-answer"; readonly message: string }
  /** The conversation has cost as much as it may. */
  | { readonly kind: "budget" }
  /** A hook of ours stopped the turn: the model has tried as often as it may to give a structured answer. */
  | { readonly kind: "output-tries" }
  /** The child is idle again without a hook: an interrupted turn, or a command that it carried out by itself. */
  | { readonly kind: "idle"; readonly prompted: boolean }
  /** A hook of the project has blocked the prompt; `text` is Claude Code's message. */
  | { readonly kind: "blocked"; readonly text: string }
  /** The child ended by itself before the turn did. */
  | { readonly kind: "exited"; readonly exit: Exit }
  /** The child refused to start and printed why. `claude -p` prints the same and exits with 1. */
  | { readonly kind: "refused"; readonly words: string }
  /** The wall clock ran out. */
  | { readonly kind: "timeout" }
  /** Hooks of ours could not report, because their folder is full or gone. */
  | { readonly kind: "unheard" }
  /** The child gave no sign of life for too long. */
  | { readonly kind: "silent" }
  /** This program was asked to stop. */
  | { readonly kind: "interrupted"; readonly signal: StopSignal }
  /** The caller stopped the turn, and nothing else. */
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
  /** The prompt was taken as another text than it is or, without `taken`, its paste was never seen, or an image in it. */
  | { readonly kind: "undelivered"; readonly taken?: string; readonly image?: true };

/** Something that the driver or the output is to do. */
export type Effect =
  /** Type to the child's terminal, completely and in order. */
  | { readonly type: "write"; readonly bytes: Uint8Array }
  /** Put an image, as base64, into a new file at a path. */
  | { readonly type: "place-image"; readonly path: string; readonly data: string }
  /** Send a prompt to the child's rendezvous socket. */
  | { readonly type: "deliver"; readonly prompt: string }
  /** Answer a hook that waits. */
  | Answer
  /** Arm a deadline again, or clear it if `afterMs` is absent. */
  | { readonly type: "deadline"; readonly name: DeadlineName; readonly afterMs?: number }
  /** Postpone all deadlines but the wall clock's. */
  | { readonly type: "postpone"; readonly byMs: number }
  /** Give the child's terminal another size, in character cells. */
  | {
    readonly type: "resize";
    readonly size: { readonly rows: number; readonly cols: number };
  }
  /** Render the terminal and answer with a `screen` input. */
  | { readonly type: "look" }
  /** Record which processes the child's tools have started: this cannot be found out once the child has ended them. */
  | { readonly type: "note-tools" }
  /** Signal the child; with `tree`, the processes its tools started as well. */
  | { readonly type: "kill"; readonly signal: "SIGTERM" | "SIGKILL"; readonly tree: boolean }
  /** Look which shells run, and answer with a `shells` input. */
  | { readonly type: "list-shells" }
  /** Report all output of a shell, and not only its beginning. */
  | { readonly type: "follow-shell"; readonly id: string }
  /** Report the rest of a shell's output, and then forget the shell. */
  | { readonly type: "leave-shell"; readonly id: string }
  /**
   * A turn has ended, and the conversation continues. If not `recorded`, lines of it follow before the next turn's prompt.
   * `tickets` are those of its messages; `unwritten` are those of messages whose lines are not read yet.
   * `endedBy` is when the hook ran that announced the end, in milliseconds since the epoch.
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
   * Ask the headless helper, or read a task's output, and give the answer as a `consulted` input. The helper is started with
   * `changes` that the child does not have yet.
   */
  | {
    readonly type: "consult";
    readonly request: ControlRequest;
    readonly changes?: ChildChanges;
  }
  /** Print a frame: a question to the caller, who answers with an `answer` input, or that its answer is not needed. */
  | { readonly type: "frame"; readonly frame: Frame }
  /** Send a message to the child in the name of an MCP server. */
  | { readonly type: "mcp-message"; readonly server: string; readonly message: JsonObject }
  /** The caller has cancelled a message that the child was not given. */
  | { readonly type: "cancelled"; readonly message: Message }
  /** A task in the background has been stopped because the caller wanted that. */
  | { readonly type: "stopped"; readonly task: string }
  /** The caller has chosen another model. */
  | { readonly type: "model"; readonly model: string }
  /** An answer or a request of the caller has changed the permission mode. */
  | { readonly type: "mode"; readonly mode: string }
  /** Report that a hook of the caller has failed, in the words of `claude -p`. */
  | {
    readonly type: "remark";
    readonly text: string;
    /** Whether it is Claude Code's own message, not about a failed call of the caller. */
    readonly own?: true;
    /** Whether it is about a Stop hook that was to block on failure. */
    readonly ofStop?: true;
  }
  /** Commands have been read again. */
  | { readonly type: "commands"; readonly commands: readonly unknown[] }
  /** The transcript has a prompt under another id than the caller gave it: `line` is that id. */
  | { readonly type: "named"; readonly line: string; readonly given: string }
  /** The caller has given the session another title. */
  | { readonly type: "title"; readonly title: string }
  /** Print a line of the child's debug log. */
  | { readonly type: "log"; readonly line: string }
  /** Print a line under `--trace`. */
  | { readonly type: "trace"; readonly text: string }
  /** Nothing more will happen; `exit` is absent when the child could not even be killed. */
  | { readonly type: "end"; readonly ending: Ending; readonly exit?: Exit };

/** Arms a deadline again, or clears it. */
export function deadline(name: DeadlineName, afterMs?: number): Effect {
  return { type: "deadline", name, ...(afterMs === undefined ? {} : { afterMs }) };
}

/** Types keys. */
export function write(keys: string): Effect {
  return { type: "write", bytes: new TextEncoder().encode(keys) };
}
