import { remedyFor } from "../../terminal/recognise_dialog.ts";
import type { Ending } from "../../control/effect.ts";
import type { Exit, HookPayload } from "../../control/input.ts";
import type { Limits } from "../../control/session_options.ts";
import type { SettledMessage } from "../../control/message.ts";
import type { Outcome } from "../../../claude/wire/outcome.ts";
import type { ResultFrame } from "../../../claude/wire/result_frame.ts";
import { OUTPUT_TOOL } from "../../../claude/transcript/structured_output_tool.ts";
import type { Turn } from "../../../claude/transcript/turn.ts";
import { type ApiFailure, apiFailure } from "./api_failure.ts";

/** What a run's ending means to its user. */
export interface Verdict {
  readonly outcome: Outcome;
  /** A failure's cause in one line, where it is not the outcome's own message. */
  readonly message?: string;
  /** What can be done about a failure. */
  readonly suggestion?: string;
  /** Set when the API failed: whether the same may well succeed later, and when a limit that is used up is reset. */
  readonly failure?: Pick<ApiFailure, "kind" | "isTemporary" | "resetsAt">;
  /** Whether the last screen helps to understand a failure. */
  readonly showScreen: boolean;
  /** Set when what there may be of an answer is one to another prompt than was sent. */
  readonly isForeign?: true;
}

/** The outcome of a turn that the caller has stopped. */
export function abortedOutcome(turn: Turn | undefined): Outcome {
  return {
    kind: "error_during_execution",
    message: `[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=${
      turn?.stopReason ?? null
    }`,
  };
}

/**
 * Says what an ending means.
 *
 * @param options.command the command that was to make the prompt, such as `/init`
 * @param options.conversation whether it is a conversation, of which some messages are pasted whatever the command line says
 * @param options.turn the last turn of the transcript
 * @param options.credential the variable that holds the key or token in use; absent for a login
 * @param options.record the folder of the run's recording
 * @param options.isClaude whether the executable says it is Claude Code; asked only when no turn began
 */
export function verdictOf(
  ending: Ending,
  options: {
    readonly command?: string | undefined;
    readonly conversation?: boolean | undefined;
    readonly limits: Limits;
    readonly binary: string;
    readonly isClaude: boolean;
    readonly turn: Turn | undefined;
    readonly altered?: string | undefined;
    readonly credential?: string | undefined;
    readonly maxTurns?: number | undefined;
    readonly maxBudgetUsd?: number | undefined;
    readonly outputTries?: number | undefined;
    readonly record?: string | undefined;
    /** Milliseconds since the epoch. */
    readonly now: number;
  },
): Verdict {
  const { limits, command } = options;
  switch (ending.kind) {
    case "answered": {
      // Without a request there is no StopFailure: the answer is Claude Code's own sentence.
      const { turn } = options;
      if (turn?.atLimit) return verdictOf({ kind: "max-turns" }, options);
      return turn?.error === undefined
        ? { outcome: { kind: "answered" }, showScreen: false }
        : failedVerdict({ error: turn.error.kind, text: turn.text }, options);
    }
    case "failed": {
      const { error, last_assistant_message: text } = ending.failure;
      return failedVerdict({
        error: typeof error === "string" ? error : "unknown",
        text: typeof text === "string" ? text : "",
      }, options);
    }
    case "max-turns": {
      const turns = options.maxTurns ?? 0;
      const requests = Math.max(1, Math.floor(turns));
      return {
        outcome: {
          kind: "error_max_turns",
          turns: requests,
          message: `Reached maximum number of turns (${turns})`,
        },
        message: `The turn was stopped at its limit: ${
          requests === 1 ? "1 request" : `${requests} requests`
        } to the model`,
        suggestion: "Allow more with --max-turns, or go on with --resume and the session's id",
        showScreen: false,
      };
    }
    case "budget":
      return overspentVerdict(options);
    case "misnamed-answer":
      return {
        outcome: { kind: "error_during_execution", message: ending.message },
        suggestion: "Have the hook name its own event in hookSpecificOutput.hookEventName",
        showScreen: false,
      };
    case "no-prompt-tool": {
      const tools = ending.available.length === 0 ? "none" : ending.available.join(", ");
      return {
        outcome: {
          kind: "bad_input",
          message: `MCP tool ${ending.name} (passed via --permission-prompt-tool) not found. ` +
            `Available MCP tools: ${tools}`,
        },
        suggestion: "Name a tool of an MCP server that is configured and starts: mcp__SERVER__TOOL",
        showScreen: false,
      };
    }
    case "output-tries":
      return {
        outcome: {
          kind: "error_max_structured_output_retries",
          message: triedSentence(options.outputTries ?? 0, options.turn),
        },
        suggestion:
          "Look whether an answer can fit --json-schema, or allow more tries with MAX_STRUCTURED_OUTPUT_RETRIES",
        showScreen: false,
      };
    case "aborted":
      return { outcome: abortedOutcome(options.turn), showScreen: false };
    case "unstoppable":
      return failure(
        "Claude Code goes on with a turn that its caller has stopped: it takes no Escape",
        "Look at its last screen for what it does",
      );
    case "settled":
      return ending.message.settled.kind === "unaffordable"
        ? overspentVerdict(options)
        : settledVerdict(ending.message.settled);
    case "closed":
    case "renewed":
      return { outcome: { kind: "answered" }, showScreen: false };
    case "unreadable":
      return {
        outcome: { kind: "bad_input", message: ending.reason },
        suggestion: "Send one JSON object a line, as for claude -p --input-format stream-json",
        showScreen: false,
      };
    case "timeout":
      return {
        outcome: {
          kind: "timeout",
          message: `The run timed out after ${seconds(limits.timeoutMs)}`,
        },
        suggestion: "Give it more time with --timeout SECONDS",
        showScreen: false,
      };
    case "unheard":
      return failure(
        "Claude Code's hooks cannot tell anything: the run's private folder is full or gone, or no process can be started",
        "Make room in $TMPDIR, set TMPDIR to a folder that nobody cleans up, or end some processes",
        false,
      );
    case "silent":
      return late("idle_timeout", {
        message: `Claude Code gave no sign of life for ${seconds(limits.idleTimeoutMs ?? 0)}`,
        suggestion:
          "Look whether the API answers, or give it more time with --idle-timeout SECONDS",
      });
    case "interrupted": {
      const remedy = limitRemedy(ending.signal);
      return {
        outcome: {
          kind: "interrupted",
          signal: ending.signal,
          message: `The run was interrupted by ${ending.signal}`,
        },
        ...(remedy === undefined ? {} : { suggestion: remedy }),
        showScreen: false,
      };
    }
    case "blocked":
      return { outcome: { kind: "local", text: ending.text }, showScreen: false };
    case "idle":
      // No hook reports a failure without a request: Claude Code itself refuses a prompt that is far too long.
      if (options.turn?.error !== undefined) {
        return verdictOf({ kind: "answered", stop: {} }, options);
      }
      if (command !== undefined) return withoutPrompt(command);
      return {
        outcome: {
          kind: "assistant_error",
          message: options.turn?.end?.startsWith("interrupted")
            ? "The turn was interrupted inside Claude Code"
            : "The turn ended without an answer: Claude Code is idle and no hook said why",
        },
        suggestion: "Look for hooks of the project that stop a turn",
        showScreen: true,
      };
    case "dialog": {
      if (command !== undefined) return withoutPrompt(command);
      const remedy = remedyFor(ending.name) ??
        "Run claude in this folder, answer the dialog there, and try again";
      if (ending.name !== undefined) {
        return failure(`Claude Code waits for an answer to its ${ending.name} dialog`, remedy);
      }
      return failure(
        "Claude Code waits for an answer to a dialog that claude-print does not know",
        options.record === undefined
          ? remedy
          : `${remedy}; the recording in ${options.record} shows what came before it`,
      );
    }
    case "not-started":
      if (!options.isClaude) return notClaude(options.binary);
      return late("start_timeout", {
        message: ending.silent
          ? `Claude Code wrote nothing to its terminal in ${seconds(limits.startTimeoutMs)}`
          : `Claude Code was not ready for a prompt in ${seconds(limits.startTimeoutMs)}`,
        suggestion: "Run claude in this folder to see what it waits for, or raise --start-timeout",
      });
    case "not-taken":
      return late("delivery_timeout", {
        message: `Claude Code did not take the prompt in ${seconds(limits.deliveryTimeoutMs)}`,
        suggestion: "Look for hooks that hold the session up, or raise --delivery-timeout",
      });
    case "unreachable":
      return failure(
        "Cannot deliver the prompt as it is: Claude Code opened no rendezvous socket, its one way in for such a text",
        "Begin the prompt with another word, or remove invisible characters from it",
      );
    case "undelivered":
      if (ending.image === true) {
        return failure(
          "Cannot deliver the message: an image in it did not appear in Claude Code's input box",
          "Look whether the image is whole, and whether there is room in TMPDIR",
        );
      }
      if (ending.taken === undefined) {
        return failure(
          "Cannot deliver the prompt: the paste did not appear in Claude Code's input box",
          options.conversation
            ? "Look on the last screen for what stands in its place, and send the message again"
            : "Leave out --inject paste",
        );
      }
      return wrappedVerdict(ending.taken) ?? {
        ...failure(
          `Cannot deliver the prompt as it is: Claude Code would change it${
            options.altered === undefined ? "" : `, beginning with ${options.altered}`
          }`,
          "Remove such characters from the prompt, or put the text into a file and name that file",
          false,
        ),
        isForeign: true,
      };
    case "refused":
      return { outcome: { kind: "refused", message: ending.words }, showScreen: false };
    case "exited": {
      const how = describeExit(ending.exit);
      // What a signal ends at its start cannot say its version either.
      if (!options.isClaude && ending.exit.kind === "exited") return notClaude(options.binary);
      return failure(
        `Claude Code ended before the turn did: ${how}`,
        limitRemedy(how) ?? "The last screen may tell why; run claude in this folder to see more",
      );
    }
    default:
      return ending satisfies never;
  }
}

/** What is said of a prompt that Claude Code has wrapped in tags, as its text tells. */
export function wrappedVerdict(taken: string): Verdict | undefined {
  return taken.includes("<pasted_content")
    ? {
      ...failure(
        "Cannot paste the prompt as it is: Claude Code wraps a text of this size in tags",
        "Leave out --inject paste: on stdin every size goes in as it is",
        false,
      ),
      isForeign: true,
    }
    : undefined;
}

/** The budget that is used up, as `claude -p` words it. */
export function overspentVerdict(
  { maxBudgetUsd = 0 }: { readonly maxBudgetUsd?: number | undefined },
): Verdict {
  return {
    outcome: {
      kind: "error_max_budget_usd",
      usd: maxBudgetUsd,
      message: `Reached maximum budget ($${maxBudgetUsd})`,
    },
    message: `The budget of $${maxBudgetUsd} is used up`,
    suggestion: "Allow more with --max-budget-usd, or go on with --resume and the session's id",
    showScreen: false,
  };
}

function settledVerdict(
  settled: Exclude<SettledMessage["settled"], { readonly kind: "unaffordable" }>,
): Verdict {
  if (settled.kind === "local") {
    const { text, carried: { name } = {} } = settled;
    const command = name === undefined ? {} : { command: name };
    return { outcome: { kind: "local", text, ...command }, showScreen: false };
  }
  if (settled.kind === "asked") {
    return failure(
      "The command was not carried out: the conversation has ended before it was its turn",
      "Send it again",
      false,
    );
  }
  const { message, suggestion, malformed } = settled;
  const kind = malformed === true ? "bad_input" : "internal_error";
  return { outcome: { kind, message }, suggestion, showScreen: false };
}

function failedVerdict(
  failure: { readonly error: string; readonly text: string },
  options: {
    readonly turn: Turn | undefined;
    readonly credential?: string | undefined;
    readonly now: number;
  },
): Verdict {
  const { message, suggestion, ...known } = apiFailure({
    status: null,
    ...options.turn?.error,
    ...failure,
    credential: options.credential,
  }, options);
  return {
    outcome: { kind: "failed", ...failure },
    message,
    suggestion,
    failure: known,
    showScreen: false,
  };
}

/** Longest that is told of the last mistake, in UTF-16 code units. */
const MAX_MISTAKE = 600;

/** How `claude -p` says that the model has tried in vain, with its last mistake. */
function triedSentence(tries: number, turn: Turn | undefined): string {
  const sentence = `Failed to provide valid structured output after ${tries} attempts`;
  const calls = new Set(
    turn?.toolUses.filter(({ name }) => name === OUTPUT_TOOL).map(({ id }) => id),
  );
  const mistake = turn?.toolResults.findLast(({ toolUseId }) => calls.has(toolUseId))?.text;
  if (mistake === undefined) return sentence;
  const told = mistake.length > MAX_MISTAKE ? `${mistake.slice(0, MAX_MISTAKE)}…` : mistake;
  return `${sentence} — last StructuredOutput error: ${told}`;
}

/** What can be done about a signal that tells of a limit. */
function limitRemedy(signal: string): string | undefined {
  switch (signal) {
    case "SIGXCPU":
      return "Raise the limit of CPU time: ulimit -t";
    case "SIGXFSZ":
      return "Raise the limit of the size of files: ulimit -f";
    default:
      return undefined;
  }
}

/** A process's end in words. */
function describeExit(exit: Exit): string {
  return exit.kind === "exited" ? `exit code ${exit.code}` : exit.name ?? `signal ${exit.signal}`;
}

function withoutPrompt(command: string): Verdict {
  return failure(
    `Claude Code made no prompt of "${command}"`,
    "Look at its last screen for the reason, or run the command in claude itself",
  );
}

function notClaude(binary: string): Verdict {
  return failure(
    `Cannot use "${binary}": it is not Claude Code, its --version says something else`,
    "Name Claude Code's executable with --claude-binary",
  );
}

function late(
  kind: "start_timeout" | "delivery_timeout" | "idle_timeout",
  words: { readonly message: string; readonly suggestion: string },
): Verdict {
  const { message, suggestion } = words;
  return { outcome: { kind, message }, suggestion, showScreen: true };
}

function failure(message: string, suggestion: string, showScreen = true): Verdict {
  return { outcome: { kind: "internal_error", message }, suggestion, showScreen };
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}

/** A failure in one line, and what to do about it. */
export interface Problem {
  readonly message: string;
  readonly suggestion?: string;
}

/** What has to be known of a run to say what became of it. */
export interface ReportOptions {
  readonly limits: Limits;
  /** Path of the executable. */
  readonly binary: string;
  /** The variable that holds the key or token in use; absent for a login. */
  readonly credential?: string;
  readonly maxTurns?: number;
  readonly maxBudgetUsd?: number;
  /** How often the model may try to give a structured answer. */
  readonly outputTries?: number;
  /** Whether the child sends no prompt that waits for its time, because the project has such prompts. */
  readonly keptAsleep?: true;
  /** The folder of the run's recording. */
  readonly record?: string;
}

/** What became of a run, or of one of its turns. */
export interface Report {
  /** The result of the turn, or of the last of several. */
  readonly result: ResultFrame;
  readonly exitCode: number;
  /** Tickets of the messages that it answers, where they have any. */
  readonly tickets?: readonly string[];
  /** Absent when the result says it all. */
  readonly problem?: Problem;
  /** What the user should know of a run that did not fail, in one line. */
  readonly warning?: string;
  /** Whether the last screen helps to understand a failure. */
  readonly showScreen: boolean;
}

/**
 * Names the background tasks that were stopped because they had been waited for long enough.
 *
 * @param tasks as the Stop hook names them
 */
export function unfinishedProblem(tasks: readonly HookPayload[]): Problem {
  const names = tasks.map(({ type, description }) =>
    (type === "shell" || type === "subagent") && typeof description === "string"
      ? `${type} "${description}"`
      : "a task"
  );
  return {
    message: `Stopped waiting for what runs in the background: ${names.join(", ")}`,
    suggestion:
      "Wait longer with CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS=MILLISECONDS, without end with 0",
  };
}
