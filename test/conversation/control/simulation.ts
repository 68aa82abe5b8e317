import { assertEquals } from "@std/assert";
import type { DeadlineName, Input, Untimed } from "../../../src/conversation/control/input.ts";
import type { Effect, Ending } from "../../../src/conversation/control/effect.ts";
import { receiveSessionInput } from "../../../src/conversation/control/session_machine.ts";
import type { WayIn } from "../../../src/conversation/control/message.ts";
import type { SessionOptions } from "../../../src/conversation/control/session_options.ts";
import {
  type SessionState,
  startSession,
} from "../../../src/conversation/control/session_state.ts";
import type { Screen } from "../../../src/conversation/terminal/screen.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import { ArmedDeadlines } from "../output/armed_deadlines.ts";
import { message } from "./caller_inputs.ts";
import { BUSY, EXIT, type Given, IDLE, REACHABLE, screen, submit, VERSION } from "./inputs.ts";
import { onlyMessage } from "./only_message.ts";

/** What a simulated session is started with. */
export type SimulationOptions = Partial<SessionOptions> & {
  /** The only message of a run. */
  readonly prompt?: string;
  readonly inject?: WayIn;
};

type EffectOf<Type extends Effect["type"]> = Extract<Effect, { readonly type: Type }>;

/** A session whose clock moves only when a test moves it. A deadline fires only if the session has armed it. */
export class Simulation {
  readonly effects: Effect[] = [];
  #state: SessionState;
  #now = 0;
  #screen: Screen = { lines: [], cursor: { row: 1, col: 1 } };
  readonly #armed = new ArmedDeadlines();

  constructor(options: Partial<SessionOptions>) {
    this.#state = startSession({
      size: { rows: 50, cols: 220 },
      timeoutMs: 3_600_000,
      startTimeoutMs: 60_000,
      deliveryTimeoutMs: 30_000,
      drainTimeoutMs: 10_000,
      exitTimeoutMs: 5000,
      otherStopHooks: false,
      ...options,
    });
  }

  /** Receives inputs, one after the other, at the same time. */
  receive(...inputs: readonly Untimed<Input>[]): void {
    for (const input of inputs) {
      const next = receiveSessionInput(this.#state, { ...input, at: this.#now } as Input);
      this.#state = next.state;
      next.effects.forEach((effect) => this.#carryOut(effect));
    }
  }

  #carryOut(effect: Effect): void {
    this.effects.push(effect);
    this.#armed.apply(effect, this.#now);
    if (effect.type === "look") this.receive({ type: "screen", screen: this.#screen });
  }

  /** Lets time pass; armed deadlines fire when they are due. */
  wait(ms: number): void {
    const until = this.#now + ms;
    for (let next = this.#armed.next(until); next !== undefined; next = this.#armed.next(until)) {
      this.#now = next.due;
      this.#armed.fire(next.name, next.due);
      this.receive({ type: "deadline", name: next.name });
    }
    this.#now = until;
  }

  /** The child exits with 143; returns how the session ended, if it has. */
  exit(): Ending | undefined {
    this.receive(EXIT);
    return this.ending;
  }

  /** Lets time pass in which this program is stopped: nothing fires meanwhile. */
  sleep(ms: number): void {
    this.#now += ms;
    this.receive({ type: "suspended", ms });
  }

  /** Writes text to the child's terminal. */
  show(text: string): void {
    this.receive({ type: "terminal", bytes: new TextEncoder().encode(text) });
  }

  /** Sets the screen that the next look sees. */
  draw(...lines: readonly string[]): void {
    this.#screen = screen(lines);
  }

  /** The deadlines that are armed. */
  get armed(): readonly DeadlineName[] {
    return this.#armed.names;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** The effects of one type. */
  of<Type extends Effect["type"]>(type: Type): readonly EffectOf<Type>[] {
    return this.effects.filter((effect): effect is EffectOf<Type> => effect.type === type);
  }

  /** All that was typed into the child. */
  get typed(): string {
    return this.of("write").map(({ bytes }) => new TextDecoder().decode(bytes)).join("");
  }

  /** The signals sent to the child, or to it and its tools (`tree`). */
  get signals(): readonly string[] {
    return this.of("kill").map(({ signal, tree }) => tree ? `${signal} tree` : signal);
  }

  /** How the session ended; undefined before that. */
  get ending(): Ending | undefined {
    return this.of("end")[0]?.ending;
  }

  /** How the turns ended that the child outlived. */
  get turns(): readonly string[] {
    return this.of("turn")
      .map(({ ending, recorded }) => recorded ? ending.kind : `${ending.kind}, unrecorded`);
  }

  /** The tickets of the messages of each turn that the child outlived. */
  get tickets(): readonly (readonly string[])[] {
    return this.of("turn").map(({ tickets }) => tickets);
  }

  /** The texts delivered by the rendezvous socket. */
  get delivered(): readonly string[] {
    return this.of("deliver").map(({ prompt }) => prompt);
  }

  /** The ids of the hooks that were answered. */
  get answered(): readonly string[] {
    return this.of("answer").map(({ id }) => id);
  }

  /** The answers to hooks; undefined where a hook has nothing to say. */
  get replies(): readonly (JsonObject | undefined)[] {
    return this.of("answer").map(({ reply }) => reply);
  }

  /** The `hookSpecificOutput` of the last answer to a hook. */
  get output(): JsonObject | undefined {
    return this.replies.at(-1)?.["hookSpecificOutput"] as JsonObject | undefined;
  }

  /** The responses to control requests, without the ids. */
  get responses(): readonly JsonObject[] {
    return this.of("respond").map(({ response: { request_id: _, ...rest } }) => rest);
  }

  /** The ids of the control requests that were answered. */
  get respondedTo(): readonly unknown[] {
    return this.of("respond").map(({ response }) => response.request_id);
  }

  /** The requests that a headless helper was asked. */
  get consulted() {
    return this.of("consult").map(({ request }) => request);
  }

  /** The questions to the caller. */
  get asked() {
    return this.of("frame").flatMap(({ frame }) =>
      frame.type === "control_request" ? [frame.request] : []
    );
  }

  /** How many questions were withdrawn. */
  get withdrawals(): number {
    return this.of("frame").filter(({ frame }) => frame.type === "control_cancel_request").length;
  }

  /** What became of the calls for which a permission was needed. */
  get decisions(): readonly string[] {
    return [...this.state.facts.decisions.values()];
  }
}

/** Starts a session whose child has just been spawned. */
export function simulate({ prompt, inject, ...options }: SimulationOptions = {}): Simulation {
  const session = new Simulation(options);
  if (options.conversation === undefined) {
    session.receive(...onlyMessage({
      ...(prompt === undefined ? {} : { text: prompt }),
      ...(inject === undefined ? {} : { way: inject }),
    }));
  }
  session.receive({ type: "spawned" });
  return session;
}

/** Starts a run and lets it receive inputs. */
export function run(options: SimulationOptions, ...inputs: readonly Given[]): Simulation {
  const session = simulate(options);
  session.receive(...inputs);
  return session;
}

/** Starts a conversation whose child rests and can be reached, and lets it receive inputs. */
export function rested(options: SimulationOptions = {}, ...inputs: readonly Given[]): Simulation {
  const resting = { conversation: true, version: VERSION, ...options } as const;
  return run(resting, REACHABLE, IDLE, ...inputs);
}

/** The same whose child works on the message "go", none of whose lines is written. */
export function working(options: SimulationOptions = {}, ...inputs: readonly Given[]): Simulation {
  return rested(options, message("go"), submit("go"), BUSY, ...inputs);
}

/** Checks that a property changes when this time has passed, and not a millisecond earlier. */
export function assertAfter<Name extends keyof Simulation>(
  ms: number,
  session: Simulation,
  name: Name,
  [before, after]: readonly [Simulation[Name], Simulation[Name]],
): void {
  session.wait(ms - 1);
  assertEquals(session[name], before);
  session.wait(1);
  assertEquals(session[name], after);
}
