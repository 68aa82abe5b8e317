import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";

/**
 * How a prompt reaches the child:
 *
 * - `stdin`: as its fd 0
 * - `paste`: pasted into its input box
 * - `rendezvous`: by the socket through which a background Claude Code receives its user's replies
 */
export type WayIn = "stdin" | "paste" | "rendezvous";

/**
 * When the child takes a message: immediately (`now`), in the current turn if possible (`next`), or after all other
 * messages (`later`).
 */
export type Priority = "now" | "next" | "later";

/** Fields of every message. */
interface MessageFields {
  readonly text: string;
  /** The id that the caller gave it. */
  readonly uuid?: string;
  /** The sender's key for the result. It is not printed. */
  readonly ticket?: string;
  /**
   * Set if another message that the caller sent earlier has the same id, or a line that the session had `before` the
   * run. Then the message is not carried out.
   */
  readonly repeated?: true | "before";
  /** Set if a line that a fork copied from its session has the same id. Then the message's own line gets another id. */
  readonly namesake?: true;
  /** The remaining time limit of the whole run, in milliseconds; absent if each turn has its own limit. */
  readonly timeLeftMs?: number;
  /** The message's priority. Absent means `next`. */
  readonly priority?: Priority;
  /** Whether the sender declares that a person wrote it. */
  readonly human?: true;
  /** Whether the sender declares that the user did not write it. Its text also says so. */
  readonly synthetic?: true;
  /** Whether its turn is stopped as soon as it has begun. */
  readonly stopped?: true;
  /** Whether it mentions files that must not be read. This needs a child that reads no mentioned files. */
  readonly unread?: true;
  /** The message's content as the caller sent it, if it is printed again or has images or several texts. */
  readonly content?: unknown;
  /** Whether the message is a command after other texts that the session does not hold yet. */
  readonly hasContext?: true;
}

/** A message for the child. */
export interface Prompt extends MessageFields {
  readonly way: WayIn;
  /** The command that expands to the text for the model, such as `/init`. */
  readonly command?: string;
  /** A description of the first character that Claude Code may change. */
  readonly altered?: string;
  /** Whether its content holds images, which are pasted as paths of files. */
  readonly images?: true;
}

/** The changes that a command makes to the session. */
export interface NotedChanges {
  /** The model as the command names it, and its full name. */
  readonly model?: string;
  readonly chosenModel?: string;
  /** The effort; null for the default. */
  readonly effort?: string | null;
  /** Settings that override those of `--settings`. */
  readonly flagSettings?: JsonObject;
}

/** The outcome of a command that the headless helper has carried out. */
export interface CarriedOut {
  /** The command's name in results; since 2.1.330. */
  readonly name?: string;
  /** The text of its own frame, which can differ from the result; absent if there is no such frame. */
  readonly words?: string;
  /** Further fields of the command's own frame, such as `local_command_run`; since 2.1.330. */
  readonly fields?: JsonObject;
  /** The new session, in which the conversation continues. */
  readonly begun?: string;
  /** The title that the command has given the session; since 2.1.330. */
  readonly title?: string;
  /** The commands that exist after this command, if it lists them. */
  readonly commands?: readonly unknown[];
  /** The changes from the next message on; absent for none. */
  readonly changes?: NotedChanges;
}

/** A command that a headless Claude Code carries out when the command is due. */
export interface AskedCommand {
  readonly kind: "asked";
  readonly version: string;
  /** Whether the command ends the session, so that the conversation continues in a new one. */
  readonly clears?: true;
  /** Whether the command is recorded in the session, so that another child continues with the change. */
  readonly notes?: true;
  /** Whether the command's answer is valid only if it does not describe the process itself. */
  readonly alone?: true;
  /** Whether the answer is only that the command is not available. */
  readonly unavailable?: true;
}

/** A message whose result is known without the child: an answer of `claude -p`, or the reason why it cannot be sent. */
export interface SettledMessage extends MessageFields {
  readonly way?: undefined;
  readonly settled:
    | {
      readonly kind: "local";
      readonly text: string;
      readonly version: string;
      /** Whether the message was blank, so that its text is not an answer. */
      readonly blank?: true;
      /** The outcome of the command; absent if the command is not available. */
      readonly carried?: CarriedOut;
    }
    | AskedCommand
    | {
      readonly kind: "refused";
      readonly message: string;
      readonly suggestion: string;
      /** Whether the caller's input is not a valid message. */
      readonly malformed?: true;
    }
    /** The budget of the conversation is used up. */
    | { readonly kind: "unaffordable" };
}

/** A message of the caller. */
export type Message = Prompt | SettledMessage;

/** Returns the senders' keys of messages. */
export function ticketsOf(messages: readonly Message[]): readonly string[] {
  return messages.map(({ ticket }) => ticket).filter((ticket) => ticket !== undefined);
}

/**
 * Puts a message into the queue: after messages of equal urgency, and after a message whose turn is to be stopped.
 *
 * @param options.begun how many messages of the queue `claude -p` would have begun by now
 */
export function enqueued(
  queue: readonly Message[],
  message: Message,
  { begun }: { readonly begun: number },
): readonly Message[] {
  const at = queue.findIndex((other, place) =>
    place >= begun && !other.stopped && urgency(other) > urgency(message)
  );
  return at < 0 ? [...queue, message] : queue.toSpliced(at, 0, message);
}

function urgency({ priority = "next" }: Message): number {
  return ["now", "next", "later"].indexOf(priority);
}

/** The texts before the last block of a message's content; empty ones are left out. */
export function contextIn(content: unknown): readonly string[] {
  return !Array.isArray(content) ? [] : content.slice(0, -1).flatMap((block) => {
    const { text } = isJsonObject(block) ? block : {};
    return typeof text === "string" && text.trim() !== "" ? [text] : [];
  });
}

/** A part of a paste. */
export type PromptPart =
  | { readonly kind: "text"; readonly text: string }
  /** An image as base64. */
  | { readonly kind: "image"; readonly data: string };

/** Returns the parts that are pasted for a prompt, in the caller's order: texts and images, each a paragraph. */
export function promptParts({ text, images, content }: Prompt): readonly PromptPart[] {
  if (images !== true || !Array.isArray(content)) return [{ kind: "text", text }];
  const parts: PromptPart[] = [];
  let pending = "";
  content.forEach((block, at) => {
    const { type, text = "", source } = isJsonObject(block) ? block : {};
    const paragraph = at === 0 ? "" : "\n";
    if (type === "text") {
      pending += `${paragraph}${asText(text)}`;
      return;
    }
    pending += paragraph;
    // A part of white space only would never be visible.
    if (pending.trim() !== "") parts.push({ kind: "text", text: pending });
    pending = "";
    const { data } = isJsonObject(source) ? source : {};
    if (typeof data === "string") parts.push({ kind: "image", data });
  });
  const rest = pending.trimEnd();
  return rest === "" ? parts : [...parts, { kind: "text", text: rest }];
}

/**
 * Whether a prompt's text in Claude Code is that of a message. Instead of an image, Claude Code has a mark such as
 * `[Image #1]`, followed by blanks.
 */
export function isTextOf({ text, ...message }: Message, told: unknown): boolean {
  if (text === told) return true;
  return message.way === "paste" && message.images === true && typeof told === "string" &&
    withoutMarks(told) === withoutMarks(text);
}

function withoutMarks(text: string): string {
  return text.replaceAll(/\[Image #\d+\]/gu, "").replaceAll(/\s/gu, "");
}
