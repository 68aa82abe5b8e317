import type { CallerLine } from "../../claude/wire/caller_line.ts";
import { type Entry, parseEntry } from "../../claude/transcript/entry.ts";
import { lineId } from "../../claude/transcript/entry_order.ts";
import { CliError } from "../../cli_error.ts";
import {
  contextIn,
  type Message,
  type SettledMessage,
} from "../../conversation/control/message.ts";
import { firstAlteredCharacter } from "../../conversation/control/prompt/first_altered_character.ts";
import { isPlain, slashWord } from "../../conversation/control/prompt/prompt_text.ts";
import { pasteRefusal } from "../../conversation/terminal/paste.ts";
import { definedFields } from "../../defined_fields.ts";
import type { JsonObject } from "../../json_object.ts";
import type { UserConfig } from "../../sandbox/user_config.ts";
import type { GatedPrompt } from "../plan/plan_facts.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { gatePrompt, LONGEST_SOCKET_PROMPT } from "./gate_prompt.ts";
import { asString } from "../../json_object.ts";

type UserLine = Extract<CallerLine, { readonly type: "user" }>;

/** Decides how a message of the caller reaches the child, or why it does not. */
export type MessageJudge = (line: UserLine) => Message;

/** The facts about the run that a judge needs. */
interface JudgeFacts {
  readonly version: string | undefined;
  readonly projectRoot: string;
  readonly userConfig: UserConfig;
  readonly settings: readonly JsonObject[];
  readonly mcpServers: number;
  /** Whether a hook of the caller or of settings runs at each prompt. */
  readonly watchesPrompts: boolean;
  /** Why the `initialize` request is refused. Messages are also refused, because the caller may rely on its hooks. */
  readonly refusal?: string | undefined;
  /** The entries of the resumed session. */
  readonly earlier?: readonly Entry[];
  /** The transcript of the session if it is resumed in part. */
  readonly transcript?: string | undefined;
}

/** The answer of `claude -p` 2.1.330 to a text of white space. White space in blocks goes to the model. */
const BLANK = "Blank prompt — the message was only whitespace, so nothing was sent to the model.";

/** The text that Claude Code 2.1.330 puts before a message that is not the user's, for the model. */
const NOT_THE_USERS = "[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT]\n";

/** An `@` that may mention a file. The `@` of a mail address does not. */
const MENTION = /(?<![\w.])@/u;

/** Creates a judge for the messages of a conversation. It accepts each id once. */
export function createMessageJudge(order: RunOrder, facts: JudgeFacts): MessageJudge {
  const repetitionOf = watchRepetitions(order, facts);
  return (line) => {
    const repetition = repetitionOf(line.uuid);
    // A caller that waits for a result gets none for a message that is not carried out.
    const isRefused = line.ticket !== undefined && repetition.repeated !== undefined;
    const fields = messageFields(line, isRefused ? {} : repetition);
    if (isRefused) {
      return refusedMessage(fields, {
        message: "Cannot send the message: the session has one with this uuid",
        suggestion: "Give it another uuid, or none, if it is another message",
      });
    }
    const sent = line.synthetic ? `${NOT_THE_USERS}${line.text}` : line.text;
    const draft = { line, fields, sent, order, facts };
    return refuseInvalid(draft) ?? pasteImages(draft) ?? sendLong(draft) ?? answerBlank(draft) ??
      sendText(draft);
  };
}

type MessageFields = Omit<SettledMessage, "settled" | "way">;

/** A message that is being judged. */
interface Draft {
  readonly line: UserLine;
  readonly fields: MessageFields;
  /** The text for the model. */
  readonly sent: string;
  readonly order: RunOrder;
  readonly facts: JudgeFacts;
}

/** Records the ids of messages. An id of an earlier message marks a repetition. */
function watchRepetitions(
  order: RunOrder,
  { earlier = [], transcript = "" }: JudgeFacts,
): (uuid: string | undefined) => Pick<Message, "repeated" | "namesake"> {
  const seen = new Set<string>();
  const all = transcript.split("\n").flatMap((line) => parseEntry(line) ?? []);
  const before = new Set([...earlier, ...all].map(lineId));
  return (uuid) => {
    if (uuid === undefined || uuid === "") return {};
    const wasSeen = seen.has(uuid);
    seen.add(uuid);
    const isInSession = before.has(uuid);
    // The session has a line with this id. If an earlier child of this conversation exists, the message is its
    // repetition; otherwise the line is older than the run.
    if (isInSession && !order.forkSession) {
      return { repeated: order.before === undefined ? "before" : true };
    }
    if (wasSeen) return { repeated: true };
    // A fork is another session, which has received no message yet.
    return isInSession ? { namesake: true } : {};
  };
}

function messageFields(
  { text, content, uuid, ticket, priority, human, synthetic, literal }: UserLine,
  repetition: Pick<Message, "repeated" | "namesake">,
): MessageFields {
  const unread = (literal || synthetic) && MENTION.test(text) || undefined;
  return {
    text,
    content,
    ...definedFields({ uuid, ticket, priority, human, synthetic, unread }),
    ...repetition,
  };
}

function refusedMessage(
  fields: MessageFields,
  reason: Omit<Extract<SettledMessage["settled"], { readonly kind: "refused" }>, "kind">,
): SettledMessage {
  return { ...fields, settled: { kind: "refused", ...reason } };
}

function refuseInvalid(
  { line: { obstacle, malformed }, fields, facts: { refusal } }: Draft,
): Message | undefined {
  if (obstacle !== undefined) {
    return refusedMessage(fields, {
      message: `Cannot send the message: ${obstacle}`,
      suggestion: "Send text, or the path of a file",
      ...definedFields({ malformed }),
    });
  }
  // The Agent SDK for TypeScript does not report a refused initialization to its user.
  return refusal === undefined ? undefined : refusedMessage(fields, {
    message: `Cannot send the message: ${refusal}`,
    suggestion: "Leave it out of the options, or of the initialize request, and begin again",
  });
}

/** Images can only be pasted. */
function pasteImages({ line, fields }: Draft): Message | undefined {
  const { text, images, synthetic } = line;
  if (images !== true) return undefined;
  const obstacle = synthetic
    ? "it is not the user's"
    : slashWord(text) === undefined
    ? pasteRefusal(text.trimEnd())
    : "a command takes no images";
  return obstacle === undefined ? { ...fields, way: "paste", images } : refusedMessage(fields, {
    message: `Cannot send the message with its images: ${obstacle}`,
    suggestion: "Send the text as a message of its own, or put it into a file and name that file",
  });
}

/** A message that is too long for the socket goes to the fd 0 of another child, if fd 0 does not change it. */
function sendLong({ line: { content }, fields, sent, order }: Draft): Message | undefined {
  const { length } = JSON.stringify(sent);
  if (length <= LONGEST_SOCKET_PROMPT) return undefined;
  const last = lastTextBlock(content);
  const isExact = isPlain(sent) && firstAlteredCharacter(sent) === undefined &&
    (last === undefined || isPlain(last));
  if (isExact && order.persistSession) return { ...fields, text: sent, way: "stdin" };
  return refusedMessage(fields, {
    message:
      `Cannot send the message: as JSON it has ${length} characters, and Claude Code's socket takes ${LONGEST_SOCKET_PROMPT}`,
    suggestion: "Put the text into a file and name that file",
  });
}

function answerBlank({ line, fields, sent, facts }: Draft): Message | undefined {
  if (typeof line.content !== "string" || sent.trim() !== "") return undefined;
  const { version = "" } = facts;
  return { ...fields, settled: { kind: "local", text: BLANK, version, blank: true } };
}

/** The last of several text blocks. Only that block may be a command. */
function lastTextBlock(content: unknown): string | undefined {
  if (!Array.isArray(content) || content.length < 2) return undefined;
  return asString(content.at(-1)?.text);
}

/** Sends a text by the socket, unless it is a command. */
function sendText(draft: Draft): Message {
  const { line: { text, content, literal }, fields, sent, order, facts } = draft;
  const asText: Message = { ...fields, text: sent, way: "rendezvous" };
  const command = lastTextBlock(content) ?? text;
  if ((isPlain(text) && isPlain(command)) || literal) return asText;
  try {
    const { version = "", projectRoot, userConfig, settings, mcpServers } = facts;
    const gated = gatePrompt(
      { ...order, prompt: command, inject: "stdin", conversation: true },
      { version, projectRoot, configDir: userConfig.dir, settings, mcpServers },
    );
    return sendCommand(command, gated, draft) ?? asText;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return refusedMessage(fields, { message: error.message, suggestion: error.suggestion ?? "" });
  }
}

/** Answers a command, or types it. Texts before it go into the session, which another child resumes. */
function sendCommand(command: string, gated: GatedPrompt, draft: Draft): Message | undefined {
  const { line, fields } = draft;
  const hasContext = contextIn(line.content).length > 0;
  const problem = contextProblem(draft);
  const context = hasContext && problem === undefined ? { hasContext } as const : {};
  if (gated.answer !== undefined) {
    return { ...fields, ...context, text: command, settled: { kind: "local", ...gated.answer } };
  }
  if (gated.asked !== undefined) {
    const kept = gated.asked.clears ? {} : context;
    return { ...fields, ...kept, text: command, settled: { kind: "asked", ...gated.asked } };
  }
  if (!gated.expands) return undefined;
  const name = `/${slashWord(command)?.name ?? ""}`;
  if (hasContext && problem !== undefined) {
    return refusedMessage(fields, {
      message:
        `Cannot send the message: other text stands before the command ${name}, and ${problem}`,
      suggestion: "Send the command as a message of its own",
    });
  }
  const obstacle = pasteRefusal(command);
  return obstacle === undefined
    ? { ...fields, ...context, text: command, way: "paste", command: name }
    : refusedMessage(fields, {
      message: `Cannot type the command ${name}: ${obstacle}`,
      suggestion: "Leave such characters out of what follows the command",
    });
}

/** Why texts before a command cannot go into the session. */
function contextProblem({ line, order, facts }: Draft): string | undefined {
  if (!order.persistSession) {
    return "the session is not kept, which another Claude Code would resume";
  }
  if (order.forkSession) {
    return "the session is a fork, which has no transcript before its first message";
  }
  if (facts.watchesPrompts) return "a hook for UserPromptSubmit would not see that";
  return line.synthetic ? "the message is not the user's" : undefined;
}
