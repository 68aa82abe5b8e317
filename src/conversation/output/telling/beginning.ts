import type { Entry } from "../../../claude/transcript/entry.ts";
import {
  listingOf,
  PLACEHOLDER,
  type SessionListing,
} from "../../../claude/transcript/session_listing.ts";
import {
  BRIDGED_OUTPUT_TOOL,
  OUTPUT_SERVER,
  OUTPUT_TOOL,
} from "../../../claude/transcript/structured_output_tool.ts";
import { type FramesState, newUuid, type OutputStep } from "./frames_state.ts";
import type { RequestOffer } from "../../control/input.ts";
import { type FastMode, type InitFacts, initFrame } from "../frames/init_frame.ts";
import { systemFrame } from "../frames/frame_context.ts";

/** What `system/init` shows that the state does not hold. */
interface InitKnowledge {
  /** The version, where the child has not written it. */
  readonly version?: string | undefined;
  /** The model in force, where it is not the child's. */
  readonly model?: string | undefined;
}

/**
 * Emits `system/init`, once a turn, and after it the frames that had to wait for it. Emits nothing as long as the version
 * is unknown.
 */
export function emitInit(
  step: OutputStep,
  { version = step.state.version, model }: InitKnowledge = {},
): void {
  if (step.state.begun || version === undefined) return;
  emitGivenTitle(step);
  const frame = initFrame(initFacts(step, { version, model }));
  const { early, partial } = step.state;
  const { fast_mode_state, fast_mode_disabled_reason } = frame;
  step.update({
    fastMode: { fast_mode_state, fast_mode_disabled_reason } as FastMode,
    begun: true,
    early: [],
  });
  if (partial !== undefined) {
    // The next text that hooks report belongs to the turn that has begun.
    const { turn: _, ...others } = partial;
    step.update({ partial: others });
  }
  step.emit(frame, ...early);
}

function initFacts(
  step: OutputStep,
  { version, model }: { readonly version: string; readonly model: string | undefined },
): InitFacts {
  const { state } = step;
  const { options, described } = state;
  const listing = listingOf(state.kept.notes);
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

/** Marks the beginning of a turn that follows another one: it has a `system/init` of its own. */
export function startTurn(step: OutputStep): void {
  if (step.state.rested) step.update({ rested: false, begun: false });
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
  state: FramesState,
  listing: SessionListing,
): Pick<InitFacts, "tools" | "mcpServers"> {
  const { options: { output, servers = [] }, connections = {} } = state;
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
        const connection = connections[name] ?? listed.find((each) => each.name === name)?.status ??
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

/** What the first request offered the model; undefined where the API's stream was not observed. */
function requestOffer({ exact, heard }: FramesState): RequestOffer | undefined {
  return (exact ?? heard)?.offer;
}

/** Returns the tools of the first request; tools that the model loads later are not among them. */
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
  state: FramesState,
  { model }: Pick<SessionListing, "model">,
): string | undefined {
  return state.options.model ?? state.model ?? model ?? state.kept.notes.answering ??
    describedModel(state);
}

/** Returns the model that the headless helper named. */
export function describedModel({ described }: Pick<FramesState, "described">): string | undefined {
  const model = described?.["model"];
  return typeof model === "string" ? model : undefined;
}
