import { CliError } from "../../cli_error.ts";
import { gatePrompt, LONGEST_REPLY } from "./gate_prompt.ts";
import { firstAlteredCharacter } from "../../conversation/control/prompt/first_altered_character.ts";
import { isPlain } from "../../conversation/control/prompt/is_plain.ts";
import type { RunOrder } from "../plan/run_order.ts";
import type { UserConfig } from "../../sandbox/user_config.ts";
import {
  contextIn,
  type Message,
  type SettledMessage,
} from "../../conversation/control/message.ts";
import { slashWord } from "../../conversation/control/prompt/slash_word.ts";
import { pasteRefusal } from "../../conversation/terminal/paste.ts";
import type { JsonObject } from "../../json_object.ts";
import type { CallerLine } from "../../claude/wire/caller_line.ts";

/** Says of a message of the caller how it reaches the child, if it does. */
export type MessageJudge = (line: Extract<CallerLine, { readonly type: "user" }>) => Message;

/** What `claude -p` 2.1.330 says to a message of white space alone; one that consists of blocks goes to the model. */
const BLANK = "Blank prompt — the message was only whitespace, so nothing was sent to the model.";

/** How 2.1.330 tells the model of a message that is not the user's. */
const NOT_THE_USERS = "[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT]\n";

/** What may be taken for a mention of a file, which no address of somebody's mail is. */
const MENTION = /(?<![\w.])@/u;

const WITHOUT_IMAGES =
  "Send the text as a message of its own, or put it into a file and name that file";

/** The last of several blocks of text; undefined where there are not several. */
function lastBlock(content: unknown): string | undefined {
  if (!Array.isArray(content) || content.length < 2) return undefined;
  const text: unknown = content.at(-1)?.text;
  return typeof text === "string" ? text : undefined;
}

/** Why a text cannot be pasted together with images, if it cannot. */
function besideImages(text: string): string | undefined {
  return slashWord(text) === undefined ? pasteRefusal(text.trimEnd()) : "a command takes no images";
}

/** Judges the messages of a conversation, each of whose ids is good for one. */
export function messageJudge(
  order: RunOrder,
  facts: {
    readonly version: string | undefined;
    readonly projectRoot: string;
    readonly userConfig: UserConfig;
    readonly settings: readonly JsonObject[];
    readonly mcpServers: number;
    /** Whether a hook of the caller or of settings is called with each prompt. */
    readonly watchesPrompts: boolean;
    /** Why the initialization is refused, if it is: without what it asks for, such as hooks that forbid, nothing is done. */
    readonly refusal?: string | undefined;
    /** Ids of the lines that the session had before. */
    readonly before?: Iterable<string>;
  },
): MessageJudge {
  const seen = new Set<string>();
  const before = new Set(facts.before);
  const { version = "", refusal } = facts;
  const repetition = (uuid: string): Pick<Message, "repeated" | "namesake"> => {
    if (uuid === "") return {};
    const isThere = before.has(uuid);
    // What the child before has written down was sent in this conversation.
    if (isThere && !order.forkSession) {
      return { repeated: order.before === undefined ? "before" : true };
    }
    if (seen.has(uuid)) return { repeated: true };
    // A fork is another session, in which nobody has been heard yet.
    return isThere ? { namesake: true } : {};
  };
  return (line) => {
    const { text, content, uuid, ticket, priority, human, images, obstacle, malformed } = line;
    const isLiteral = line.literal === true;
    const isSynthetic = line.synthetic === true;
    const repeated = uuid === undefined ? {} : repetition(uuid);
    // Whoever waits for a result gets none of a message that is not carried out.
    const isRefused = ticket !== undefined && repeated.repeated !== undefined;
    const said = isSynthetic ? `${NOT_THE_USERS}${text}` : text;
    const fields = {
      text,
      content,
      ...(uuid === undefined ? {} : { uuid }),
      ...(ticket === undefined ? {} : { ticket }),
      ...(priority === undefined ? {} : { priority }),
      ...(human === undefined ? {} : { human }),
      ...(isSynthetic ? { synthetic: true as const } : {}),
      ...((isLiteral || isSynthetic) && MENTION.test(text) ? { unread: true as const } : {}),
      ...(isRefused ? {} : repeated),
    };
    const asText = { ...fields, text: said, way: "rendezvous" } as const;
    if (uuid !== undefined) seen.add(uuid);
    const refused = (message: string, suggestion: string): SettledMessage => ({
      ...fields,
      settled: { kind: "refused", message, suggestion },
    });
    if (isRefused) {
      return refused(
        "Cannot send the message: the session has one with this uuid",
        "Give it another uuid, or none, if it is another message",
      );
    }
    if (obstacle !== undefined) {
      return {
        ...fields,
        settled: {
          kind: "refused",
          message: `Cannot send the message: ${obstacle}`,
          suggestion: "Send text, or the path of a file",
          ...(malformed === undefined ? {} : { malformed }),
        },
      };
    }
    // The Agent SDK for TypeScript does not tell its user that the initialization was refused.
    if (refusal !== undefined) {
      return refused(
        `Cannot send the message: ${refusal}`,
        "Leave it out of the options, or of the initialize request, and begin again",
      );
    }
    if (images === true) {
      const obstacle = isSynthetic ? "it is not the user's" : besideImages(text);
      return obstacle === undefined
        ? { ...fields, way: "paste", images }
        : refused(`Cannot send the message with its images: ${obstacle}`, WITHOUT_IMAGES);
    }
    const { length } = JSON.stringify(said);
    if (length > LONGEST_REPLY) {
      // Another child has it on its fd 0, as that of a run has its prompt.
      const isExact = isPlain(said) && firstAlteredCharacter(said) === undefined &&
        (lastBlock(content) === undefined || isPlain(lastBlock(content) ?? ""));
      if (isExact && order.persistSession) return { ...fields, text: said, way: "stdin" };
      return refused(
        `Cannot send the message: as JSON it has ${length} characters, and Claude Code's socket takes ${LONGEST_REPLY}`,
        "Put the text into a file and name that file",
      );
    }
    if (typeof content === "string" && said.trim() === "") {
      return { ...fields, settled: { kind: "local", text: BLANK, version, blank: true } };
    }
    const last = lastBlock(content);
    // Of several blocks the last one alone may be a command.
    const judged = last ?? text;
    if ((isPlain(text) && isPlain(judged)) || isLiteral) return asText;
    try {
      const gated = gatePrompt({ ...order, prompt: judged, inject: "stdin", conversation: true }, {
        version,
        projectRoot: facts.projectRoot,
        configDir: facts.userConfig.dir,
        settings: facts.settings,
        mcpServers: facts.mcpServers,
      });
      // Another child resumes a session that holds the other texts, and is given the command alone.
      const hasContext = contextIn(content).length > 0;
      const unsound = !order.persistSession
        ? "the session is not kept, which another Claude Code would resume"
        : order.forkSession
        ? "the session is a fork, which has no transcript before its first message"
        : facts.watchesPrompts
        ? "a hook for UserPromptSubmit would not see that"
        : isSynthetic
        ? "the message is not the user's"
        : undefined;
      const context = hasContext && unsound === undefined ? { hasContext } as const : {};
      if (gated.answer !== undefined) {
        return { ...fields, ...context, text: judged, settled: { kind: "local", ...gated.answer } };
      }
      if (gated.asked !== undefined) {
        const more = gated.asked.clears ? {} : context;
        return { ...fields, ...more, text: judged, settled: { kind: "asked", ...gated.asked } };
      }
      const command = `/${slashWord(judged)?.name ?? ""}`;
      if (hasContext && unsound !== undefined && gated.expands) {
        return refused(
          `Cannot send the message: other text stands before the command ${command}, and ${unsound}`,
          "Send the command as a message of its own",
        );
      }
      if (!gated.expands) return asText;
      const obstacle = pasteRefusal(judged);
      return obstacle === undefined
        ? { ...fields, ...context, text: judged, way: "paste", command }
        : refused(
          `Cannot type the command ${command}: ${obstacle}`,
          "Leave such characters out of what follows the command",
        );
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      return refused(error.message, error.suggestion ?? "");
    }
  };
}
