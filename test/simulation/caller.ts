import type { Frame } from "../../src/claude/wire/frame.ts";
import { isJsonObject, type JsonObject } from "../../src/json_object.ts";
import type { Limits } from "../../src/conversation/control/session_options.ts";
import { VERSION } from "./lines.ts";
import type {
  Message,
  Priority,
  SettledMessage,
  WayIn,
} from "../../src/conversation/control/message.ts";
import type { World } from "./world.ts";

/** What a simulated caller does. */
export interface CallerPlan {
  /** How many messages it sends. */
  readonly messages: number;
  /** How its messages reach the child. */
  readonly way: WayIn;
  /** Whether it initializes the session first. */
  readonly isInitialized: boolean;
  /** Whether the child is started before there is a caller, and on which terms that one comes. */
  readonly isLate: boolean;
  readonly terms: Limits;
  /** Whether it may say something else than messages and answers: it asks, interrupts and sends signals. */
  readonly isRestless: boolean;
}

/** What the caller says to a question. */
type Reaction = "allow" | "deny" | "interrupt" | "late" | "twice" | "never" | "error";

/** How long a caller waits at most before it gives up on what it waits for, in milliseconds. */
const PATIENCE_MS = 60_000;

/** The id of an initialization. */
export const INITIALIZE = "initialize";

/** A control request: its subtype, and its other fields. */
type Request = readonly [string, JsonObject];

/** What a caller may ask for at any time. */
const REQUESTS: readonly [Request, ...Request[]] = [
  ["interrupt", {}],
  ["set_permission_mode", { mode: "acceptEdits" }],
  ["set_model", { model: "claude-haiku-5" }],
  ["get_context_usage", {}],
  ["set_max_thinking_tokens", { max_thinking_tokens: 1000 }],
  ["cancel_async_message", { message_uuid: uuidOf(2) }],
  ["unheard_of", {}],
  ["mcp_status", {}],
];

/** A simulated caller: the messages it sends, its answers and requests, and when it says that there are no more. */
export class Caller {
  readonly world: World;
  readonly plan: CallerPlan;
  /** What it decided of calls, by what they are called with. */
  readonly decisions = new Map<string, "allow" | "deny">();
  readonly sent: Message[] = [];
  readonly requests: string[] = [];
  readonly responses: unknown[] = [];
  /** Ids of messages that it has taken back. */
  readonly cancelled = new Set<unknown>();
  results = 0;
  isClosed = false;
  /** Whether it has stopped the run: by a signal, or as it cannot be understood any more. */
  hasStopped = false;
  interrupts = 0;

  constructor(world: World, plan: CallerPlan) {
    this.world = world;
    this.plan = plan;
  }

  /** Begins to talk, before the child is started. */
  begin(): void {
    if (!this.plan.isLate) return this.#talk();
    const { world } = this;
    world.schedule.after(world.choices.between([0, 2000]), () => {
      world.send("caller", 0, { type: "terms", terms: { ...this.plan.terms, trace: false } });
      this.#talk();
    });
  }

  #talk(): void {
    if (this.plan.isInitialized) {
      this.requests.push(INITIALIZE);
      const request = { id: INITIALIZE, subtype: "initialize", body: {} };
      this.world.send("caller", 0, { type: "control", request });
    }
    this.#send();
    if (this.plan.way !== "rendezvous") return this.#close();
    this.#goOn();
    if (this.plan.isRestless) this.#beRestless();
  }

  /** Receives a frame. */
  receive(frame: Frame): void {
    const { type } = frame;
    if (type === "result") {
      this.results++;
      this.#goOn();
    } else if (type === "control_response") {
      const { request_id: id, response } = frame["response"] as JsonObject;
      this.responses.push(id);
      const { cancelled, message_uuid: uuid } = isJsonObject(response) ? response : {};
      if (cancelled === true) this.cancelled.add(uuid);
    } else if (type === "control_request") {
      const { request_id: id, request } = frame as JsonObject;
      if (typeof id === "string" && isJsonObject(request)) this.#answer(id, request);
    }
  }

  /** Sends the next message, or says that there is none, now or later. */
  #goOn(): void {
    const { choices } = this.world;
    if (this.isClosed) return;
    const isLate = choices.happens(700);
    const ms = isLate ? this.world.takes("caller") : 0;
    if (this.sent.length < this.plan.messages) {
      // Most callers wait for a result, and some do not.
      if (this.results >= this.sent.length || choices.happens(300)) {
        return this.world.schedule.after(ms, () => {
          if (this.sent.length < this.plan.messages) this.#send();
          this.#goOn();
        });
      }
    } else if (this.results >= this.sent.length || choices.happens(300)) {
      return this.world.schedule.after(ms, () => this.#close());
    }
    // One that has waited for long enough says no more.
    const { results } = this;
    this.world.schedule.after(PATIENCE_MS, () => {
      if (this.results === results) this.#close();
    });
  }

  #send(): void {
    const { way } = this.plan;
    const number = this.sent.length + 1;
    const { choices } = this.world;
    // A command is carried out without the child, at once or by a headless helper.
    if (way === "rendezvous" && choices.happens(50)) {
      const settled = choices.pick<SettledMessage["settled"]>([
        { kind: "local", text: `did /command ${number}`, version: VERSION },
        { kind: "asked", version: VERSION },
      ]);
      return this.#tell({ ...{ text: `/command ${number}`, settled }, ...idsOf(number) });
    }
    const priority = choices.pick<Priority>(["next", "next", "next", "now", "later"]);
    const isExpanded = way !== "stdin" && choices.happens(50);
    const message: Message = {
      ...{ text: `message ${number}`, way, ...idsOf(number) },
      ...(isExpanded ? { text: `/greet ${number}`, command: "/greet" } : {}),
      // Of two commands that wait, one of which is for later, it is not known which one the child takes.
      ...(priority === "next" || isExpanded || way !== "rendezvous" ? {} : { priority }),
    };
    this.#tell(message);
  }

  #tell(message: Message): void {
    this.sent.push(message);
    this.world.send("caller", 0, { type: "message", message });
  }

  #close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.world.send("caller", 0, { type: "closed" });
  }

  #beRestless(): void {
    const { world } = this;
    const { choices } = world;
    world.schedule.after(choices.between([0, 6000]), () => {
      if (choices.happens(20) && !this.isClosed) {
        // Nothing is understood of what it says any more.
        this.isClosed = true;
        this.hasStopped = true;
        world.send("caller", 0, { type: "unreadable", reason: "It is no JSON" });
      } else if (choices.happens(150)) {
        this.hasStopped = true;
        world.send("driver", 0, { type: "signal", signal: choices.pick(["SIGTERM", "SIGINT"]) });
      } else if (!this.isClosed) {
        const [subtype, body] = choices.pick(REQUESTS);
        const id = `request ${this.requests.length + 1}`;
        this.requests.push(id);
        if (subtype === "interrupt") this.interrupts++;
        world.send("caller", 0, { type: "control", request: { id, subtype, body } });
      }
      if (choices.happens(600)) this.#beRestless();
    });
  }

  #answer(id: string, question: JsonObject): void {
    const { world } = this;
    const reaction: Reaction = world.choices.pick([
      ...["allow", "allow", "allow", "deny", "deny"] as const,
      ...["interrupt", "late", "twice", "never", "error"] as const,
    ]);
    if (reaction === "never") return;
    const say = (afterMs: number, isAllowed: boolean) =>
      world.schedule.after(afterMs, () => {
        if (this.isClosed) return;
        const call = JSON.stringify(question["input"]);
        if (!this.decisions.has(call)) {
          this.decisions.set(call, isAllowed && reaction !== "error" ? "allow" : "deny");
        }
        const answer = reaction === "error"
          ? { id, error: "Not now" }
          : { id, response: responseTo(question, { isAllowed, reaction }) };
        world.send("caller", 0, { type: "answer", answer });
      });
    const isAllowed = reaction !== "deny" && reaction !== "interrupt";
    const ms = world.takes("caller");
    say(reaction === "late" ? ms + 20_000 : ms, isAllowed);
    // Only the first answer counts.
    if (reaction === "twice") say(ms + 1, !isAllowed);
  }
}

function idsOf(number: number) {
  return { ticket: `ticket ${number}`, uuid: uuidOf(number) };
}

/** The id of a message, by its number. */
function uuidOf(number: number): string {
  return `00000000-0000-4000-8000-${`${number}`.padStart(12, "0")}`;
}

/** What a caller says to a question. */
function responseTo(
  { subtype, input }: JsonObject,
  { isAllowed, reaction }: { readonly isAllowed: boolean; readonly reaction: Reaction },
): JsonObject {
  if (subtype === "can_use_tool") {
    if (isAllowed) return { behavior: "allow", updatedInput: input };
    const interrupt = reaction === "interrupt" ? { interrupt: true } : {};
    return { behavior: "deny", message: "No.", ...interrupt };
  }
  if (isAllowed) return {};
  return { decision: "block", reason: "No." };
}
