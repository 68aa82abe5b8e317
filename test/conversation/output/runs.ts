import { assert } from "@std/assert";
import { advance, startConversation } from "../../../src/conversation/output/advance.ts";
import {
  type ConversationEffect,
  type ConversationState,
  type EffectPart,
  partsOf,
} from "../../../src/conversation/output/conversation.ts";
import { emitEnd, receiveTurnEnd } from "../../../src/conversation/output/end_conversation.ts";
import { receiveInput } from "../../../src/conversation/output/receive_input.ts";
import type { OutputOptions } from "../../../src/conversation/output/output_options.ts";
import {
  type OutputState,
  type OutputStep,
  startOutput,
  type TurnEnd,
} from "../../../src/conversation/output/output_state.ts";
import type { ReportOptions } from "../../../src/conversation/output/result/verdict.ts";
import { emitTurnResult } from "../../../src/conversation/output/turns/turn_results.ts";
import type { Ending } from "../../../src/conversation/control/effect.ts";
import type { SettledMessage } from "../../../src/conversation/control/message.ts";
import type {
  DeadlineName,
  Input,
  Subagent,
  Untimed,
} from "../../../src/conversation/control/input.ts";
import type { SessionOptions } from "../../../src/conversation/control/session_options.ts";
import { parseEntry } from "../../../src/claude/transcript/entry.ts";
import { Step } from "../../../src/conversation/step.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { ArmedDeadlines } from "./armed_deadlines.ts";
import { conversationOptions } from "./conversation_options.ts";
import { type Line, prompt } from "./lines.ts";

/** The version that tests assume where it does not matter. */
export const VERSION = "2.1.332";

/** What happens to a run. Deadlines are no news: those that were armed fire when time passes. */
export type News = Exclude<Untimed<Input>, { readonly type: "deadline" }>;

/** A run on a clock that stands still until a test lets time pass. Then the deadlines fire that were armed, and no others. */
abstract class Run {
  now = 0;
  protected armed = new ArmedDeadlines();

  protected abstract step(input: Input): void;

  /** Gives inputs, now. */
  give(...news: readonly News[]): void {
    for (const each of news) this.step({ ...each, at: this.now } as Input);
  }

  /** Gives lines of the session's transcript that are read at once. A text is a whole line, as it stands in the file. */
  push(...lines: readonly (Line | string)[]): void {
    this.give(
      ...lines.flatMap((line): readonly News[] => {
        const entry = parseEntry(
          typeof line === "string" ? line : JSON.stringify({ version: VERSION, ...line }),
        );
        return entry === undefined ? [] : [{ type: "transcript", entry }];
      }),
      { type: "read" },
    );
  }

  /** Gives lines of a subagent's transcript, each read by itself. */
  pushSubagent(subagent: Partial<Subagent>, ...lines: readonly Line[]): void {
    const about = { agentId: "a1", type: "Explore", description: "Look", ...subagent };
    for (const line of lines) {
      const entry = parseEntry(JSON.stringify({ version: VERSION, isSidechain: true, ...line }));
      assert(entry !== undefined);
      this.give({ type: "subagent", line: { subagent: about, entry } }, { type: "read" });
    }
  }

  /** Lets time pass up to a moment, in milliseconds from the start. */
  waitUntil(moment: number): void {
    for (let next = this.armed.next(moment); next !== undefined; next = this.armed.next(moment)) {
      this.now = next.due;
      this.armed.fire(next.name, this.now);
      this.step({ type: "deadline", name: next.name, at: this.now });
    }
    this.now = moment;
  }

  /** Lets time pass until a deadline fires, which must be armed. */
  pass(name: DeadlineName): void {
    const due = this.armed.dueAt(name);
    assert(due !== undefined, `the deadline "${name}" is not armed`);
    this.waitUntil(due);
  }

  /** In how many milliseconds a deadline is due; undefined if it is not armed. */
  due(name: DeadlineName): number | undefined {
    const due = this.armed.dueAt(name);
    return due && due - this.now;
  }
}

/** Runs a step of the output on a state. */
export function runStep(
  before: OutputState,
  use: (step: OutputStep) => void,
): { readonly state: OutputState; readonly frames: readonly Frame[] } {
  const step: OutputStep = new Step<OutputState, Frame>(before);
  use(step);
  return { state: step.state, frames: step.emitted };
}

/** The frames machine by itself, in a run that was started at the beginning of the epoch. */
export class FramesRun extends Run {
  state: OutputState;
  /** How often it wanted to know which shells run. */
  looks = 0;
  #frames: Frame[] = [];

  constructor(options: Partial<OutputOptions> = {}) {
    super();
    const { frames, report } = conversationOptions();
    this.state = startOutput({ ...frames, startedAt: 0, ...options }, report);
  }

  protected step(input: Input): void {
    this.#run((step) => receiveInput(step, input));
  }

  #run(use: (step: OutputStep) => readonly ConversationEffect[] | void): void {
    let effects: readonly ConversationEffect[] = [];
    const { state, frames } = runStep(this.state, (step) => effects = use(step) ?? []);
    this.state = state;
    this.#frames.push(...frames);
    for (const effect of effects) {
      this.armed.apply(effect, this.now);
      if (effect.type === "list-shells") this.looks++;
    }
  }

  /** The frames since this was asked last. */
  take(): readonly Frame[] {
    return this.#frames.splice(0);
  }

  /** A turn is over; `recorded` says whether all its lines have been read, `endedBy` when a hook has shown its end. */
  endTurn(
    ending: Ending,
    { recorded, ...end }: { readonly recorded: boolean } & Pick<TurnEnd, "endedBy">,
  ): void {
    this.#run((step) => receiveTurnEnd(step, { ending, at: this.now, ...end }, { recorded }));
  }

  /** A message is answered without the child. */
  settle(message: SettledMessage): void {
    this.give({ type: "message", message });
    this.#run((step) =>
      emitTurnResult(step, { ending: { kind: "settled", message }, at: this.now })
    );
  }

  /** The run is ending. */
  ending(end: Pick<TurnEnd, "endedBy"> = {}): void {
    this.#run((step) => step.update({ endingAt: this.now, ...end }));
  }

  /** The run is over. */
  finish(): void {
    this.#run((step) => emitEnd(step, { version: VERSION, now: this.now }));
  }
}

/** A run of the frames machine whose turn has begun. */
export function begun(options: Partial<OutputOptions> = {}, line: Line = prompt()): FramesRun {
  const run = new FramesRun(options);
  run.push(line);
  run.pass("init");
  run.take();
  return run;
}

/** What a test changes of the options of a conversation. */
export interface ChangedOptions {
  readonly session?: Partial<SessionOptions>;
  readonly frames?: Partial<OutputOptions>;
  readonly report?: Partial<ReportOptions>;
}

/** A whole conversation: the session and the frames. */
export class ConversationRun extends Run {
  state: ConversationState;
  readonly parts: EffectPart[] = [];

  constructor({ session, frames, report }: ChangedOptions = {}) {
    super();
    const usual = conversationOptions(session);
    this.state = startConversation({
      session: usual.session,
      frames: { ...usual.frames, ...frames },
      report: { ...usual.report, ...report },
    });
  }

  protected step(input: Input): void {
    const { state, effects } = advance(this.state, input);
    this.state = state;
    for (const effect of effects) {
      this.armed.apply(effect, this.now);
      this.parts.push(...partsOf(effect));
    }
  }

  /** The frames so far. */
  get frames(): readonly Frame[] {
    return this.parts.flatMap((part) => part.type === "frame" ? [part.frame] : []);
  }

  /** The parts so far of one type. */
  of<Type extends EffectPart["type"]>(
    type: Type,
  ): readonly Extract<EffectPart, { readonly type: Type }>[] {
    return this.parts.filter((part) => part.type === type) as never;
  }
}
