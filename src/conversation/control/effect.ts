import type { JsonObject } from "../../json_object.ts";
import type { StopSignal } from "../../claude/wire/stop_signal.ts";
import type { CallerQuestion, ControlRequest, ControlResponse } from "../../claude/wire/control.ts";
import type { DeadlineName, Exit, HookPayload } from "./input.ts";
import type { Message, SettledMessage } from "./message.ts";
import type { Screen } from "../terminal/screen.ts";

/** What a caller may change about MCP servers. */
export interface ServerChanges {
  /** Those that it has set, as `--mcp-config` names them, in the place of those that it has set before. */
  readonly setServers?: JsonObject;
  /** Those of them that could not be reached when they were set: nobody waits for them again. */
  readonly unreached?: readonly string[];
  /** Those that it has switched off, or on again, by their names. */
  readonly switched?: Readonly<Record<string, boolean>>;
}

/** What the caller has asked to be otherwise, by a request or a command, which a child cannot change while it lives. */
export interface ChildChanges extends ServerChanges {
  /** The model; null for that of a session for which nobody names one. */
  readonly model?: string | null;
  /** The model's own name, where it is known beside an alias. */
  readonly chosenModel?: string;
  /** The effort; null for that which a session has for which nobody names one. */
  readonly effort?: string | null;
  readonly permissionMode?: string;
  /** Most tokens to think with; null for as many as without a limit. */
  readonly maxThinkingTokens?: number | null;
  /** How thinking is told of; null for as without saying so. */
  readonly thinkingDisplay?: string | null;
  /** Arguments that load further plugins; all are read again. */
  readonly plugins?: readonly string[];
  /** Settings over those of `--settings`; null for what is not set any more. */
  readonly flagSettings?: JsonObject;
  /** The session in which the conversation goes on. */
  readonly begun?: string;
  /** Whether no file is read any more because a message mentions it. */
  readonly readsNoMentions?: true;
  /** The message that the next child alone finds on its fd 0. */
  readonly onStdin?: string;
  /** Texts of the user that the transcript gets before the next child resumes the session. */
  readonly context?: readonly string[];
}

/** The answer to a hook that waits for one. With neither reply nor veto, Claude Code's own rules decide. */
export interface Answer {
  readonly type: "answer";
  readonly id: string;
  readonly reply?: HookPayload;
  /** Forbids what the event is about, where its hooks can. */
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
  /** A permission is needed, and the tool that should decide is not there. */
  | {
    readonly kind: "no-prompt-tool";
    readonly name: string;
    readonly available: readonly string[];
  }
  /** A hook of the caller's has answered for a prompt what one of another event would; `message` says so. */
  | { readonly kind: "misnamed-answer"; readonly message: string }
  /** The conversation has cost as much as it may. */
  | { readonly kind: "budget" }
  /** A hook of ours stopped the turn: the model has tried as often as it may to give a structured answer. */
  | { readonly kind: "output-tries" }
  /** The child is idle again and no hook said so: an interrupted turn, or a command it carried out by itself. */
  | { readonly kind: "idle"; readonly prompted: boolean }
  /** A hook of the project's has blocked the prompt; `text` is what Claude Code says of it. */
  | { readonly kind: "blocked"; readonly text: string }
  /** The child ended by itself before the turn did. */
  | { readonly kind: "exited"; readonly exit: Exit }
  /** The child refused to start, and said why, as `claude -p` says it: with an exit code of 1. */
  | { readonly kind: "refused"; readonly words: string }
  /** The wall clock ran out. */
  | { readonly kind: "timeout" }
  /** Hooks of ours could not tell what they had to. */
  | { readonly kind: "unheard" }
  /** There was no sign of life for too long. */
  | { readonly kind: "silent" }
  /** This program was asked to stop. */
  | { readonly kind: "interrupted"; readonly signal: StopSignal }
  /** The caller stopped the turn, and nothing else. */
  | { readonly kind: "aborted" }
  /** The child goes on with a turn that the caller has stopped. */
  | { readonly kind: "unstoppable" }
  /** A message was answered, or refused, without the child. */
  | { readonly kind: "settled"; readonly message: SettledMessage }
  /** There are no further messages. */
  | { readonly kind: "closed" }
  /** What comes next is for another child, of the same session, that is started otherwise. */
  | {
    readonly kind: "renewed";
    readonly changes: ChildChanges;
    /** Whether this one has lost what it was given. */
    readonly lost?: true;
  }
  /** What the caller sent could not be understood. */
  | { readonly kind: "unreadable"; readonly reason: string }
  /** A screen waits for a choice that this program does not know, or does not take. */
  | { readonly kind: "dialog"; readonly name?: string; readonly screen: Screen }
  /** The child was not ready for a prompt in time; `silent` when it wrote nothing at all. */
  | { readonly kind: "not-started"; readonly silent: boolean }
  /** The child was ready, but did not take the prompt in time. */
  | { readonly kind: "not-taken" }
  /** The child was ready, but had no rendezvous socket for the prompt. */
  | { readonly kind: "unreachable" }
  /** The prompt was taken as another text than it is or, without `taken`, its paste was never seen, or an image in it. */
  | { readonly kind: "undelivered"; readonly taken?: string; readonly image?: true };

/**
 * What becomes of a permission for a call.
 *
 * - `failed`: the caller could not be asked, or has not said anything that can be understood
 * - `withdrawn`: the turn was stopped first
 * - `forbidden`: a hook of the caller's said no
 * - `late`: a hook of the caller's said nothing, or the tool that was asked has failed
 * - `gone`: the caller has gone, whose hook could have said no
 * - `unasked`: a hook of the caller's wanted somebody to be asked, and nobody is there
 */
export type CallDecision =
  | "accepted"
  | "rejected"
  | "failed"
  | "withdrawn"
  | "forbidden"
  | "late"
  | "gone"
  | "unasked";

/** Whatever a run does. */
export type Effect =
  /** Type to the child's terminal, completely and in order. */
  | { readonly type: "write"; readonly bytes: Uint8Array }
  /** Put an image, as base64, into a new file at a path. */
  | { readonly type: "place-image"; readonly path: string; readonly data: string }
  /** Send a prompt to the child's rendezvous socket. */
  | { readonly type: "deliver"; readonly prompt: string }
  /** Answer a hook that waits for it; without a reply it has nothing to say. */
  | Answer
  /** Set a deadline anew, or clear it when `afterMs` is absent. */
  | { readonly type: "deadline"; readonly name: DeadlineName; readonly afterMs?: number }
  /** Put every deadline but the wall clock's off. */
  | { readonly type: "postpone"; readonly byMs: number }
  /** Give the child's terminal another size, in character cells. */
  | {
    readonly type: "resize";
    readonly size: { readonly rows: number; readonly cols: number };
  }
  /** Render the terminal and answer with a `screen` input. */
  | { readonly type: "look" }
  /** Note which processes its tools have started: once it has ended them, nothing tells any more. */
  | { readonly type: "note-tools" }
  /** Signal the child; with `tree`, the processes its tools started as well. */
  | { readonly type: "kill"; readonly signal: "SIGTERM" | "SIGKILL"; readonly tree: boolean }
  /** Look which shells run, and answer with a `shells` input. */
  | { readonly type: "list-shells" }
  /** Tell all that a shell writes, and not only how it begins. */
  | { readonly type: "follow-shell"; readonly id: string }
  /** Tell what is left of what a shell has written, and then forget it. */
  | { readonly type: "leave-shell"; readonly id: string }
  /**
   * A turn is over, and the conversation goes on. What has not been `recorded` yet of it will be, before the next turn's
   * prompt. `tickets` are those of its messages; `unwritten` are those whose lines have not been read, and may still come.
   */
  | {
    readonly type: "turn";
    readonly ending: Ending;
    readonly recorded: boolean;
    readonly tickets: readonly string[];
    readonly unwritten?: readonly Message[];
  }
  /** Answer a request of the caller; `used` for one to which belongs what the conversation has used. */
  | { readonly type: "respond"; readonly response: ControlResponse; readonly used?: true }
  /**
   * Ask a headless Claude Code beside the child, or look at what a task has written where that is asked, and answer with a
   * `consulted` input. It is started with `changes`, where
   * what is asked for comes after them and the child was started before.
   */
  | {
    readonly type: "consult";
    readonly request: ControlRequest;
    readonly changes?: ChildChanges;
  }
  /** Ask the caller, who answers with an `answer` input. */
  | { readonly type: "ask"; readonly id: string; readonly question: CallerQuestion }
  /** Say something to the child in the name of an MCP server of the caller's. */
  | { readonly type: "mcp-message"; readonly server: string; readonly message: JsonObject }
  /** Tell the caller that nobody waits for an answer any more. */
  | { readonly type: "withdraw"; readonly id: string }
  /** What has become of the permission for a call that the caller is asked for. */
  | { readonly type: "decided"; readonly toolUseId: string; readonly decision: CallDecision }
  /** The caller has taken a message back that the child was not given. */
  | { readonly type: "cancelled"; readonly message: Message }
  /** A task in the background has been stopped because the caller wanted that. */
  | { readonly type: "stopped"; readonly task: string }
  /** The caller has chosen another model. */
  | { readonly type: "model"; readonly model: string }
  /** The session is in another permission mode because of what the caller has answered or asked for. */
  | { readonly type: "mode"; readonly mode: string }
  /** A hook of the caller's has failed, which `claude -p` tells in these words. */
  | {
    readonly type: "remark";
    readonly text: string;
    /** Whether Claude Code says it in its own name, and not of a call of the caller's that has failed. */
    readonly own?: true;
    /** Whether a Stop hook has failed that was to block then, of which is told besides. */
    readonly ofStop?: true;
  }
  /** Commands have been read again. */
  | { readonly type: "commands"; readonly commands: readonly unknown[] }
  /** The transcript has a prompt under another id than the caller gave it: `line` is that id. */
  | { readonly type: "named"; readonly line: string; readonly given: string }
  /** The caller has given the session another title. */
  | { readonly type: "title"; readonly title: string }
  /** A line of the child's debug log, for whoever asked for it. */
  | { readonly type: "log"; readonly line: string }
  /** Something worth a line under `--trace`. */
  | { readonly type: "trace"; readonly text: string }
  /** What the child leaves of an answer is written, and nothing but its own end is still to come. */
  | { readonly type: "whole"; readonly ending: Ending }
  /** Nothing more will happen; `exit` is absent when the child could not even be killed. */
  | { readonly type: "end"; readonly ending: Ending; readonly exit?: Exit };

/** Sets a deadline anew, or clears it. */
export function deadline(name: DeadlineName, afterMs?: number): Effect {
  return { type: "deadline", name, ...(afterMs === undefined ? {} : { afterMs }) };
}

/** Types text. */
export function write(keys: string): Effect {
  return { type: "write", bytes: new TextEncoder().encode(keys) };
}
