import {
  AFTER,
  BEFORE,
  choicePlace,
  commandMessage,
  commandOutcome,
  completeChoice,
  describesSession,
  EMPTY_MESSAGE,
  type HelperAnswer,
  isInitialize,
  isUpdate,
  newTitle,
  parseAnswer,
  type RequestLine,
  requestLine,
  requestLines,
  settingsInForce,
  settingsQuestion,
  splitByServers,
  STATELESS,
} from "./helper_protocol.ts";
import { SLASH_COMMAND } from "../../conversation/protocol/requests/slash_commands.ts";
import { SET_MODEL, UPDATE_SETTINGS } from "../../conversation/protocol/requests/child_changes.ts";
import {
  GENERATE_TITLE,
  RELOAD_PLUGINS,
  RENAME_SESSION,
} from "../../conversation/protocol/requests/ask_helper.ts";
import type { Consulted } from "../../conversation/control/input.ts";
import type { JsonObject } from "../../json_object.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";

/** What comes of something that a headless Claude Code has said. */
interface Reaction {
  /** What has been answered by that. */
  readonly answers?: readonly HelperAnswer[];
  /** What it is told next, a line each. */
  readonly send?: readonly unknown[];
  /** Whether nothing more is wanted of it. */
  readonly isDone?: boolean;
}

/** What a headless Claude Code is told and asked, and what comes of what it says. */
export interface HelperConversation {
  /** Whether it has to have the MCP servers of the child. */
  readonly startsServers: boolean;
  /** Whether it ends the session and begins another one, and whether it notes something in the session. */
  readonly startsSession: boolean;
  readonly writesTranscript: boolean;
  /** Whether it has to know what the conversation has used. */
  readonly needsCost: boolean;
  /** Whether nothing is noted but what the model hears of a command. */
  readonly writesCommandsOnly: boolean;
  /** What it is told first. */
  readonly firstLines: readonly unknown[];
  /**
   * Takes a further question, as long as it lives, and returns what it is told; undefined for one that another has to be
   * started for. Absent where it is to end once it has answered.
   */
  readonly ask?: (place: string, request: ControlRequest) => readonly unknown[] | undefined;
  /** Takes a frame of its. */
  readonly receive: (frame: JsonObject) => Reaction;
  /** Takes, once, what is asked of it when its servers have had their time. */
  readonly takeServerQuestions: () => readonly unknown[];
  /** What is answered when it has said all. */
  readonly takeDeferred: () => readonly HelperAnswer[];
  /** What is answered once it has ended, and has written down what it was to. */
  readonly finalAnswers: () => readonly HelperAnswer[];
}

/** The request that tells it of agents, where nobody asks for its answer. */
const AGENTS_REQUEST = "agents";

/**
 * @param open what it is asked, by ids that are used in the talk; a command is asked for alone
 * @param agents those that it is told of, if it is told of some
 */
export function openHelperConversation(
  open: ReadonlyMap<string, ControlRequest>,
  agents: JsonObject | undefined,
): HelperConversation {
  const [command] = [...open].filter(([, { subtype }]) => subtype === SLASH_COMMAND);
  return command === undefined
    ? new QuestionConversation(open, agents)
    : new CommandConversation(command[0], command[1], agents);
}

/** Whether something is noted in the session because of a request. */
export function writesToSession({ subtype, notes, body }: ControlRequest): boolean {
  return subtype === RENAME_SESSION || notes === true ||
    (subtype === GENERATE_TITLE && body["persist"] === true);
}

/** Whether one that lives answers a request as another one would that is started for it. */
function canAskRunningHelper(request: ControlRequest): boolean {
  return STATELESS.includes(request.subtype) && request.args === undefined &&
    !writesToSession(request);
}

function agentLines(agents: JsonObject | undefined): readonly RequestLine[] {
  return agents === undefined
    ? []
    : [requestLine(AGENTS_REQUEST, { subtype: "initialize", body: {} }, agents)];
}

/** A slash command, which is a message; what is in force before and after one that is noted in the session counts, too. */
class CommandConversation implements HelperConversation {
  readonly startsServers = true;
  readonly startsSession: boolean;
  readonly writesTranscript: boolean;
  readonly needsCost: boolean;
  readonly writesCommandsOnly = false;
  readonly firstLines: readonly unknown[];
  readonly #place: string;
  readonly #request: ControlRequest;
  #init: JsonObject | undefined;
  #said: JsonObject | undefined;
  #title: string | undefined;
  #commands: unknown;
  #before: JsonObject | undefined;
  #outcome: Consulted | undefined;

  constructor(place: string, request: ControlRequest, agents: JsonObject | undefined) {
    this.#place = place;
    this.#request = request;
    this.startsSession = request.body["clears"] === true;
    this.writesTranscript = writesToSession(request);
    this.needsCost = request.body["needsCost"] === true;
    const first = this.writesTranscript ? settingsQuestion(BEFORE) : commandMessage(request);
    this.firstLines = [...agentLines(agents), first];
  }

  receive(frame: JsonObject): Reaction {
    const { type, subtype } = frame;
    const told = parseAnswer(frame);
    if (told?.place === BEFORE) {
      this.#before = settingsInForce(told);
      // What gave the session its title before is none of its doing.
      this.#title = undefined;
      return { send: [commandMessage(this.#request)] };
    }
    if (told?.place === AFTER) {
      const outcome = this.#outcome;
      if (outcome !== undefined && "response" in outcome) {
        const changes = { before: this.#before, after: settingsInForce(told) };
        this.#outcome = { ...outcome, response: { ...outcome.response, ...changes } };
      }
      return { isDone: true };
    }
    if (subtype === "init") this.#init = frame;
    if (type === "assistant") this.#said = frame;
    if (this.writesTranscript) this.#title = newTitle(frame) ?? this.#title;
    if (subtype === "commands_changed") this.#commands = frame["commands"];
    return type === "result" ? this.#end(frame) : {};
  }

  #end(result: JsonObject): Reaction {
    const { startsSession } = this;
    const [said, title, commands] = [this.#said, this.#title, this.#commands];
    const outcome = commandOutcome(result, { said, clears: startsSession, title, commands });
    this.#outcome = { ...outcome, ...(this.#init === undefined ? {} : { init: this.#init }) };
    // The transcript of another session is whole once it has ended.
    if (startsSession) return { isDone: true };
    return this.writesTranscript
      ? { send: [settingsQuestion(AFTER)] }
      : { answers: this.finalAnswers(), isDone: true };
  }

  takeServerQuestions(): readonly unknown[] {
    return [];
  }

  takeDeferred(): readonly HelperAnswer[] {
    return [];
  }

  finalAnswers(): readonly HelperAnswer[] {
    return this.#outcome === undefined ? [] : [{ place: this.#place, said: this.#outcome }];
  }
}

/** Requests of the control protocol: several, or one that is noted in the session. */
class QuestionConversation implements HelperConversation {
  readonly ask?: NonNullable<HelperConversation["ask"]>;
  readonly startsServers: boolean;
  readonly startsSession = false;
  readonly needsCost = false;
  readonly writesTranscript: boolean;
  readonly firstLines: readonly unknown[];
  /** Those that are asked, by their ids, also once they have been answered. */
  readonly #requests: Map<string, ControlRequest>;
  readonly #onServers: RequestLine[];
  /** Parts of the answers to choices of a model. */
  readonly #choices = new Map<string, HelperAnswer>();
  /** Answers to what changes settings, and to initializations, which wait for what the session is like. */
  #held: readonly HelperAnswer[] = [];
  #about: { readonly init?: JsonObject } | undefined;
  #noted: HelperAnswer | undefined;

  constructor(open: ReadonlyMap<string, ControlRequest>, agents: JsonObject | undefined) {
    this.#requests = new Map(open);
    const [atOnce, onServers] = splitByServers(open, agents);
    this.#onServers = onServers;
    this.startsServers = onServers.length > 0;
    this.writesTranscript = [...open.values()].some(writesToSession);
    const isInitialized = atOnce.some(isInitialize);
    const tellsSession = isInitialized || atOnce.some(isUpdate);
    this.firstLines = [
      ...(isInitialized ? [] : agentLines(agents)),
      ...atOnce,
      ...(this.startsServers || tellsSession ? [EMPTY_MESSAGE] : []),
    ];
    const isKept = [...open.values()].every((request) =>
      request.subtype === "initialize" || canAskRunningHelper(request)
    );
    if (isKept) this.ask = (place, request) => this.#askFurther(place, request);
  }

  #askFurther(place: string, request: ControlRequest): readonly unknown[] | undefined {
    if (!canAskRunningHelper(request)) return undefined;
    this.#requests.set(place, request);
    return requestLines(place, request);
  }

  get writesCommandsOnly(): boolean {
    return this.#noted !== undefined && this.#subtypeAt(this.#noted.place) === SET_MODEL;
  }

  receive(frame: JsonObject): Reaction {
    const told = parseAnswer(frame);
    const { answers = [], send = [], isDone }: Reaction = told === undefined
      ? {}
      : this.#take(told);
    const isNoted = this.#noted !== undefined && frame["type"] === "result";
    if (isDone || isNoted) return { answers, send, isDone: true };
    const isAbout = describesSession(frame);
    if (isAbout) this.#about = frame["subtype"] === "init" ? { init: frame } : this.#about ?? {};
    return {
      answers: [...answers, ...this.#known()],
      // By then it has connected to its servers, as far as it waits for them.
      send: [...send, ...(isAbout ? this.takeServerQuestions() : [])],
    };
  }

  #take(told: HelperAnswer): Reaction {
    if (this.#subtypeAt(choicePlace(told.place)) === SET_MODEL) return this.#choose(told);
    const request = this.#requests.get(told.place);
    if (request !== undefined && writesToSession(request)) {
      this.#noted = told;
      return { isDone: true };
    }
    switch (request?.subtype) {
      case "initialize":
        this.#held = [...this.#held, told];
        // Its caller need not wait for what the first message is told with.
        return "response" in told.said && !request.ahead
          ? { answers: [{ ...told, said: { ...told.said, isUndescribed: true } }] }
          : {};
      case UPDATE_SETTINGS:
        this.#held = [...this.#held, told];
        return {};
      case RELOAD_PLUGINS:
        return { answers: [{ ...told, said: { ...told.said, ...this.#about } }] };
      default:
        return { answers: [told] };
    }
  }

  #choose(told: HelperAnswer): Reaction {
    const choice = completeChoice(this.#choices, told);
    if (choice === undefined) return {};
    if (!this.writesTranscript || !("response" in choice.said)) return { answers: [choice] };
    this.#noted = choice;
    // It writes a choice down with the next message alone.
    return { send: [EMPTY_MESSAGE] };
  }

  /** What is held back is answered once it has said what the session is like, too. */
  #known(): readonly HelperAnswer[] {
    const about = this.#about;
    if (about === undefined) return [];
    return this.takeDeferred().map(({ place, said }) => ({ place, said: { ...said, ...about } }));
  }

  takeServerQuestions(): readonly unknown[] {
    return this.#onServers.splice(0);
  }

  takeDeferred(): readonly HelperAnswer[] {
    const held = this.#held;
    this.#held = [];
    return held;
  }

  finalAnswers(): readonly HelperAnswer[] {
    return this.#noted === undefined ? [] : [this.#noted];
  }

  #subtypeAt(place: string): string | undefined {
    return this.#requests.get(place)?.subtype;
  }
}
