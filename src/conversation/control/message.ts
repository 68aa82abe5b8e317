import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";

/**
 * How a prompt reaches the child:
 *
 * - `stdin`: as its fd 0
 * - `paste`: pasted into its input box
 * - `rendezvous`: by the socket on which a Claude Code in the background takes its user's replies
 */
export type WayIn = "stdin" | "paste" | "rendezvous";

/** When a message is the child's business: at once, in the turn under way if it still can be, or after everything else. */
export type Priority = "now" | "next" | "later";

/** Fields of every message. */
interface MessageFields {
  readonly text: string;
  /** The id that the caller gave it. */
  readonly uuid?: string;
  /** The sender's key for the result. It is not printed. */
  readonly ticket?: string;
  /**
   * Set where the id is that of another message, which the caller has sent before, or of a line that the session had
   * `before` the run: then it is not carried out.
   */
  readonly repeated?: true | "before";
  /** Set where a line that a fork has from its session has the id: then the message's own line keeps another one. */
  readonly namesake?: true;
  /** The rest of the time limit for the whole run, in milliseconds; absent if each turn has its own. */
  readonly timeLeftMs?: number;
  /** The message's priority. Absent means `next`. */
  readonly priority?: Priority;
  /** Whether the sender declares that a person wrote it. */
  readonly human?: true;
  /** Whether the sender declares that it is not the user's. Its text says so too. */
  readonly synthetic?: true;
  /** Whether its turn is to be stopped as soon as it has begun. */
  readonly stopped?: true;
  /** Whether it mentions files that are not to be read: that takes a child which reads none for a mention. */
  readonly unread?: true;
  /** The message's content as the caller sent it, if it is printed again or has images or several texts. */
  readonly content?: unknown;
  /** Whether the message is a command with other texts before it, which the session does not hold yet. */
  readonly hasContext?: true;
}

/** A message for the child. */
export interface Prompt extends MessageFields {
  readonly way: WayIn;
  /** The command that expands to the text for the model, such as `/init`. */
  readonly command?: string;
  /** The first character that Claude Code may change, in words. */
  readonly altered?: string;
  /** Whether its content holds images, which are pasted as paths of files. */
  readonly images?: true;
}

/** What a command changes in the session. */
export interface NotedChanges {
  /** The model, as the command names it, and its own name. */
  readonly model?: string;
  readonly chosenModel?: string;
  /** The effort; null for the default. */
  readonly effort?: string | null;
  /** Settings that override those of `--settings`. */
  readonly flagSettings?: JsonObject;
}

/** The outcome of a command that the headless helper has carried out. */
export interface CarriedOut {
  /** Its name in results; since 2.1.330. */
  readonly name?: string;
  /** The text of its own frame, which can differ from the result; absent if there is no such frame. */
  readonly words?: string;
  /** Further fields of that frame, such as `local_command_run`; since 2.1.330. */
  readonly fields?: JsonObject;
  /** The new session, in which the conversation continues. */
  readonly begun?: string;
  /** The title that it has given the session; since 2.1.330. */
  readonly title?: string;
  /** The commands that exist after it, if it lists them. */
  readonly commands?: readonly unknown[];
  /** What changes from the next message on; absent if nothing does. */
  readonly changes?: NotedChanges;
}

/** A command that a headless Claude Code carries out when it is its turn. */
export interface AskedCommand {
  readonly kind: "asked";
  readonly version: string;
  /** Whether it ends the session, so that the conversation continues in a new one. */
  readonly clears?: true;
  /** Whether it is recorded in the session, so that another child continues with the change. */
  readonly notes?: true;
  /** Whether its answer is valid only if it says nothing about the process itself. */
  readonly alone?: true;
  /** Whether the answer is only that it is not available. */
  readonly unavailable?: true;
}

/** A message whose result is known without the child: an answer of `claude -p`, or why it cannot be sent. */
export interface SettledMessage extends MessageFields {
  readonly way?: undefined;
  readonly settled:
    | {
      readonly kind: "local";
      readonly text: string;
      readonly version: string;
      /** Whether the message was blank, so that its text is not an answer. */
      readonly blank?: true;
      /** Absent for a command that is not available. */
      readonly carried?: CarriedOut;
    }
    | AskedCommand
    | {
      readonly kind: "refused";
      readonly message: string;
      readonly suggestion: string;
      /** Whether it is no message that anybody could send. */
      readonly malformed?: true;
    }
    /** The conversation has cost as much as it may. */
    | { readonly kind: "unaffordable" };
}

/** A message of the caller. */
export type Message = Prompt | SettledMessage;

/** Returns the senders' keys of messages. */
export function ticketsOf(messages: readonly Message[]): readonly string[] {
  return messages.map(({ ticket }) => ticket).filter((ticket) => ticket !== undefined);
}

/**
 * Puts a message into the queue: after those that are as urgent, and after one whose turn is to be stopped.
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

/** Returns what is pasted for a prompt, in the caller's order: texts and images, each a paragraph. */
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
    // Blanks alone would never be seen.
    if (pending.trim() !== "") parts.push({ kind: "text", text: pending });
    pending = "";
    const { data } = isJsonObject(source) ? source : {};
    if (typeof data === "string") parts.push({ kind: "image", data });
  });
  const rest = pending.trimEnd();
  return rest === "" ? parts : [...parts, { kind: "text", text: rest }];
}

/**
 * Whether a prompt's text in Claude Code is that of a message. In place of an image Claude Code has a mark such as
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
