import {
  AFTER,
  answerIn,
  ANYTIME,
  appliedIn,
  type AskedLine,
  askedLine,
  BEFORE,
  choiceOf,
  chosenAt,
  inForce,
  isAboutSession,
  isInitialize,
  isUpdate,
  linesOf,
  messageOf,
  NO_QUESTION,
  outcomeOf,
  partition,
  titleOf,
  type TwinAnswer,
} from "./helper_protocol.ts";
import { COMMAND } from "../../conversation/protocol/requests/asked_command.ts";
import { CHOOSING } from "../../conversation/protocol/requests/choosing_model.ts";
import { RENAMING, TITLING } from "../../conversation/protocol/requests/consulting.ts";
import { RELOADING } from "../../conversation/protocol/requests/reloading.ts";
import { UPDATING } from "../../conversation/protocol/requests/updating_settings.ts";
import type { Consulted } from "../../conversation/control/input.ts";
import type { JsonObject } from "../../json_object.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";

/** What comes of something that a headless Claude Code has said. */
interface Heard {
  /** What has been answered by that. */
  readonly answers?: readonly TwinAnswer[];
  /** What it is told next, a line each. */
  readonly say?: readonly unknown[];
  /** Whether nothing more is wanted of it. */
  readonly isOver?: boolean;
}

/** What a headless Claude Code is told and asked, and what comes of what it says. */
export interface TwinTalk {
  /** Whether it has to have the MCP servers of the child. */
  readonly startsServers: boolean;
  /** Whether it ends the session and begins another one, and whether it notes something in the session. */
  readonly clears: boolean;
  readonly notes: boolean;
  /** Whether it has to know what the conversation has used. */
  readonly needsCost: boolean;
  /** Whether nothing is noted but what the model hears of a command. */
  readonly notesCommandsAlone: boolean;
  /** What it is told first. */
  readonly beginning: readonly unknown[];
  /**
   * Takes a further question, as long as it lives, and returns what it is told; undefined for one that another has to be
   * started for. Absent where it is to end once it has answered.
   */
  readonly ask?: (place: string, request: ControlRequest) => readonly unknown[] | undefined;
  /** Takes a frame of its. */
  readonly hear: (frame: JsonObject) => Heard;
  /** Takes, once, what is asked of it when its servers have had their time. */
  readonly takeOnServers: () => readonly unknown[];
  /** What is answered when it has said all. */
  readonly rest: () => readonly TwinAnswer[];
  /** What is answered once it has ended, and has written down what it was to. */
  readonly last: () => readonly TwinAnswer[];
}

/** The request that tells it of agents, where nobody asks for its answer. */
const TELLING = "agents";

/**
 * @param open what it is asked, by ids that are used in the talk; a command is asked for alone
 * @param agents those that it is told of, if it is told of some
 */
export function talkAbout(
  open: ReadonlyMap<string, ControlRequest>,
  agents: JsonObject | undefined,
): TwinTalk {
  const [command] = [...open].filter(([, { subtype }]) => subtype === COMMAND);
  return command === undefined
    ? new Questions(open, agents)
    : new Command(command[0], command[1], agents);
}

/** Whether something is noted in the session because of a request. */
export function isNoting({ subtype, notes, body }: ControlRequest): boolean {
  return subtype === RENAMING || notes === true ||
    (subtype === TITLING && body["persist"] === true);
}

/** Whether one that lives answers a request as another one would that is started for it. */
function isAnytime(request: ControlRequest): boolean {
  return ANYTIME.includes(request.subtype) && request.args === undefined && !isNoting(request);
}

function tellingOf(agents: JsonObject | undefined): readonly AskedLine[] {
  return agents === undefined
    ? []
    : [askedLine(TELLING, { subtype: "initialize", body: {} }, agents)];
}

/** A slash command, which is a message; what is in force before and after one that is noted in the session counts, too. */
class Command implements TwinTalk {
  readonly startsServers = true;
  readonly clears: boolean;
  readonly notes: boolean;
  readonly needsCost: boolean;
  readonly notesCommandsAlone = false;
  readonly beginning: readonly unknown[];
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
    this.clears = request.body["clears"] === true;
    this.notes = isNoting(request);
    this.needsCost = request.body["needsCost"] === true;
    const first = this.notes ? inForce(BEFORE) : messageOf(request);
    this.beginning = [...tellingOf(agents), first];
  }

  hear(frame: JsonObject): Heard {
    const { type, subtype } = frame;
    const told = answerIn(frame);
    if (told?.place === BEFORE) {
      this.#before = appliedIn(told);
      // What gave the session its title before is none of its doing.
      this.#title = undefined;
      return { say: [messageOf(this.#request)] };
    }
    if (told?.place === AFTER) {
      const outcome = this.#outcome;
      if (outcome !== undefined && "response" in outcome) {
        const changes = { before: this.#before, after: appliedIn(told) };
        this.#outcome = { ...outcome, response: { ...outcome.response, ...changes } };
      }
      return { isOver: true };
    }
    if (subtype === "init") this.#init = frame;
    if (type === "assistant") this.#said = frame;
    if (this.notes) this.#title = titleOf(frame) ?? this.#title;
    if (subtype === "commands_changed") this.#commands = frame["commands"];
    return type === "result" ? this.#end(frame) : {};
  }

  #end(result: JsonObject): Heard {
    const { clears } = this;
    const [said, title, commands] = [this.#said, this.#title, this.#commands];
    const outcome = outcomeOf(result, { said, clears, title, commands });
    this.#outcome = { ...outcome, ...(this.#init === undefined ? {} : { init: this.#init }) };
    // The transcript of another session is whole once it has ended.
    if (clears) return { isOver: true };
    return this.notes ? { say: [inForce(AFTER)] } : { answers: this.last(), isOver: true };
  }

  takeOnServers(): readonly unknown[] {
    return [];
  }

  rest(): readonly TwinAnswer[] {
    return [];
  }

  last(): readonly TwinAnswer[] {
    return this.#outcome === undefined ? [] : [{ place: this.#place, said: this.#outcome }];
  }
}

/** Requests of the control protocol: several, or one that is noted in the session. */
class Questions implements TwinTalk {
  readonly ask?: NonNullable<TwinTalk["ask"]>;
  readonly startsServers: boolean;
  readonly clears = false;
  readonly needsCost = false;
  readonly notes: boolean;
  readonly beginning: readonly unknown[];
  /** Those that are asked, by their ids, also once they have been answered. */
  readonly #requests: Map<string, ControlRequest>;
  readonly #onServers: AskedLine[];
  /** Parts of the answers to choices of a model. */
  readonly #choices = new Map<string, TwinAnswer>();
  /** Answers to what changes settings, and to initializations, which wait for what the session is like. */
  #held: readonly TwinAnswer[] = [];
  #about: { readonly init?: JsonObject } | undefined;
  #noted: TwinAnswer | undefined;

  constructor(open: ReadonlyMap<string, ControlRequest>, agents: JsonObject | undefined) {
    this.#requests = new Map(open);
    const [atOnce, onServers] = partition(open, agents);
    this.#onServers = onServers;
    this.startsServers = onServers.length > 0;
    this.notes = [...open.values()].some(isNoting);
    const isInitialized = atOnce.some(isInitialize);
    const tellsSession = isInitialized || atOnce.some(isUpdate);
    this.beginning = [
      ...(isInitialized ? [] : tellingOf(agents)),
      ...atOnce,
      ...(this.startsServers || tellsSession ? [NO_QUESTION] : []),
    ];
    const isKept = [...open.values()].every((request) =>
      request.subtype === "initialize" || isAnytime(request)
    );
    if (isKept) this.ask = (place, request) => this.#askFurther(place, request);
  }

  #askFurther(place: string, request: ControlRequest): readonly unknown[] | undefined {
    if (!isAnytime(request)) return undefined;
    this.#requests.set(place, request);
    return linesOf(place, request);
  }

  get notesCommandsAlone(): boolean {
    return this.#noted !== undefined && this.#subtypeAt(this.#noted.place) === CHOOSING;
  }

  hear(frame: JsonObject): Heard {
    const told = answerIn(frame);
    const { answers = [], say = [], isOver }: Heard = told === undefined ? {} : this.#take(told);
    const isNoted = this.#noted !== undefined && frame["type"] === "result";
    if (isOver || isNoted) return { answers, say, isOver: true };
    const isAbout = isAboutSession(frame);
    if (isAbout) this.#about = frame["subtype"] === "init" ? { init: frame } : this.#about ?? {};
    return {
      answers: [...answers, ...this.#known()],
      // By then it has connected to its servers, as far as it waits for them.
      say: [...say, ...(isAbout ? this.takeOnServers() : [])],
    };
  }

  #take(told: TwinAnswer): Heard {
    if (this.#subtypeAt(chosenAt(told.place)) === CHOOSING) return this.#choose(told);
    const request = this.#requests.get(told.place);
    if (request !== undefined && isNoting(request)) {
      this.#noted = told;
      return { isOver: true };
    }
    switch (request?.subtype) {
      case "initialize":
        this.#held = [...this.#held, told];
        // Its caller need not wait for what the first message is told with.
        return "response" in told.said && !request.ahead
          ? { answers: [{ ...told, said: { ...told.said, isUndescribed: true } }] }
          : {};
      case UPDATING:
        this.#held = [...this.#held, told];
        return {};
      case RELOADING:
        return { answers: [{ ...told, said: { ...told.said, ...this.#about } }] };
      default:
        return { answers: [told] };
    }
  }

  #choose(told: TwinAnswer): Heard {
    const choice = choiceOf(this.#choices, told);
    if (choice === undefined) return {};
    if (!this.notes || !("response" in choice.said)) return { answers: [choice] };
    this.#noted = choice;
    // It writes a choice down with the next message alone.
    return { say: [NO_QUESTION] };
  }

  /** What is held back is answered once it has said what the session is like, too. */
  #known(): readonly TwinAnswer[] {
    const about = this.#about;
    if (about === undefined) return [];
    return this.rest().map(({ place, said }) => ({ place, said: { ...said, ...about } }));
  }

  takeOnServers(): readonly unknown[] {
    return this.#onServers.splice(0);
  }

  rest(): readonly TwinAnswer[] {
    const held = this.#held;
    this.#held = [];
    return held;
  }

  last(): readonly TwinAnswer[] {
    return this.#noted === undefined ? [] : [this.#noted];
  }

  #subtypeAt(place: string): string | undefined {
    return this.#requests.get(place)?.subtype;
  }
}
