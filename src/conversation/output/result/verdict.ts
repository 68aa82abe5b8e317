import { remedyFor } from "../../terminal/recognise_dialog.ts";
import type { Ending } from "../../control/effect.ts";
import type { HookPayload } from "../../control/input.ts";
import type { Limits } from "../../control/session_options.ts";
import type { SettledMessage } from "../../control/message.ts";
import type { Outcome } from "../../../claude/wire/outcome.ts";
import type { ResultFrame } from "../../../claude/wire/result_frame.ts";
import { OUTPUT_TOOL } from "../../../claude/transcript/structured_output_tool.ts";
import type { Turn } from "../../../claude/transcript/turn.ts";
import { type ApiFailure, apiFailure } from "./api_failure.ts";

/** The facts that are needed to judge an ending, and known before the first turn ends. */
export interface ReportOptions {
  readonly limits: Limits;
  /** Path of the executable. */
  readonly binary: string;
  /** The variable that holds the key or token in use; absent for a login. */
  readonly credential?: string;
  readonly maxTurns?: number;
  readonly maxBudgetUsd?: number;
  /** The maximum number of attempts at a structured answer. */
  readonly outputTries?: number;
  /** Whether the child sends no scheduled prompts, because the project has some. */
  readonly keptAsleep?: true;
  /** The folder of the run's recording. */
  readonly record?: string;
}

/** The outcome of a run, or of one of its turns. */
export interface Report {
  /** The result of the turn, or of the last turn of several. */
  readonly result: ResultFrame;
  readonly exitCode: number;
  /** Tickets of the messages that the turn answers, if they have any. */
  readonly tickets?: readonly string[];
  /** The failure; absent if the result already describes it. */
  readonly problem?: Problem;
  /** A warning about a run that did not fail, in one line. */
  readonly warning?: string;
  /** Whether the last screen helps to understand a failure. */
  readonly showScreen: boolean;
}

/** A failure in one line, and its remedy. */
export interface Problem {
  readonly message: string;
  readonly suggestion?: string;
}

/** The meaning of a run's ending for the user. */
export interface Verdict {
  readonly outcome: Outcome;
  /** A failure's cause in one line, if it differs from the outcome's own message. */
  readonly message?: string;
  /** The remedy for a failure. */
  readonly suggestion?: string;
  /** Set if the API failed: whether the same request may succeed later, and when a limit that is used up is reset. */
  readonly failure?: Pick<ApiFailure, "kind" | "isTemporary" | "resetsAt">;
  /** Whether the last screen helps to understand a failure. */
  readonly showScreen: boolean;
  /** Set if the turn's text may answer another prompt than the one sent. */
  readonly isForeign?: true;
}

/** The known facts about the turn, and about the message that it answers. */
interface VerdictOptions extends ReportOptions {
  /** The typed command that should have made the prompt, such as `/init`. */
  readonly command?: string | undefined;
  /** Whether it is a conversation. Some of its messages are pasted, whatever the command line says. */
  readonly conversation?: boolean | undefined;
  /** The last turn of the transcript. */
  readonly turn: Turn | undefined;
  /** The first character of the prompt that Claude Code would change, and its position. */
  readonly altered?: string | undefined;
  /** Whether the executable reports that it is Claude Code. Used only if no turn began. */
  readonly isClaude: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type EndingOf<Kind extends Ending["kind"]> = Extract<Ending, { readonly kind: Kind }>;

/** Returns the meaning of an ending: the outcome, and for a failure its cause and a remedy. */
export function judgeEnding(ending: Ending, options: VerdictOptions): Verdict {
  switch (ending.kind) {
    case "answered":
      return answeredVerdict(options);
    case "failed":
      return stopFailureVerdict(ending, options);
    case "max-turns":
      return turnLimitVerdict(options);
    case "budget":
      return overspentVerdict(options);
    case "output-tries":
      return outputTriesVerdict(options);
    case "misnamed-answer":
      return misnamedAnswerVerdict(ending);
    case "no-prompt-tool":
      return noPromptToolVerdict(ending);
    case "aborted":
      return { outcome: abortedOutcome(options.turn), showScreen: false };
    case "settled":
      return settledVerdict(ending.message.settled, options);
    case "closed":
    case "renewed":
      return { outcome: { kind: "answered" }, showScreen: false };
    case "blocked":
      return { outcome: { kind: "local", text: ending.text }, showScreen: false };
    case "refused":
      return {
        outcome: { kind: "refused", message: ending.words },
        suggestion: "Claude Code ended before the prompt: correct the flag or file that it names",
        showScreen: false,
      };
    case "unreadable":
      return unreadableVerdict(ending);
    case "interrupted":
      return interruptedVerdict(ending);
    case "timeout":
    case "silent":
    case "not-taken":
      return lateVerdict(ending.kind, options.limits);
    case "not-started":
      return notStartedVerdict(ending, options);
    case "idle":
      return idleVerdict(options);
    case "dialog":
      return dialogVerdict(ending, options);
    case "unstoppable":
    case "unheard":
    case "unreachable":
      return brokenVerdict(ending.kind);
    case "undelivered":
      return undeliveredVerdict(ending, options);
    case "exited":
      return exitedVerdict(ending, options);
    default:
      return ending satisfies never;
  }
}

function answeredVerdict(options: VerdictOptions): Verdict {
  const { turn } = options;
  if (turn?.atLimit) return turnLimitVerdict(options);
  // Without a request there is no StopFailure hook: the answer is Claude Code's own sentence.
  return turn?.error === undefined
    ? { outcome: { kind: "answered" }, showScreen: false }
    : apiErrorVerdict({ error: turn.error.kind, text: turn.text }, options);
}

function stopFailureVerdict({ failure }: EndingOf<"failed">, options: VerdictOptions): Verdict {
  const { error, last_assistant_message: text } = failure;
  return apiErrorVerdict({
    error: typeof error === "string" ? error : "unknown",
    text: typeof text === "string" ? text : "",
  }, options);
}

function apiErrorVerdict(
  failure: { readonly error: string; readonly text: string },
  { turn, credential, now }: VerdictOptions,
): Verdict {
  const facts = { status: null, ...turn?.error, ...failure, credential };
  const { message, suggestion, ...known } = apiFailure(facts, { now });
  return {
    outcome: { kind: "failed", ...failure },
    message,
    suggestion,
    failure: known,
    showScreen: false,
  };
}

function turnLimitVerdict({ maxTurns = 0 }: VerdictOptions): Verdict {
  const requests = Math.max(1, Math.floor(maxTurns));
  const count = requests === 1 ? "1 request" : `${requests} requests`;
  return {
    outcome: {
      kind: "error_max_turns",
      turns: requests,
      message: `Reached maximum number of turns (${maxTurns})`,
    },
    message: `The turn was stopped at its limit: ${count} to the model`,
    suggestion: "Allow more with --max-turns, or go on with --resume and the session's id",
    showScreen: false,
  };
}

/** The budget is used up. The outcome's message is that of `claude -p`. */
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

function outputTriesVerdict({ outputTries = 0, turn }: VerdictOptions): Verdict {
  return {
    outcome: {
      kind: "error_max_structured_output_retries",
      message: outputTriesMessage(outputTries, turn),
    },
    suggestion:
      "Look whether an answer can fit --json-schema, or allow more tries with MAX_STRUCTURED_OUTPUT_RETRIES",
    showScreen: false,
  };
}

/** The maximum length of the last mistake in a message, in UTF-16 code units. */
const MAX_MISTAKE = 600;

/** The message of `claude -p` if all attempts of the model failed, with its last mistake. */
function outputTriesMessage(tries: number, turn: Turn | undefined): string {
  const sentence = `Failed to provide valid structured output after ${tries} attempts`;
  const calls = new Set(
    turn?.toolUses.filter(({ name }) => name === OUTPUT_TOOL).map(({ id }) => id),
  );
  const mistake = turn?.toolResults.findLast(({ toolUseId }) => calls.has(toolUseId))?.text;
  if (mistake === undefined) return sentence;
  const shown = mistake.length > MAX_MISTAKE ? `${mistake.slice(0, MAX_MISTAKE)}…` : mistake;
  return `${sentence} — last StructuredOutput error: ${shown}`;
}

function misnamedAnswerVerdict({ message }: EndingOf<"misnamed-answer">): Verdict {
  return {
    outcome: { kind: "error_during_execution", message },
    suggestion: "Have the hook name its own event in hookSpecificOutput.hookEventName",
    showScreen: false,
  };
}

function noPromptToolVerdict({ name, available }: EndingOf<"no-prompt-tool">): Verdict {
  const tools = available.length === 0 ? "none" : available.join(", ");
  return {
    outcome: {
      kind: "bad_input",
      message: `MCP tool ${name} (passed via --permission-prompt-tool) not found. ` +
        `Available MCP tools: ${tools}`,
    },
    suggestion: "Name a tool of an MCP server that is configured and starts: mcp__SERVER__TOOL",
    showScreen: false,
  };
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

/** A message that was settled without the child. */
function settledVerdict(settled: SettledMessage["settled"], options: VerdictOptions): Verdict {
  switch (settled.kind) {
    case "unaffordable":
      return overspentVerdict(options);
    case "local": {
      const { text, carried: { name } = {} } = settled;
      const command = name === undefined ? {} : { command: name };
      return { outcome: { kind: "local", text, ...command }, showScreen: false };
    }
    case "asked":
      return failure(
        "The command was not carried out: the conversation has ended before it was its turn",
        "Send it again",
        false,
      );
    default: {
      const { message, suggestion, malformed } = settled;
      const kind = malformed === true ? "bad_input" : "internal_error";
      return { outcome: { kind, message }, suggestion, showScreen: false };
    }
  }
}

function unreadableVerdict({ reason }: EndingOf<"unreadable">): Verdict {
  return {
    outcome: { kind: "bad_input", message: reason },
    suggestion: "Send one JSON object a line, as for claude -p --input-format stream-json",
    showScreen: false,
  };
}

function interruptedVerdict({ signal }: EndingOf<"interrupted">): Verdict {
  const remedy = limitRemedy(signal);
  return {
    outcome: { kind: "interrupted", signal, message: `The run was interrupted by ${signal}` },
    ...(remedy === undefined ? {} : { suggestion: remedy }),
    showScreen: false,
  };
}

/** The remedy for a signal that the kernel sends at a limit; undefined for other signals. */
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

/** The verdict on a run that exceeded a time limit. */
function lateVerdict(kind: "timeout" | "silent" | "not-taken", limits: Limits): Verdict {
  switch (kind) {
    case "timeout":
      return {
        outcome: {
          kind: "timeout",
          message: `The run timed out after ${seconds(limits.timeoutMs)}`,
        },
        suggestion: "Give it more time with --timeout SECONDS",
        showScreen: false,
      };
    case "silent":
      return {
        outcome: {
          kind: "idle_timeout",
          message: `Claude Code gave no sign of life for ${seconds(limits.idleTimeoutMs ?? 0)}`,
        },
        suggestion:
          "Look whether the API answers, or give it more time with --idle-timeout SECONDS",
        showScreen: true,
      };
    case "not-taken":
      return {
        outcome: {
          kind: "delivery_timeout",
          message: `Claude Code did not take the prompt in ${seconds(limits.deliveryTimeoutMs)}`,
        },
        suggestion: "Look for hooks that hold the session up, or raise --delivery-timeout",
        showScreen: true,
      };
  }
}

function notStartedVerdict(
  { silent }: EndingOf<"not-started">,
  { isClaude, binary, limits }: VerdictOptions,
): Verdict {
  if (!isClaude) return notClaudeVerdict(binary);
  const limit = seconds(limits.startTimeoutMs);
  return {
    outcome: {
      kind: "start_timeout",
      message: silent
        ? `Claude Code wrote nothing to its terminal in ${limit}`
        : `Claude Code was not ready for a prompt in ${limit}`,
    },
    suggestion: "Run claude in this folder to see what it waits for, or raise --start-timeout",
    showScreen: true,
  };
}

function idleVerdict(options: VerdictOptions): Verdict {
  const { turn, command } = options;
  // No hook reports a failure without a request: Claude Code itself refuses a prompt that is far too long.
  if (turn?.error !== undefined) return answeredVerdict(options);
  if (command !== undefined) return noPromptVerdict(command);
  return {
    outcome: {
      kind: "assistant_error",
      message: turn?.end?.startsWith("interrupted")
        ? "The turn was interrupted inside Claude Code"
        : "The turn ended without an answer: Claude Code is idle and no hook said why",
    },
    suggestion: "Look for hooks of the project that stop a turn",
    showScreen: true,
  };
}

function dialogVerdict(
  { name }: EndingOf<"dialog">,
  { command, record }: VerdictOptions,
): Verdict {
  if (command !== undefined) return noPromptVerdict(command);
  const remedy = remedyFor(name) ??
    "Run claude in this folder, answer the dialog there, and try again";
  if (name !== undefined) {
    return failure(`Claude Code waits for an answer to its ${name} dialog`, remedy);
  }
  return failure(
    "Claude Code waits for an answer to a dialog that claude-print does not know",
    record === undefined
      ? remedy
      : `${remedy}; the recording in ${record} shows what came before it`,
  );
}

function noPromptVerdict(command: string): Verdict {
  return failure(
    `Claude Code made no prompt of "${command}"`,
    "Look at its last screen for the reason, or run the command in claude itself",
  );
}

function undeliveredVerdict(
  { image, taken }: EndingOf<"undelivered">,
  { conversation, altered }: VerdictOptions,
): Verdict {
  if (image === true) {
    return failure(
      "Cannot deliver the message: an image in it did not appear in Claude Code's input box",
      "Look whether the image is whole, and whether there is room in TMPDIR",
    );
  }
  if (taken === undefined) {
    return failure(
      "Cannot deliver the prompt: the paste did not appear in Claude Code's input box",
      conversation
        ? "Look on the last screen for what stands in its place, and send the message again"
        : "Leave out --inject paste",
    );
  }
  const first = altered === undefined ? "" : `, beginning with ${altered}`;
  return wrappedVerdict(taken) ?? {
    ...failure(
      `Cannot deliver the prompt as it is: Claude Code would change it${first}`,
      "Remove such characters from the prompt, or put the text into a file and name that file",
      false,
    ),
    isForeign: true,
  };
}

/** The verdict on a prompt that Claude Code has wrapped in tags; undefined for any other text. */
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

function exitedVerdict(
  { exit }: EndingOf<"exited">,
  { isClaude, binary }: VerdictOptions,
): Verdict {
  // A program that a signal kills at its start cannot print its version either.
  if (!isClaude && exit.kind === "exited") return notClaudeVerdict(binary);
  const how = exit.kind === "exited"
    ? `exit code ${exit.code}`
    : exit.name ?? `signal ${exit.signal}`;
  return failure(
    `Claude Code ended before the turn did: ${how}`,
    limitRemedy(how) ?? "The last screen may tell why; run claude in this folder to see more",
  );
}

/** The verdict if Claude Code or the machine lacks something that this program needs. */
function brokenVerdict(kind: "unstoppable" | "unheard" | "unreachable"): Verdict {
  switch (kind) {
    case "unstoppable":
      return failure(
        "Claude Code goes on with a turn that its caller has stopped: it takes no Escape",
        "Look at its last screen for what it does",
      );
    case "unheard":
      return failure(
        "Claude Code's hooks cannot tell anything: the run's private folder is full or gone, or no process can be started",
        "Make room in $TMPDIR, set TMPDIR to a folder that nobody cleans up, or end some processes",
        false,
      );
    case "unreachable":
      return failure(
        "Cannot deliver the prompt as it is: Claude Code opened no rendezvous socket, its one way in for such a text",
        "Begin the prompt with another word, or remove invisible characters from it",
      );
  }
}

function notClaudeVerdict(binary: string): Verdict {
  return failure(
    `Cannot use "${binary}": it is not Claude Code, its --version says something else`,
    "Name Claude Code's executable with --claude-binary",
  );
}

function failure(message: string, suggestion: string, showScreen = true): Verdict {
  return { outcome: { kind: "internal_error", message }, suggestion, showScreen };
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}

/**
 * Returns the problem of a run whose wait for background tasks has expired, so that they were stopped.
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
