import { advance, startConversation } from "../../src/conversation/output/advance.ts";
import {
  type ConversationEffect,
  type ConversationOptions,
  type ConversationState,
  type EffectPart,
  partsOf,
} from "../../src/conversation/output/conversation.ts";
import type { Report } from "../../src/conversation/output/result/verdict.ts";
import type { CallbackHook } from "../../src/conversation/protocol/caller_options.ts";
import type { Input } from "../../src/conversation/control/input.ts";
import type { Phase } from "../../src/conversation/control/session_state.ts";
import type { WayIn } from "../../src/conversation/control/message.ts";
import type { Frame } from "../../src/claude/wire/frame.ts";
import { ArmedDeadlines } from "../conversation/output/armed_deadlines.ts";
import { Caller, type CallerPlan, INITIALIZE } from "./caller.ts";
import { Child, type ChildOptions, EXIT_CHOICE, type StartDialog } from "./child.ts";
import type { Choices } from "./choices.ts";
import { ChosenMoves } from "./moves.ts";
import { EPOCH, SESSION, VERSION } from "./lines.ts";
import { type News, World } from "./world.ts";

/** An input, and what the conversation did because of it. */
export interface Step {
  readonly input: Input;
  /** The phase in which the input was received. */
  readonly phase: Phase["phase"];
  readonly effects: readonly ConversationEffect[];
}

/** What happened in a simulated world. */
export interface History {
  readonly options: ConversationOptions;
  readonly steps: readonly Step[];
  readonly frames: readonly Frame[];
  readonly reports: readonly Report[];
  readonly end: Extract<EffectPart, { readonly type: "end" }> | undefined;
  readonly state: ConversationState;
  readonly child: Child;
  readonly caller: Caller;
  /** Why the simulation was given up; absent where the conversation has ended. */
  readonly givenUp?: string;
  /** How long it took in the simulated world, in milliseconds. */
  readonly duration: number;
}

/** Takes an input, as `advance` does. */
export type Advance = typeof advance;

/** How long the stages of a simulated run may take, in milliseconds. */
const LIMITS = {
  timeoutMs: 600_000,
  startTimeoutMs: 60_000,
  deliveryTimeoutMs: 60_000,
  drainTimeoutMs: 10_000,
  exitTimeoutMs: 5000,
};

/** More inputs than any message leads to. */
const MOST_STEPS = 5000;

/** Longer than any message takes, in milliseconds. */
const LONGEST_MS = 86_400_000;

/** The caller's hooks that a world may have. */
const CALLBACKS: readonly CallbackHook[] = [
  { event: "PreToolUse", id: "hook_0" },
  { event: "Stop", id: "hook_1" },
  { event: "UserPromptSubmit", id: "hook_2" },
];

/** The dialogs at the start that a world may have, as `fixtures/recordings/dialogs` has them. */
const DIALOGS: readonly [StartDialog, ...StartDialog[]] = [
  {
    words: ["Quick safety check: Is this a project you trust?", "Security guide"],
    choices: ["Yes, I trust this folder", EXIT_CHOICE],
    selected: 0,
  },
  {
    words: ["Quick safety check: Is this a project you trust?", "Security guide"],
    choices: [EXIT_CHOICE, "Yes, I trust this folder"],
    selected: 0,
  },
  {
    words: ["Settings Warning", "the rest of the file is in effect"],
    choices: ["Fix with Claude", "Continue"],
    selected: 1,
  },
];

/** What kind of run is simulated. */
interface Scenario {
  readonly conversation: ConversationOptions;
  readonly child: ChildOptions;
  readonly caller: CallerPlan;
}

/** Chooses what is run. */
function chooseScenario(choices: Choices): Scenario {
  const way = choices.pick<WayIn>(["rendezvous", "stdin", "paste"]);
  const isLong = way === "rendezvous";
  const callbacks = isLong && choices.happens(200)
    ? [choices.pick([...CALLBACKS] as [CallbackHook, ...CallbackHook[]])]
    : [];
  const maxTurns = choices.happens(100) ? 1 + choices.below(3) : undefined;
  const decides = isLong && choices.happens(700);
  const isDisplayed = choices.happens(300);
  const maxBudgetUsd = choices.happens(100) ? 0.015 + 0.01 * choices.below(6) : undefined;
  const budget = maxBudgetUsd === undefined ? {} : { maxBudgetUsd };
  const isInitialized = isLong && choices.happens(200);
  const isGated = choices.happens(50);
  const idleTimeoutMs = choices.happens(100) ? 30_000 : undefined;
  const isHeard = choices.happens(100);
  const dialogs = Array.from(
    { length: choices.happens(50) ? 1 + choices.below(2) : 0 },
    () => choices.pick(DIALOGS),
  );
  return {
    conversation: {
      session: {
        ...LIMITS,
        size: { rows: 50, cols: 220 },
        version: VERSION,
        // As the plan says of a caller's Stop hook (`src/run/plan/conversation_of.ts`).
        otherStopHooks: callbacks.some(({ event }) => event === "Stop"),
        keptAtEnd: true,
        asksStatus: true,
        ...(isLong ? { conversation: true as const } : {}),
        ...(maxTurns === undefined ? {} : { maxTurns }),
        ...budget,
        ...(isGated ? { mcpServers: 1 } : {}),
        ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
        ...(isLong
          ? {
            caller: {
              idPrefix: "q",
              permissionMode: "default",
              servers: [],
              callbacks,
              ...(decides ? { permissions: true as const } : {}),
              ...(isInitialized ? { initialized: { id: INITIALIZE } } : {}),
            },
          }
          : {}),
      },
      frames: {
        ...{ sessionId: SESSION, cwd: "/w", permissionMode: "default", apiKeySource: "none" },
        ...{ memoryPath: "/m/", servedByAnthropic: false, startedAt: EPOCH, version: VERSION },
        seed: "5d2bd263-47a8-4ab5-8f2e-1f1f0c3a9b11",
        servers: [],
        ...(isLong ? { conversation: true as const } : {}),
        ...(isLong && choices.happens(300) ? { activity: true as const } : {}),
        ...(isLong && choices.happens(300) ? { replay: true as const } : {}),
        ...(isLong && choices.happens(100) ? { mirrorPath: "/u/session.jsonl" } : {}),
        ...(isDisplayed ? { partial: true as const } : {}),
        ...(isHeard ? { shellOutput: "joined" as const } : {}),
        ...(callbacks.some(({ event }) => event === "PreToolUse")
          ? { callHooks: true as const }
          : {}),
      },
      report: {
        limits: LIMITS,
        binary: "/bin/claude",
        ...(maxTurns === undefined ? {} : { maxTurns }),
        ...budget,
      },
    },
    child: {
      hooks: [
        ...["Stop", "StopFailure", "SessionEnd", "PermissionRequest", "SessionStart"],
        ...["PreCompact", "PostCompact"],
        ...(way === "stdin" ? [] : ["UserPromptSubmit"]),
        ...(maxTurns !== undefined || isDisplayed || "maxBudgetUsd" in budget
          ? ["PostToolBatch"]
          : []),
        ...("maxBudgetUsd" in budget ? ["PreToolUse"] : []),
        ...(isDisplayed ? ["MessageDisplay"] : []),
      ],
      asking: [
        "PermissionRequest",
        "PostToolBatch",
        "PreToolUse",
        "SessionEnd",
        ...(isGated ? ["SessionStart"] : []),
        ...(isLong ? ["Stop"] : []),
      ],
      callbacks,
      ...(way === "stdin" ? { stdin: "message 1" } : {}),
      decides,
      dialogs,
      ...(isHeard ? { isHeard } : {}),
      ...(choices.happens(200) ? { compacts: true as const } : {}),
      ...(choices.happens(5) ? { startFault: "offline" as const } : {}),
    },
    caller: {
      isInitialized,
      isLate: isLong && choices.happens(100),
      terms: LIMITS,
      way,
      messages: isLong ? 1 + choices.below(4) : 1,
      isRestless: choices.happens(300),
    },
  };
}

/** What is not chosen. */
export interface SimulateOptions {
  /** What takes the inputs, where it is not the conversation itself. */
  readonly advance?: Advance;
  /** How many messages the caller sends. */
  readonly messages?: number;
}

/** Runs a conversation with a simulated Claude Code and a simulated caller to its end. */
export function simulate(
  choices: Choices,
  { advance: take = advance, ...options }: SimulateOptions = {},
): History {
  const steps: Step[] = [];
  const frames: Frame[] = [];
  const reports: Report[] = [];
  const armed = new ArmedDeadlines();
  let end: History["end"];
  const scenario = chooseScenario(choices);
  let state = startConversation(scenario.conversation);
  const receive = (news: News) => {
    if (end !== undefined) return;
    const input = { ...news, at: world.now } as Input;
    const { phase } = state.session;
    const next = take(state, input);
    state = next.state;
    steps.push({ input, phase, effects: next.effects });
    for (const effect of next.effects) {
      armed.apply(effect, world.now);
      for (const part of partsOf(effect)) perform(part);
    }
  };
  const world = new World(choices, receive);
  const caller = new Caller(world, { ...scenario.caller, ...options });
  const perform = (part: EffectPart) => {
    switch (part.type) {
      case "frame":
        frames.push(part.frame);
        return caller.receive(part.frame);
      case "report":
        return void reports.push(part.report);
      case "end":
        end = part;
        return;
      case "write":
        return child.type(part.bytes);
      case "deliver":
        return child.deliver(part.prompt);
      case "answer":
        return child.answerHook(part);
      case "kill":
        return child.signal(part.signal);
      case "look":
        return world.send("driver", 1, { type: "screen", screen: child.screen });
      case "list-shells": {
        // The folder of tasks stays when they have ended (the recording `many-turns`).
        const isUnused = child.carriedOut.every(({ tool }) => tool === "ScheduleWakeup");
        return world.send("driver", 1, {
          ...{ type: "shells", ids: [...child.tasks.keys()] },
          ...(isUnused ? { unused: true as const } : {}),
        });
      }
      case "consult": {
        const { id, subtype, body } = part.request;
        const response = subtype === "slash_command" ? { text: `did ${body["prompt"]}` } : {};
        return world.send("helper", world.takes("caller"), {
          ...{ type: "consulted", id, said: { response } },
        });
      }
      default:
        return;
    }
  };
  caller.begin();
  const child = new Child(world, scenario.child, new ChosenMoves(choices));
  world.send("driver", 0, { type: "spawned" });
  if (choices.happens(50)) {
    world.schedule.after(choices.between([0, 5000]), () => {
      world.stall(world.takes("stall"), { isToldOf: choices.happens(500) });
    });
  }
  if (scenario.conversation.session.mcpServers !== undefined) {
    const server = { name: "s", settled: choices.pick(["connected", "failed"] as const) };
    const connect = (done: number) =>
      world.send("driver", 0, {
        ...{ type: "mcp", begun: 1, done },
        settled: done === 0 ? {} : { [server.name]: server.settled },
      });
    world.schedule.after(choices.between([0, 1000]), () => connect(0));
    world.schedule.after(choices.between([1000, 5000]), () => connect(1));
  }
  if (choices.happens(10)) {
    world.schedule.after(choices.between([0, 5000]), () => {
      world.send("driver", 0, { type: "resized", size: { rows: 24, cols: 80 } });
    });
  }
  if (choices.happens(20)) {
    // Not back: of answers in one turn, the last one is known by its time (`src/claude/transcript/turn.ts`).
    world.schedule.after(choices.between([0, 5000]), () => world.setClock(3_600_000));
  }
  if (choices.happens(10)) {
    world.schedule.after(choices.between([0, 5000]), () => child.crash(1));
  }
  let givenUp: string | undefined;
  while (end === undefined && givenUp === undefined) {
    const due = world.isStalled ? undefined : armed.next(Infinity);
    const { next } = world.schedule;
    if (steps.length > MOST_STEPS * caller.plan.messages) givenUp = "it never comes to an end";
    else if (world.now > LONGEST_MS * caller.plan.messages) {
      givenUp = "it has not ended after a day a message";
    } else if (due !== undefined && due.due <= next) {
      world.schedule.now = Math.max(world.now, due.due);
      armed.fire(due.name, world.now);
      receive({ type: "deadline", name: due.name });
    } else if (next < Infinity) world.schedule.runNext();
    else givenUp = "nothing is to come, and it has not ended";
  }
  return {
    ...{ options: scenario.conversation, steps, frames, reports, end, state, child, caller },
    ...(givenUp === undefined ? {} : { givenUp }),
    duration: world.now,
  };
}
