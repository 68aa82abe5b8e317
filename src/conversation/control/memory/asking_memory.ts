import type { JsonObject } from "../../../json_object.ts";
import type {
  Question,
  ToolCall,
  UntoldLine,
  WaitingHook,
  WaitingMessage,
} from "../../protocol/questions/question.ts";

/** What an MCP server in the caller's own process has said of itself. */
export interface ToldServer {
  readonly serverInfo?: unknown;
  readonly tools?: readonly JsonObject[];
  /** Whether it has not said what it is, but that it could not, or nothing for too long. */
  readonly failed?: true;
}

/** What is remembered of questions to the caller, and of what they may be about. */
export interface AskingMemory {
  /** How many have been asked. */
  readonly questions: number;
  /** Those that are not answered, by their ids, the oldest first. */
  readonly asked: ReadonlyMap<string, Question>;
  /** What the caller is not asked before the frames of what it is about have been printed, the oldest first. */
  readonly waiting: readonly (WaitingHook | WaitingMessage)[];
  /** Hooks whose question was withdrawn while Escape ends the turn. None has an answer yet. */
  readonly withdrawn: readonly string[];
  readonly untold: readonly UntoldLine[];
  /** Calls that have been told, the oldest first; those that have returned until the same agent makes others, or is over. */
  readonly calls: readonly ToolCall[];
  /** The permission mode that an answer of the caller's has given the child. */
  readonly appliedMode?: string;
  /** Ids of the subagents that have begun, and whose last line that has been told, if one has been, is no words. */
  readonly silent: ReadonlySet<string>;
  /** What the caller's MCP servers have said of themselves, by their names. */
  readonly servers: ReadonlyMap<string, ToldServer>;
  /** Whether it has been told that the caller says nothing to its hooks, which has not answered one since. */
  readonly isCallerSilent?: boolean;
  /** The tools that the server of the prompt tool has, as far as it has told. */
  readonly promptTools: readonly string[];
}

/** Nothing has been asked. */
export const NOTHING_ASKED: AskingMemory = {
  questions: 0,
  asked: new Map(),
  waiting: [],
  withdrawn: [],
  untold: [],
  calls: [],
  silent: new Set(),
  servers: new Map(),
  promptTools: [],
};

/** The questions where nobody could hear an answer for so many milliseconds: each of them has as much time left. */
export function dueLater(asked: AskingMemory["asked"], ms: number): AskingMemory["asked"] {
  return new Map(
    [...asked].map(([id, question]) =>
      question.kind === "callback" && question.due !== undefined
        ? [id, { ...question, due: question.due + ms }]
        : [id, question]
    ),
  );
}

/** The questions without one that is not asked any more. */
export function without(asked: AskingMemory["asked"], id: string): AskingMemory["asked"] {
  return new Map([...asked].filter(([other]) => other !== id));
}
