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

/** What every message says of itself. */
interface MessageFields {
  readonly text: string;
  /** The id that the caller gave it. */
  readonly uuid?: string;
  /** What its sender knows it by where results are handed over: it is never printed. */
  readonly ticket?: string;
  /**
   * Set where the id is that of another message, which the caller has sent before, or of a line that the session had
   * `before` the run: then it is not carried out.
   */
  readonly repeated?: true | "before";
  /** Set where a line that a fork has from its session has the id: then the message's own line keeps another one. */
  readonly namesake?: true;
  /** What is left of the time for all that is asked, in milliseconds; absent where each turn has a time of its own. */
  readonly timeLeftMs?: number;
  /** Absent for `next`. */
  readonly priority?: Priority;
  /** Whether its sender says that a person wrote it. */
  readonly human?: true;
  /** Whether its sender says that it is not the user's, which its text says as well. */
  readonly synthetic?: true;
  /** Whether its turn is to be stopped as soon as it has begun. */
  readonly stopped?: true;
  /** Whether it mentions files that are not to be read: that takes a child which reads none for a mention. */
  readonly unread?: true;
  /** What the caller sent as the message's content, where it is to be printed again or holds images or other texts. */
  readonly content?: unknown;
  /** Whether the message is a command with other texts before it, which the session does not hold yet. */
  readonly hasContext?: true;
}

/** A message for the child. */
export interface Prompt extends MessageFields {
  readonly way: WayIn;
  /** The command that makes the text for the model out of it, such as `/init`. */
  readonly command?: string;
  /** The first character that Claude Code may change, in words. */
  readonly altered?: string;
  /** Whether its content holds images, which are pasted as paths of files. */
  readonly images?: true;
}

/** How a session goes on because of a command. */
export interface NotedChanges {
  /** The model, as the command names it, and its own name. */
  readonly model?: string;
  readonly chosenModel?: string;
  /** The effort; null for that which a session has for which nobody names one. */
  readonly effort?: string | null;
  /** Settings over those of `--settings`. */
  readonly flagSettings?: JsonObject;
}

/** A command that a headless Claude Code has carried out, as it tells of it. */
export interface CarriedOut {
  /** Its name in results; since 2.1.330. */
  readonly name?: string;
  /** What it says in a frame of its own, which may end otherwise than the result; absent where it says nothing there. */
  readonly words?: string;
  /** What that frame has beside its words, such as `local_command_run`, and what it tells in another form; since 2.1.330. */
  readonly fields?: JsonObject;
  /** The session that it has begun, in which the conversation goes on. */
  readonly begun?: string;
  /** The title that it has given the session; since 2.1.330. */
  readonly title?: string;
  /** The commands that there are after it, where it tells them. */
  readonly commands?: readonly unknown[];
  /** What is otherwise from the next message on, perhaps nothing but what the model hears; absent where nothing is. */
  readonly changes?: NotedChanges;
}

/** A command that a headless Claude Code carries out when it is its turn. */
export interface AskedCommand {
  readonly kind: "asked";
  readonly version: string;
  /** Whether it ends the session, and the conversation goes on in another one. */
  readonly clears?: true;
  /** Whether it is noted in the session, which goes on otherwise in another child. */
  readonly notes?: true;
  /** Whether what is said to it counts as long as it is nothing of the process that says it. */
  readonly alone?: true;
  /** Whether all that is said to it is that it is not available. */
  readonly unavailable?: true;
}

/** A message whose end is known without the child: what `claude -p` says to it, or why it cannot be sent. */
export interface SettledMessage extends MessageFields {
  readonly way?: undefined;
  readonly settled:
    | {
      readonly kind: "local";
      readonly text: string;
      readonly version: string;
      /** Whether the message was blank: what is said to it is no answer. */
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

/** What the senders of messages know them by. */
export function ticketsOf(messages: readonly Message[]): readonly string[] {
  return messages.map(({ ticket }) => ticket).filter((ticket) => ticket !== undefined);
}

/**
 * The place at which a message waits: behind those that are as urgent, and behind one whose turn is to be stopped.
 *
 * @param options.begun how many of those that wait `claude -p` would have begun with by now
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

/** A part of what is pasted. */
export type PromptPart =
  | { readonly kind: "text"; readonly text: string }
  /** An image as base64. */
  | { readonly kind: "image"; readonly data: string };

/** What is pasted for a prompt, in the caller's order: a text, or texts and images, each a paragraph. */
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
 * Whether Claude Code calls a prompt by a text: one with images holds marks such as `[Image #1]` in their places, with
 * blanks of its own behind them.
 */
export function isTextOf({ text, ...message }: Message, told: unknown): boolean {
  if (text === told) return true;
  return message.way === "paste" && message.images === true && typeof told === "string" &&
    withoutMarks(told) === withoutMarks(text);
}

function withoutMarks(text: string): string {
  return text.replaceAll(/\[Image #\d+\]/gu, "").replaceAll(/\s/gu, "");
}
