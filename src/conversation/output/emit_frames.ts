import type { Frame } from "../../claude/wire/frame.ts";
import type { OutputState, OutputStep } from "./output_state.ts";
import type { SystemFrame } from "../../claude/wire/system_frames.ts";
import { asText } from "../../json_object.ts";
import { type FrameContext, systemFrame } from "./frames/frame_context.ts";
import type { Task, TaskContext, TaskStep } from "./frames/tasks.ts";
import type { Entry } from "../../claude/transcript/entry.ts";
import {
  buildListing,
  PLACEHOLDER,
  type SessionListing,
} from "../../claude/transcript/session_listing.ts";
import {
  BRIDGED_OUTPUT_TOOL,
  OUTPUT_SERVER,
  OUTPUT_TOOL,
} from "../../claude/transcript/structured_output_tool.ts";
import type { RequestOffer } from "../control/input.ts";
import { type FastMode, type InitFacts, initFrame } from "./frames/init_frame.ts";

/** The facts from which frames are made, in addition to the line or event of the frame. */
type EmitContext =
  & FrameContext
  & Required<Pick<FrameContext, "toolUses" | "decisions">>
  & Pick<TaskContext, "allTasks" | "printedTasks">;

/**
 * Emits frames, after `system/init`. Emits nothing while the version is unknown, because the fields of frames depend on
 * it.
 */
export function emitAfterInit(
  step: OutputStep,
  make: (context: EmitContext) => readonly Frame[],
): void {
  const frames = makeFrames(step, make);
  if (frames.length === 0) return;
  const naming = frames.find((frame) => frame["user_message_uuid"] !== undefined);
  if (naming !== undefined) step.update({ named: new Set([...step.state.named, naming.type]) });
  emitInit(step);
  step.emit(...frames);
}

/**
 * Emits frames at once, even before `system/init`. Frames of a typed command need this, because the command itself
 * begins no turn.
 */
export function emitImmediately(
  step: OutputStep,
  make: (context: EmitContext) => readonly Frame[],
): void {
  step.emit(...makeFrames(step, make));
}

/** Emits a `system` frame of the session; fields that are undefined are left out. */
export function emitSystemFrame(
  step: OutputStep,
  subtype: SystemFrame["subtype"],
  fields: Readonly<Record<string, unknown>>,
): void {
  const { sessionId } = step.state.options;
  step.emit(systemFrame(subtype, fields, { sessionId, newUuid: () => newUuid(step) }));
}

function makeFrames(
  step: OutputStep,
  make: (context: EmitContext) => readonly Frame[],
): readonly Frame[] {
  const { version } = step.state;
  return version === undefined ? [] : make(emitContext(step, version));
}

/** Emits the frames of task changes, and records the changes. */
export function emitTasks(
  step: OutputStep,
  make: (context: EmitContext) => TaskStep,
  emit: typeof emitAfterInit = emitAfterInit,
): void {
  emit(step, (context) => {
    const { tasks, started, frames } = make(context);
    const { allTasks, taskEnds } = step.state;
    step.update({
      tasks,
      // One line may hold the beginning and the end of a short task.
      ...(started === undefined ? {} : { allTasks: new Map(allTasks).set(started.id, started) }),
      taskEnds: endsAfter(taskEnds, { frames, started }),
    });
    return frames;
  });
}

/** Returns the ended tasks after some frames. A task that begins again is removed. */
function endsAfter(
  before: OutputState["taskEnds"],
  { frames, started }: {
    readonly frames: readonly Frame[];
    readonly started: Task | undefined;
  },
): OutputState["taskEnds"] {
  const ended = frames.filter(({ subtype }) => subtype === "task_notification");
  // Almost always, no task begins or ends.
  if (started === undefined && ended.length === 0) return before;
  const ends = new Map(before);
  if (started !== undefined) ends.delete(started.id);
  for (const { task_id: id, status } of ended) ends.set(asText(id), asText(status));
  return ends;
}

/** Returns a task that this run has seen, or a subagent of an earlier run that a message can wake. */
function taskOf({ allTasks, uncalledLines }: OutputState, id: string): Task | undefined {
  const earlier = uncalledLines.findLast(({ subagent }) => subagent.agentId === id)?.subagent;
  if (allTasks.has(id) || earlier === undefined) return allTasks.get(id);
  const { toolUseId = "", type: agentType, description } = earlier;
  return { id, toolUseId, type: "local_agent", description, agentType, background: false };
}

function emitContext(step: OutputStep, version: string): EmitContext {
  const { state } = step;
  const { options, toolUses, typedCommand, taken, joined, named, facts } = state;
  return {
    version,
    sessionId: options.sessionId,
    subagentText: options.subagentText,
    newUuid: () => newUuid(step),
    toolUses,
    allTasks: { get: (id) => taskOf(state, id) },
    printedTasks: state.allTasks,
    unnamedMessages: named.has("assistant") ? undefined : { taken, joined },
    hidesDenials: options.denialsUntold,
    decisions: facts.decisions,
    givenIds: facts.givenIds,
    typed: typedCommand?.command,
  };
}

/**
 * Makes the id of a frame: a UUID of version 4. It is computed from the seed and the number of ids made so far, so a
 * replay of the run has the same ids. The ids are names, not secrets.
 */
export function newUuid(step: OutputStep): string {
  const { options: { seed }, ids } = step.state;
  step.update({ ids: ids + 1 });
  const [a = 0, b = 0, c = 0, d = 0] = mixed(wordsOf(seed), ids + 1);
  const [first, second, third, fourth] = [
    hexOf(a),
    hexOf(b & 0xffff0fff | 0x4000),
    hexOf(c & 0x3fffffff | 0x80000000),
    hexOf(d),
  ];
  return `${first}-${second.slice(0, 4)}-${second.slice(4)}-${third.slice(0, 4)}-${
    third.slice(4)
  }${fourth}`;
}

function wordsOf(seed: string): readonly number[] {
  const digits = seed.replaceAll("-", "");
  return [0, 8, 16, 24].map((at) => Number.parseInt(digits.slice(at, at + 8), 16) || 0);
}

function hexOf(word: number): string {
  return (word >>> 0).toString(16).padStart(8, "0");
}

/** Returns four words. For any two counts, about half of their bits differ. */
function mixed(words: readonly number[], count: number): readonly number[] {
  let carried = count;
  const once = words.map((word, place) => carried = avalanche(word ^ carried ^ place * 0x9e3779b9));
  return once.map((word) => carried = avalanche(word ^ carried));
}

/** The finaliser of MurmurHash3: every bit of a word touches every other. */
function avalanche(word: number): number {
  let mixing = word ^ word >>> 16;
  mixing = Math.imul(mixing, 0x85ebca6b);
  mixing ^= mixing >>> 13;
  mixing = Math.imul(mixing, 0xc2b2ae35);
  return (mixing ^ mixing >>> 16) >>> 0;
}

/** The facts for `system/init` that are not in the state. */
interface InitKnowledge {
  /** The version, if no line of the child has named it yet. */
  readonly version?: string | undefined;
  /** The model in force, if it differs from the model of the child. */
  readonly model?: string | undefined;
}

/**
 * Emits `system/init`, once a turn, and then the frames that waited for it. Emits nothing while the version is unknown.
 */
export function emitInit(
  step: OutputStep,
  { version = step.state.version, model }: InitKnowledge = {},
): void {
  if (step.state.hasInit || version === undefined) return;
  emitGivenTitle(step);
  const frame = initFrame(initFacts(step, { version, model }));
  const { framesAfterInit, partial } = step.state;
  const { fast_mode_state, fast_mode_disabled_reason } = frame;
  step.update({
    fastMode: { fast_mode_state, fast_mode_disabled_reason } as FastMode,
    hasInit: true,
    framesAfterInit: [],
  });
  if (partial !== undefined) {
    // The next text that hooks report belongs to the turn that has begun.
    const { turn: _, ...others } = partial;
    step.update({ partial: others });
  }
  step.emit(frame, ...framesAfterInit);
}

function initFacts(
  step: OutputStep,
  { version, model }: { readonly version: string; readonly model: string | undefined },
): InitFacts {
  const { state } = step;
  const { options, described } = state;
  const listing = buildListing(state.kept.notes);
  return {
    version,
    sessionId: options.sessionId,
    uuid: newUuid(step),
    cwd: options.cwd,
    model: model ?? modelInForce(state, listing),
    fastMode: options.fastMode,
    asksFastMode: listing.asksFastMode || requestOffer(state)?.fast === true,
    permissionMode: state.permissionMode ?? options.permissionMode,
    ...toolsAndServers(state, listing),
    agents: listing.agents,
    skills: listing.skills,
    additionalDirectories: listing.additionalDirectories,
    apiKeySource: options.apiKeySource,
    ...(options.outputStyle === undefined ? {} : { outputStyle: options.outputStyle }),
    ...(options.memoryPath === undefined ? {} : { memoryPath: options.memoryPath }),
    servedByAnthropic: options.servedByAnthropic,
    betas: options.betas,
    sandboxed: options.sandboxed === true,
    analyticsDisabled: true,
    productFeedbackDisabled: true,
    described,
    faultyServers: options.faultyServers,
    output: options.output,
    messages: state.taken,
  };
}

/** Emits the title that the user has given the session. It is the first frame of a conversation. */
function emitGivenTitle(step: OutputStep): void {
  const { options, earlier, isTitled } = step.state;
  const { title = givenTitle(earlier), before, sessionId } = options;
  if (title === undefined || isTitled || before !== undefined) return;
  step.update({ isTitled: true });
  step.emit(systemFrame("session_title_changed", { title }, {
    sessionId,
    newUuid: () => newUuid(step),
  }));
}

/** Marks the beginning of a turn after another turn: it has a `system/init` of its own. */
export function startTurn(step: OutputStep): void {
  if (step.state.isBetweenTurns) step.update({ isBetweenTurns: false, hasInit: false });
}

/** Returns the last title that the user gave the session. */
function givenTitle(earlier: readonly Entry[]): string | undefined {
  const titles = earlier.map((entry) => entry.type === "other" ? entry.line["customTitle"] : "");
  return titles.filter((title) => typeof title === "string").findLast((title) => title !== "");
}

/** Names of MCP servers that no configuration lists: those of plugins and of the account. */
const UNCONFIGURED = /^(?:plugin:|claude\.ai )/u;

/** Returns the tools and the MCP servers, with the name that the tool for structured answers has in `claude -p`. */
function toolsAndServers(
  state: OutputState,
  listing: SessionListing,
): Pick<InitFacts, "tools" | "mcpServers"> {
  const { options: { output, servers = [] }, facts } = state;
  const listed = listing.mcpServers.filter(({ name }) => name !== OUTPUT_SERVER);
  const tools = listing.tools.length > 0
    ? listing.tools
    : requestedTools(requestOffer(state), listing);
  const known = servers.map(({ name }) => name);
  return {
    tools: output === undefined
      ? tools
      : tools.map((tool) => tool === BRIDGED_OUTPUT_TOOL ? OUTPUT_TOOL : tool),
    mcpServers: [
      ...servers.map(({ name, source, disabled, unreached }) => {
        const connection = facts.servers[name] ?? listed.find((each) =>
          each.name === name
        )?.status ??
          "pending";
        const status = disabled
          ? "disabled"
          : unreached && connection === "pending"
          ? "failed"
          : connection;
        return { name, status, source };
      }),
      ...listed.filter(({ name }) => !known.includes(name) && UNCONFIGURED.test(name)),
    ],
  };
}

/** The tools and options of the first request; undefined if the API's stream was not observed. */
function requestOffer({ exact, observed }: OutputState): RequestOffer | undefined {
  return (exact ?? observed)?.offer;
}

/** Returns the tools of the first request. Tools that the model loads later are not included. */
function requestedTools(
  offer: RequestOffer | undefined,
  { deferred }: SessionListing,
): readonly string[] {
  return offer === undefined
    ? []
    : [...new Set([...offer.tools, ...deferred])].filter((tool) => tool !== PLACEHOLDER);
}

/** Returns the model from the first source that names it. */
function modelInForce(
  state: OutputState,
  { model }: Pick<SessionListing, "model">,
): string | undefined {
  return state.options.model ?? state.model ?? model ?? state.kept.notes.answering ??
    describedModel(state);
}

/** Returns the model that the headless helper named. */
export function describedModel({ described }: Pick<OutputState, "described">): string | undefined {
  const model = described?.["model"];
  return typeof model === "string" ? model : undefined;
}
