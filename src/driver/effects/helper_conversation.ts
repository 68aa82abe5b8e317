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
import type { HelperReply } from "../../conversation/control/input.ts";
import type { JsonObject } from "../../json_object.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";

/** The reaction to a frame of the helper. */
interface Reaction {
  /** The answers that the frame completes. */
  readonly answers?: readonly HelperAnswer[];
  /** The lines to send next. */
  readonly send?: readonly unknown[];
  /** Whether the helper may end. */
  readonly isDone?: boolean;
}

/** The lines to send to a headless helper, and the answers in its frames. It does no I/O. */
export interface HelperConversation {
  /** Whether the helper needs the child's MCP servers. */
  readonly startsServers: boolean;
  /** Whether the helper starts another session instead of this one, as `/clear` does. */
  readonly startsSession: boolean;
  readonly writesTranscript: boolean;
  /** Whether the helper must know the cost of the conversation. */
  readonly needsCost: boolean;
  /** Whether only the lines of commands go into the transcript. */
  readonly writesCommandsOnly: boolean;
  /** The lines to send first. */
  readonly firstLines: readonly unknown[];
  /**
   * Receives a further question and returns the lines to send; undefined if another helper must answer it. Absent if
   * the helper ends after its answers.
   */
  readonly ask?: (place: string, request: ControlRequest) => readonly unknown[] | undefined;
  /** Receives a frame of the helper. */
  readonly receive: (frame: JsonObject) => Reaction;
  /** Takes, once, the questions that wait until MCP servers have connected. */
  readonly takeServerQuestions: () => readonly unknown[];
  /** Takes the answers that waited for a description of the session, after the helper's last frame. */
  readonly takeDeferred: () => readonly HelperAnswer[];
  /** The answers that are passed on after the helper has ended and written its transcript. */
  readonly finalAnswers: () => readonly HelperAnswer[];
}

/** The id of the `initialize` that passes agents; its answer is dropped. */
const AGENTS_REQUEST = "agents";

/**
 * Opens the conversation with a helper that answers some requests.
 *
 * @param open the requests, by the ids that the helper receives. A slash command is always the only request
 * @param agents the agents that the helper knows
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

/** Whether a request writes to the session's transcript. */
export function writesToSession({ subtype, notes, body }: ControlRequest): boolean {
  return subtype === RENAME_SESSION || notes === true ||
    (subtype === GENERATE_TITLE && body["persist"] === true);
}

/** Whether a running helper answers a request as a new one would. */
function canAskRunningHelper(request: ControlRequest): boolean {
  return STATELESS.includes(request.subtype) && request.args === undefined &&
    !writesToSession(request);
}

function agentLines(agents: JsonObject | undefined): readonly RequestLine[] {
  return agents === undefined
    ? []
    : [requestLine(AGENTS_REQUEST, { subtype: "initialize", body: {} }, agents)];
}

/**
 * A slash command, sent as a message. If it writes to the session, the helper is also asked for the settings before and
 * after it.
 */
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
  #outcome: HelperReply | undefined;

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
      // An earlier title does not come from the command.
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
    // The transcript of a new session is complete when the helper has ended.
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

/** Requests of the control protocol: several, or one that writes to the session. */
class QuestionConversation implements HelperConversation {
  readonly ask?: NonNullable<HelperConversation["ask"]>;
  readonly startsServers: boolean;
  readonly startsSession = false;
  readonly needsCost = false;
  readonly writesTranscript: boolean;
  readonly firstLines: readonly unknown[];
  /** All requests by their ids, including answered ones. */
  readonly #requests: Map<string, ControlRequest>;
  readonly #onServers: RequestLine[];
  /** The parts of answers to choices of a model, which come as three responses. */
  readonly #choices = new Map<string, HelperAnswer>();
  /** Answers to `initialize` and to changes of settings, which wait for a description of the session. */
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
      // When the helper describes the session, it has connected to the servers for which it waits.
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
        // The caller gets this answer immediately. The description follows with the first message.
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
    // Claude Code writes a choice of a model into the transcript with the next message.
    return { send: [EMPTY_MESSAGE] };
  }

  /** Takes the deferred answers, with the description of the session once there is one. */
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
