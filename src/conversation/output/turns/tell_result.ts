import { endAnswers } from "../live/live_answers.ts";
import { isSame, parted, tellMessage, tellOver } from "../messages.ts";
import { begin, beginTurn, describedModel } from "../telling/beginning.ts";
import {
  and,
  type FramesState,
  type Told,
  told,
  type ToldAhead,
  type TurnEnd,
  withIds,
} from "../telling/frames_state.ts";
import { reportTurns } from "./report_turns.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { SettledMessage } from "../../control/message.ts";
import { slashWord } from "../../control/prompt/prompt_text.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import { tellCommands, tellTitle } from "../decisions.ts";
import { systemFrame } from "../frames/frame_context.ts";
import { unavailableFrame } from "../frames/assistant_frames.ts";
import { noLines } from "../telling/kept_lines.ts";
import { sessionUsage } from "./conversation_usage.ts";
import { tellEarly } from "./early_results.ts";
import { runTurns } from "./run_turns.ts";

/** Tells the result of a turn that the child outlives, all of whose lines have been told. */
export function tellResult(state: FramesState, end: TurnEnd): Told {
  const begun = end.ending.kind === "settled"
    ? tellSettled(state, { message: end.ending.message, at: end.at })
    : and(
      beginTurn(end.ending.kind === "blocked" ? withTaken(state) : state),
      (state) => tellUnwritten(state, end),
    );
  const result = (state: FramesState) => {
    const { report, ...reported } = reportTurns(state, end);
    const { typed: _, ...rest } = reported.state;
    const isAhead = end.unwritten !== undefined && rest.results === state.results;
    return told({
      ...rest,
      rested: true,
      // No line tells that a stopped turn is complete, not even where its Stop hook has named tasks in the background.
      stops: end.ending.kind === "aborted" ? [] : rest.stops,
      reports: [...rest.reports, report],
      toldAhead: isAhead ? [...rest.toldAhead, aheadOf(state, end)] : rest.toldAhead,
    }, reported.frames);
  };
  return and(and(begun, endAnswers), (state) => {
    const { ahead, behind } = tellOver(state, { stopped: end.ending.kind === "aborted" });
    return and(and(ahead, result), behind);
  });
}

/** Tells that the child has taken what no line says, and the beginning of the turn of that. */
function tellUnwritten(before: FramesState, { unwritten = [], at }: TurnEnd): Told {
  const timestamp = new Date(before.options.startedAt + at).toISOString();
  const { state, frames } = unwritten.reduce<Told>(
    (said, message) =>
      and(
        said,
        (state) => tellMessage(state, state.awaited.findIndex(isSame(message)), { timestamp }),
      ),
    told(before),
  );
  const { lifecycle, others } = parted(frames);
  return and(and(told(state, lifecycle), begin), (state) => told(state, others));
}

function aheadOf(
  { options: { startedAt } }: FramesState,
  { unwritten = [], at }: TurnEnd,
): ToldAhead {
  return { messages: unwritten, at: startedAt + at, counted: false };
}

/** The turn of a prompt that was blocked is about a message, though no line says that the child has taken it. */
function withTaken(state: FramesState): FramesState {
  const [first, ...awaited] = state.awaited;
  return first === undefined || state.taken.length > 0
    ? state
    : { ...state, awaited, taken: [first] };
}

/** Tells of a message that was answered or refused without the child, in the place of its turn. */
function tellSettled(
  before: FramesState,
  { message, at }: { readonly message: SettledMessage; readonly at: number },
): Told {
  const { recent, printed } = runTurns(before);
  // A turn that its tasks in the background outlast, the last line of which is still to be read, comes first.
  if (recent.length > printed) {
    return and(tellEarly(before), (state) => tellSettled(state, { message, at }));
  }
  const { settled } = message;
  const version = settled.kind === "local" ? settled.version : before.version;
  const timestamp = new Date(before.options.startedAt + at).toISOString();
  // One that cannot be afforded was meant for the child when it came.
  const place = before.awaited.findIndex((one) =>
    (one.way === undefined || settled.kind === "unaffordable") && one.text === message.text
  );
  const taken = and(
    beginTurn(before),
    (state) => tellMessage(asCarriedOut(state, { message, place }), place, { timestamp }),
  );
  const { lifecycle, others } = parted(taken.frames);
  const begun = and(
    and(
      told(taken.state, lifecycle),
      (state) =>
        and(tellReset(state, { message, timestamp }), (state) => tellChanges(state, settled)),
    ),
    (state) => begin(state, { version, model: modelOf(state, settled) }),
  );
  if (settled.kind !== "local") return and(begun, (state) => told(state, others));
  const said = and(begun, (state) => tellWords(state, { settled, timestamp }));
  // A command that has an id and was carried out is printed again, as the model hears of it.
  const isPrinted = settled.carried !== undefined && message.uuid !== undefined;
  if (!isPrinted) return said;
  return and(said, (state) => {
    const { sessionId: session_id } = state.options;
    return told(state, others.map((frame): Frame => ({ ...frame, session_id })));
  });
}

type LocalAnswer = Extract<SettledMessage["settled"], { readonly kind: "local" }>;

/** The model that a headless Claude Code has answered a command with, which the next child may be the first to have. */
function modelOf(state: FramesState, settled: SettledMessage["settled"]): string | undefined {
  return settled.kind === "local" && settled.blank !== true ? describedModel(state) : undefined;
}

/** Notes a command that waits as what the model hears of it once it is carried out. */
function asCarriedOut(
  state: FramesState,
  { message: { settled, text }, place }: {
    readonly message: SettledMessage;
    readonly place: number;
  },
): FramesState {
  const message = state.awaited[place];
  if (message === undefined || settled.kind !== "local" || settled.carried === undefined) {
    return state;
  }
  const { name, rest } = slashWord(text) ?? { name: "", rest: "" };
  const content = [
    `<command-name>/${name}</command-name>`,
    `<command-message>${name}</command-message>`,
    `<command-args>${rest}</command-args>`,
  ].join("\n            ");
  return { ...state, awaited: state.awaited.with(place, { ...message, content }) };
}

/** Tells that the conversation goes on in another session, if it does; its costs and counts begin anew. */
function tellReset(
  state: FramesState,
  { message: { settled, uuid: messageId }, timestamp }: {
    readonly message: SettledMessage;
    readonly timestamp: string;
  },
): Told {
  const { carried } = settled.kind === "local" ? settled : {};
  if (carried?.begun === undefined) return told(state);
  const options = { ...state.options, sessionId: carried.begun };
  const { sessionId } = state.options;
  const { state: next, made } = withIds(state, (newUuid): readonly Frame[] => {
    const uuid = newUuid();
    return [
      {
        type: "conversation_reset",
        new_conversation_id: uuid,
        uuid,
        trigger: "clear",
        user_message_uuid: messageId ?? newUuid(),
        timestamp,
        session_id: sessionId,
      },
      systemFrame("background_tasks_changed", { tasks: [] }, { sessionId, newUuid }),
    ];
  });
  const cost = { totalUsd: 0, apiDurationMs: 0 };
  const { before } = options;
  return told({
    ...next,
    options: before === undefined
      ? options
      : { ...options, before: { ...before, ...cost, modelUsage: {} } },
    kept: noLines(next.earlier),
    subagentsBefore: undefined,
    cost,
    usageTold: {},
    paidBefore: 0,
  }, made);
}

/** Tells of the title that a command has given the session, and of commands that there are after it, if it has. */
function tellChanges(before: FramesState, settled: SettledMessage["settled"]): Told {
  const { title, commands } = settled.kind === "local" ? settled.carried ?? {} : {};
  const titled = title === undefined ? told(before) : tellTitle(before, title);
  if (commands === undefined) return titled;
  return and(titled, (state) => tellCommands(state, commands));
}

/** Tells what `claude -p` says to a message in the place of an answer. */
function tellWords(
  state: FramesState,
  { settled: { text, version, blank, carried }, timestamp }: {
    readonly settled: LocalAnswer;
    readonly timestamp: string;
  },
): Told {
  const words = carried === undefined ? text : carried.words;
  if (words === undefined) return told(state);
  const { sessionId } = state.options;
  const { state: next, made } = withIds(
    state,
    (newUuid): Frame =>
      blank
        ? systemFrame("informational", { content: words, level: "warning" }, { sessionId, newUuid })
        : unavailableFrame(words, {
          version,
          sessionId,
          uuid: newUuid(),
          messageId: newUuid(),
          timestamp,
          ...(carried === undefined
            ? {}
            : { carriedOut: ownFields(state, { carried, timestamp }) }),
        }),
  );
  return told(next, [made]);
}

/** What the frame of a command says beside its words: of what a conversation has used, another process knows nothing. */
function ownFields(
  state: FramesState,
  { carried: { fields = {} }, timestamp }: {
    readonly carried: NonNullable<LocalAnswer["carried"]>;
    readonly timestamp: string;
  },
): JsonObject {
  const { usage_report: report } = fields;
  if (!isJsonObject(report) || state.options.conversation !== true) return fields;
  const session = sessionUsage(state, Date.parse(timestamp));
  return { ...fields, usage_report: { ...report, session } };
}
