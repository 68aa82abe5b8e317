import type { Answer } from "../../src/conversation/control/effect.ts";
import type { Subagent } from "../../src/conversation/control/input.ts";
import type { CallbackHook } from "../../src/conversation/protocol/caller_options.ts";
import { isJsonObject, type JsonObject } from "../../src/json_object.ts";
import type { Screen } from "../../src/conversation/terminal/screen.ts";
import type { Entry } from "../../src/claude/transcript/entry.ts";
import { LineMaker, MODEL, queueFields, SESSION, VERSION } from "./lines.ts";
import { Gate, type Process, type Running, type Wait } from "./schedule.ts";
import type { Moves } from "./moves.ts";
import { runTurn, type Turn, type TurnKind } from "./turn.ts";
import type { World } from "./world.ts";

/** A dialog before the input box (the recordings `dialog-settings-warning` and `dialogs-at-start`). */
export interface StartDialog {
  readonly words: readonly string[];
  readonly choices: readonly string[];
  /** The place of the choice that is selected at first. */
  readonly selected: number;
}

/** How a simulated child is started. */
export interface ChildOptions {
  /** The events of which hooks of ours tell. */
  readonly hooks: readonly string[];
  /** Those of them whose hooks wait for an answer. */
  readonly asking: readonly string[];
  /** The caller's hooks. */
  readonly callbacks: readonly CallbackHook[];
  /** The prompt on its fd 0. */
  readonly stdin?: string;
  /** Whether the caller is asked for permissions: without it, calls that need one are refused by a hook of ours. */
  readonly decides: boolean;
  /** The dialogs before its input box, each of which Enter closes (the recordings `dialog-…`). */
  readonly dialogs?: readonly StartDialog[];
  /** Why its input box never appears (the recordings `dialog-configuration-error` and `first-start-offline`). */
  readonly startFault?: "configuration" | "offline";
  /** Whether it is seen what its shells write (the recording `shell-output`). */
  readonly isHeard?: true;
  /** Whether it sums up what was said before, now and then. */
  readonly compacts?: true;
  /** Whether it is seen what the API streams (the recording `exact-stream`). */
  readonly isStreamed?: true;
}

/** What the model did in a turn, as the child knows it: what a result has to say. */
export interface TurnRecord {
  readonly kind: TurnKind;
  readonly prompts: string[];
  /** The last words of the assistant. */
  text: string;
  end?: "answered" | "failed" | "interrupted" | "halted" | "blocked";
  /** Whether a Stop hook has had the assistant go on. */
  isContinued?: true;
  /** Whether the child was told to go before the turn began. */
  readonly isLate?: true;
}

/** A call that was carried out, and what was decided of it before. */
export interface CarriedOut {
  readonly id: string;
  readonly tool: string;
  readonly input: JsonObject;
  readonly needsPermission?: true;
}

/** What a hook was told by this program; undefined without an answer. */
export type HookAnswer = Pick<Answer, "reply" | "veto"> | undefined;

/** A prompt, or the end of a task, that waits in the child's queue. */
interface Queued {
  readonly kind: TurnKind;
  readonly text: string;
  /** Whether a line tells of it: none does of a prompt that was typed, or that was on fd 0 (the recordings `paste` and `answer`). */
  readonly isNoted?: true;
}

/** The choice of a dialog that ends Claude Code. */
export const EXIT_CHOICE = "No, exit";

/** How long Claude Code waits for the hooks of its end, in milliseconds (`END_TIMEOUT_S`). */
const END_HOOK_MS = 1500;

/** A simulated Claude Code: what it writes, and what it makes of keys, prompts, answers and signals. */
export class Child {
  readonly world: World;
  readonly options: ChildOptions;
  readonly lines = new LineMaker("5f2b4a52-8d0c-4f0e-9a43-0");
  /** What has happened, for the invariants. */
  readonly turns: TurnRecord[] = [];
  readonly carriedOut: CarriedOut[] = [];
  readonly answered = new Map<string, number>();
  readonly signals: string[] = [];
  /** The ends of tasks that were in its queue when it was told to go. */
  pendingTaskEnds: readonly string[] = [];
  readonly delivered: string[] = [];
  /** Tasks in the background, by their ids, as a Stop hook names them. */
  readonly tasks = new Map<string, JsonObject>();
  /** The time for which the model has had itself woken, as a Stop hook names it. */
  crons: readonly JsonObject[] = [];
  readonly moves: Moves;
  totalUsd = 0;
  apiDurationMs = 0;
  requests = 0;
  /** How often it has summed up what was said before. */
  compactions = 0;
  isGone = false;
  /** What stands on its screen in the place of its input box. */
  dialog: Screen | undefined;
  /** Whether it does something for which a conversation may end otherwise than with an answer. */
  isFaulty = false;
  readonly queue: Queued[] = [];
  /** Opened whenever something has changed that a process may wait for. */
  readonly gate = new Gate();
  readonly #answers = new Map<string, HookAnswer>();
  #hooks = 0;
  #status = "";
  #box = "";
  #buffer: Entry[] = [];
  #turn: (Omit<Turn, "process"> & { readonly running: Running }) | undefined;
  #isFlushing = false;
  /** Whether it has come to its input box. */
  #hasStarted = false;
  /** Whether the hooks of its start are done with. */
  #isReady = false;
  /** Moves the caret of a dialog that has one. */
  #moveCaret: ((step: number) => void) | undefined;
  /** Whether its dialog waits for a key. */
  #isAsking = false;
  #leaving: Running | undefined;
  #statusLines = 0;
  /** When it reads the last keys that were typed. */
  #keysAt = 0;
  readonly #hangsAtEnd: boolean;

  constructor(world: World, options: ChildOptions, moves: Moves) {
    this.world = world;
    this.options = options;
    this.moves = moves;
    this.#hangsAtEnd = world.choices.happens(10);
    world.schedule.start(this.#live());
  }

  /** Starts, and then carries out what it is sent, a turn after the other. */
  *#live(): Process {
    const { world } = this;
    yield world.takes("socket");
    if (this.isGone) return;
    world.send("driver", 0, { type: "reachable" });
    yield world.takes("screen");
    this.draw("Welcome");
    if (this.options.startFault === "offline") return this.crash(1);
    for (const dialog of this.options.dialogs ?? []) {
      yield* this.#showStartDialog(dialog);
      yield world.takes("screen");
      if (this.isGone) return;
    }
    yield world.takes("screen");
    if (this.isGone) return;
    this.#hasStarted = true;
    this.setStatus("idle");
    this.#runStatusLine(0);
    world.schedule.start(this.#callStartHook());
    if (this.options.stdin !== undefined) {
      yield world.takes("screen");
      this.queue.push({ kind: "prompt", text: this.options.stdin });
    }
    while (!this.isGone) {
      if (this.queue.length === 0 || this.#leaving !== undefined) {
        yield this.gate;
        continue;
      }
      yield* this.#takeTurn();
    }
  }

  *#callStartHook(): Process {
    yield* this.callHook("SessionStart", { source: "startup", model: MODEL });
    this.#isReady = true;
    this.wake();
  }

  /** Waits until its start is complete: a turn is `busy` before that, and makes no request (the recording `structured`). */
  *waitForStart(): Process {
    while (!this.#isReady && !this.isGone) yield this.gate;
  }

  /** Shows a dialog until Enter takes one of its choices. */
  *#showStartDialog({ words, choices, selected }: StartDialog): Process {
    let place = selected;
    const screen = (): Screen => ({
      lines: [
        ...words,
        ...choices.map((choice, at) => `${at === place ? "❯" : " "} ${at + 1}. ${choice}`),
        "Enter to confirm · Esc to cancel",
      ],
      cursor: { row: words.length + place + 1, col: 1 },
    });
    this.#moveCaret = (step) => {
      place = Math.min(Math.max(place + step, 0), choices.length - 1);
      this.dialog = screen();
      this.draw("❯");
    };
    yield* this.showDialog(screen());
    this.#moveCaret = undefined;
    if (choices[place] === EXIT_CHOICE) this.crash(1);
  }

  /** Shows a dialog until Enter closes it. */
  *showDialog(screen: Screen): Process {
    this.dialog = screen;
    this.#isAsking = true;
    this.draw("?");
    while (this.#isAsking && !this.isGone) yield this.gate;
  }

  /**
   * Carries out the turn of what waits in the queue: prompts that follow each other make one, the end of a task and a command
   * their own, as a command becomes no part of a turn under way.
   */
  *#takeTurn(): Process {
    const [first] = this.queue;
    if (first === undefined) return;
    const others = this.queue.findIndex((queued) => !isJoinable(queued));
    const count = others < 0 ? this.queue.length : Math.max(1, others);
    const taken = this.queue.splice(0, count);
    const record: TurnRecord = {
      kind: first.kind,
      prompts: taken.map(({ text }) => text),
      text: "",
      ...(this.signals.length > 0 ? { isLate: true as const } : {}),
    };
    this.turns.push(record);
    const noted = taken.filter(({ isNoted }) => isNoted).length;
    const turn = runTurn(this, record, noted);
    const running = this.world.schedule.start(turn.process, () => this.wake());
    this.#turn = { running, interrupt: turn.interrupt, isStopping: turn.isStopping };
    this.world.schedule.start(this.#spin(running));
    while (!running.isOver) yield this.gate;
    this.#turn = undefined;
    if (this.isGone) return;
    this.setStatus(this.#restingStatus);
    this.#runStatusLine(this.world.takes("statusLine"));
    yield this.world.takes("hookEnd");
  }

  /** Notes a task in the background. */
  addTask(id: string, about: JsonObject): void {
    this.tasks.set(id, { id, status: "running", ...about });
  }

  /** Ends a task in the background, of which the model is told in a turn of its own. */
  endTask(id: string, notification: string): void {
    if (!this.tasks.delete(id) || this.isGone) return;
    if (this.#turn !== undefined) return this.enqueue("task", notification);
    const status = this.#restingStatus;
    this.setStatus(status);
    if (status !== "idle") return this.enqueue("task", notification);
    // Claude Code is idle for some milliseconds before the next turn (the recording `background`).
    this.world.schedule.after(this.world.takes("hookEnd"), () => {
      if (!this.isGone) this.enqueue("task", notification);
    });
  }

  /** What its status is without a turn: `busy` as long as subagents work (the recording `background-subagents`). */
  get #restingStatus(): string {
    const types = [...this.tasks.values()].map(({ type }) => type);
    if (types.includes("subagent")) return "busy";
    return types.length > 0 ? "shell" : "idle";
  }

  /** Runs something that goes on when a turn is interrupted. */
  runBeside(process: Process, onEnd: () => void): void {
    this.world.schedule.start(process, onEnd);
  }

  /** Has the model woken after some time, in the place of an earlier time. */
  scheduleWakeup(ms: number): void {
    const cron = { id: `c${this.requests}`, prompt: "Look again.", recurring: false };
    this.crons = [cron];
    this.world.schedule.after(ms, () => {
      if (this.crons[0] !== cron || this.isGone) return;
      this.crons = [];
      this.enqueue("wakeup", cron.prompt);
    });
  }

  /** Draws while a turn is under way, more rarely if that takes long. */
  *#spin(turn: Running): Process {
    for (let ms = 900; !turn.isOver && !this.isGone; ms *= 1.5) {
      this.draw("✻");
      yield Math.round(ms);
    }
  }

  /** Lets whoever waits look again. */
  wake(): void {
    this.gate.open();
  }

  /**
   * Calls our hook of an event, and those of the caller at the same time, and goes on once all have ended; returns the answer
   * that forbids to go on, or else the first that says something. Hooks of a turn that is stopped are ended with it.
   */
  *callHook(event: string, payload: JsonObject): Generator<Wait, HookAnswer, void> {
    const places = this.options.callbacks.flatMap((callback, place) =>
      callback.event === event ? [place] : []
    );
    const answers: HookAnswer[] = [];
    const run = function* (this: Child, place?: number): Process {
      answers.push(yield* this.#runHook(event, payload, place));
    };
    const hooks = [...(this.options.hooks.includes(event) ? [undefined] : []), ...places]
      .map((place) => this.world.schedule.start(run.call(this, place), () => this.wake()));
    try {
      while (hooks.some(({ isOver }) => !isOver)) yield this.gate;
    } finally {
      for (const hook of hooks) hook.cancel();
    }
    return answers.find((answer) => answer?.reply?.["continue"] === false) ??
      answers.find((answer) => answer?.reply !== undefined || answer?.veto !== undefined);
  }

  *#runHook(event: string, told: JsonObject, callback?: number): Generator<Wait, HookAnswer, void> {
    const { world } = this;
    yield world.takes("hook");
    const asks = callback !== undefined || this.options.asking.includes(event);
    const id = event === "SessionEnd" ? "end" : `${++this.#hooks}`;
    const payload = { session_id: SESSION, cwd: "/w", hook_event_name: event, ...told };
    if (this.isGone) return undefined;
    world.send("hooks", 0, {
      ...{ type: "hook", event, payload, ranAt: world.clock },
      ...(asks ? { id } : {}),
      ...(callback === undefined ? {} : { callback }),
    });
    if (asks) {
      const until = event === "SessionEnd" ? world.now + END_HOOK_MS : Infinity;
      if (until < Infinity) world.schedule.at(until, () => this.wake());
      while (!this.#answers.has(id) && world.now < until && !this.isGone) yield this.gate;
    }
    yield world.takes("hookEnd");
    return this.#answers.get(id);
  }

  /** Receives the answer to a hook. */
  answerHook({ id, reply, veto }: Answer): void {
    this.answered.set(id, (this.answered.get(id) ?? 0) + 1);
    if (!this.#answers.has(id)) {
      this.#answers.set(id, {
        ...(reply === undefined ? {} : { reply }),
        ...(veto === undefined ? {} : { veto }),
      });
    }
    this.wake();
  }

  /** Receives a prompt on its socket. */
  deliver(prompt: string): void {
    this.delivered.push(prompt);
    this.world.schedule.after(this.world.takes("delivery"), () => {
      if (!this.isGone) this.enqueue("prompt", prompt);
    });
  }

  /** Puts something into its queue, which is written down at once (2.1.330). */
  enqueue(kind: TurnKind, text: string): void {
    this.queue.push({ kind, text, isNoted: true });
    this.writeLines([this.lines.note(queueFields("enqueue", this.world.clock, text))]);
    this.wake();
  }

  /** Receives what is typed, complete. */
  type(bytes: Uint8Array): void {
    const text = new TextDecoder().decode(bytes);
    // A terminal hands keys over in their order.
    this.#keysAt = Math.max(this.#keysAt, this.world.now + this.world.takes("key"));
    this.world.schedule.at(this.#keysAt, () => {
      if (this.isGone) return;
      // deno-lint-ignore no-control-regex -- keys are control characters
      const keys = /\x1b\[200~([^]*?)\x1b\[201~|\x1b\[[?\d;]*[A-Za-z]|[^]/gu;
      for (const [key, paste] of text.matchAll(keys)) this.#press(key, paste);
    });
  }

  #press(key: string, paste: string | undefined): void {
    if (paste !== undefined) {
      this.#box += paste;
      this.draw(paste);
    } else if (key === "\x1b[A" || key === "\x1b[B") {
      this.#moveCaret?.(key === "\x1b[A" ? -1 : 1);
    } else if (key === "\r" && this.#isAsking) {
      this.#isAsking = false;
      this.dialog = undefined;
      this.#box = "";
      this.wake();
    } else if (key === "\r") {
      if (this.#box.trim() !== "") this.queue.push({ kind: "prompt", text: this.#box });
      this.#box = "";
      this.wake();
    } else if (key === "\x1b") {
      this.#escape();
    } else if (key === "\x7f") {
      this.#box = this.#box.slice(0, -1);
      this.draw("");
    } else if (key.length === 1) {
      if (key === "?" && this.#box === "") this.#runStatusLine(this.world.takes("askedStatusLine"));
      this.#box += key;
      this.draw(key);
    }
  }

  /** Escape stops the turn under way, and does nothing without one. */
  #escape(): void {
    this.draw("*");
    this.dialog = undefined;
    const turn = this.#turn;
    if (turn === undefined || turn.running.isOver) return;
    this.#isAsking = false;
    turn.running.cancel();
    turn.interrupt();
    this.wake();
  }

  /** Receives a signal. */
  signal(signal: "SIGTERM" | "SIGKILL"): void {
    if (this.signals.length === 0) {
      this.pendingTaskEnds = this.queue.filter(({ kind }) => kind === "task").map(({ text }) =>
        text
      );
    }
    this.signals.push(signal);
    const { world } = this;
    if (this.isGone) return;
    if (signal === "SIGKILL") {
      this.#buffer = [];
      return this.#exit({ kind: "signaled", signal: 9, name: "SIGKILL" });
    }
    if (this.options.startFault === "configuration") {
      return this.#exit({ kind: "signaled", signal: 15, name: "SIGTERM" });
    }
    // On a busy machine Claude Code took no notice of the first SIGTERM once in some 1,000 runs (src/conversation/control/end_session.ts):
    // here that is more frequent.
    if (this.#leaving !== undefined || world.choices.happens(10)) return;
    this.#leaving = world.schedule.start(this.#leave());
  }

  *#leave(): Process {
    const { world } = this;
    yield world.takes("exit");
    if (this.isGone) return;
    // Lines of its end are still written (the recording `offline`).
    if (!this.#turn?.isStopping()) this.#turn?.running.cancel();
    // There is none at a dialog of the start (the recording `dialog-first-start`).
    if (this.#hasStarted) this.write(this.lines.note({ type: "cost-state", sessionId: SESSION }));
    yield* this.callHook("SessionEnd", { reason: "other" });
    // A child that hangs has to be killed.
    while (!this.isGone && this.#hangsAtEnd) yield this.gate;
    yield world.takes("exit");
    if (this.isGone) return;
    this.flush();
    this.#exit({ kind: "exited", code: 143 });
  }

  /** Ends by itself, as after a crash. */
  crash(code: number): void {
    this.isFaulty = true;
    if (!this.isGone) this.#exit({ kind: "exited", code });
  }

  #exit(
    exit: { kind: "exited"; code: number } | { kind: "signaled"; signal: number; name: string },
  ): void {
    this.isGone = true;
    const { totalUsd, apiDurationMs } = this;
    const cost = { totalUsd, apiDurationMs, modelUsage: {}, hasUnknownPrice: undefined };
    const remains = exit.kind === "exited" ? { cost } : {};
    this.world.sendLast({ type: "exit", exit, remains });
    this.wake();
  }

  /** Draws something on its terminal. */
  draw(text: string): void {
    this.world.send("terminal", 0, {
      type: "terminal",
      bytes: new TextEncoder().encode(`\x1b[?2026h${text}\x1b[?2026l`),
    });
  }

  /** Writes what it is at into its status file, where only the last status is found. */
  setStatus(status: string, waitingFor?: string): void {
    if (status === this.#status && waitingFor === undefined) return;
    this.#status = status;
    const updatedAt = this.world.clock;
    const waiting = waitingFor === undefined ? {} : { waitingFor };
    this.world.schedule.after(this.world.takes("status"), () => {
      if (this.#status !== status || this.isGone) return;
      this.world.send("status", 0, {
        type: "status",
        status,
        ...waiting,
        updatedAt,
        version: VERSION,
      });
    });
  }

  /** Writes a line of the transcript, which is collected with others first. */
  write(...entries: readonly Entry[]): void {
    this.#buffer.push(...entries);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.world.schedule.after(this.world.takes("flush"), () => this.flush());
  }

  /** Writes a line of a subagent's transcript. */
  writeAgent(subagent: Subagent, entry: Entry): void {
    if (this.isGone) return;
    this.world.send(
      "lines",
      this.world.takes("flush"),
      { type: "subagent", line: { subagent, entry } },
      { type: "read" },
    );
  }

  /** Writes lines about a request, which wait for no others: they may come before earlier ones (the recording `structured`). */
  writeNotes(entries: readonly Entry[]): void {
    this.world.schedule.after(this.world.takes("note"), () => {
      if (!this.isGone) this.writeLines(entries);
    });
  }

  /** Writes lines at once, before those that are collected. */
  writeLines(entries: readonly Entry[]): void {
    const inputs = entries.map((entry) => ({ type: "transcript", entry } as const));
    this.world.send("lines", 1, ...inputs, { type: "read" });
  }

  /** Whether it is on its way out. */
  get isLeaving(): boolean {
    return this.#leaving !== undefined;
  }

  /** The lines that are collected. */
  get collected(): readonly Entry[] {
    return this.#buffer;
  }

  /** Writes the lines that are collected. */
  flush(): void {
    this.#isFlushing = false;
    const lines = this.#buffer.splice(0);
    if (lines.length > 0) this.writeLines(lines);
  }

  /** Notes that something has changed that its status line shows. */
  change(): void {
    this.#runStatusLine(this.world.takes("statusLine"));
  }

  /** Runs its status line after so many milliseconds, unless that is asked for again before it has told anything. */
  #runStatusLine(afterMs: number): void {
    const run = ++this.#statusLines;
    const { world } = this;
    const unlessReplaced = (ms: number, then: () => void) =>
      world.schedule.after(ms, () => {
        if (run === this.#statusLines && !this.isGone) then();
      });
    unlessReplaced(afterMs, () => {
      const { totalUsd, apiDurationMs } = this;
      unlessReplaced(world.takes("hook"), () =>
        world.send("hooks", 0, {
          ...{ type: "cost", totalUsd, apiDurationMs, lines: { added: 0, removed: 0 }, limits: {} },
          ranAt: world.clock,
        }));
    });
  }

  /** What its terminal shows. */
  get screen(): Screen {
    return this.dialog ??
      {
        lines: [`✻ ${this.requests} requests, ${this.world.now} ms`, `❯ ${this.#box}`],
        cursor: { row: 2, col: 3 + this.#box.length },
      };
  }
}

/** Whether what waits in the queue can share a turn with others. */
export function isJoinable({ kind, text }: Queued): boolean {
  return kind === "prompt" && !text.startsWith("/");
}

/** What an answer to PermissionRequest decides. */
export function decisionIn(answer: HookAnswer): JsonObject {
  const { hookSpecificOutput: output } = answer?.reply ?? {};
  const decision = isJsonObject(output) ? output["decision"] : undefined;
  return isJsonObject(decision) ? decision : {};
}
