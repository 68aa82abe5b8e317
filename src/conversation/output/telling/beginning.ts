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
import { type FramesState, type Told, told, withIds } from "./frames_state.ts";
import { type FastMode, type InitFacts, initFrame } from "../frames/init_frame.ts";
import { NO_PARTS } from "./partial_state.ts";
import type { RequestOffer } from "../../control/input.ts";
import { systemFrame } from "../frames/frame_context.ts";

/**
 * Tells `system/init`, once a turn, with what is known by now, and then what had to wait for it.
 *
 * @param options.version the version, where the child has not told it
 * @param options.model the model in force, where it is not the child's
 */
export function begin(
  state: FramesState,
  { version = state.version, model }: {
    readonly version?: string | undefined;
    readonly model?: string | undefined;
  } = {},
): Told {
  if (state.begun || version === undefined) return told(state);
  const { options, kept: { notes } } = state;
  const listing = listingOf(notes);
  const titled = tellGivenTitle(state);
  const { state: next, made } = withIds(titled.state, (newUuid) =>
    initFrame({
      version,
      sessionId: options.sessionId,
      uuid: newUuid(),
      cwd: options.cwd,
      model: model ?? modelInForce(state, listing),
      fastMode: options.fastMode,
      asksFastMode: listing.asksFastMode || offerHeard(state)?.fast === true,
      permissionMode: state.permissionMode ?? options.permissionMode,
      ...offered(state, listing),
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
      described: state.described,
      faultyServers: options.faultyServers,
      output: options.output,
      messages: state.taken,
    }));
  const { turn: _, ...partial } = next.partial ?? NO_PARTS;
  const { fast_mode_state, fast_mode_disabled_reason } = made;
  return told({
    ...next,
    fastMode: { fast_mode_state, fast_mode_disabled_reason } as FastMode,
    begun: true,
    early: [],
    // What hooks tell next belongs to the turn that has begun, whichever that is.
    ...(next.partial === undefined ? {} : { partial }),
  }, [...titled.frames, made, ...state.early]);
}

/** Emits the title that the user has given the session, before all else. */
function tellGivenTitle(state: FramesState): Told {
  const { options: { title = givenTitle(state.earlier), before, sessionId }, isTitled } = state;
  if (title === undefined || isTitled || before !== undefined) return told(state);
  const { state: next, made } = withIds(
    state,
    (newUuid) => systemFrame("session_title_changed", { title }, { sessionId, newUuid }),
  );
  return told({ ...next, isTitled: true }, [made]);
}

/** The title that a session's user has given it last. */
function givenTitle(earlier: readonly Entry[]): string | undefined {
  const titles = earlier.map((entry) => entry.type === "other" ? entry.line["customTitle"] : "");
  return titles.filter((title) => typeof title === "string").findLast((title) => title !== "");
}

/** Names of MCP servers that no configuration has: those of plugins, and of the account. */
const UNCONFIGURED = /^(?:plugin:|claude\.ai )/u;

/** The tools on offer and the servers that have them, as `claude -p` names what is Claude Code's own there. */
function offered(
  state: FramesState,
  listing: SessionListing,
): Pick<InitFacts, "tools" | "mcpServers"> {
  const { options: { output, servers = [] }, connections = {} } = state;
  const listed = listing.mcpServers.filter(({ name }) => name !== OUTPUT_SERVER);
  const tools = listing.tools.length > 0
    ? listing.tools
    : requestedTools(offerHeard(state), listing);
  const known = servers.map(({ name }) => name);
  return {
    tools: output === undefined
      ? tools
      : tools.map((tool) => tool === BRIDGED_OUTPUT_TOOL ? OUTPUT_TOOL : tool),
    mcpServers: [
      ...servers.map(({ name, source, disabled, unreached }) => {
        const told = connections[name] ?? listed.find((each) => each.name === name)?.status ??
          "pending";
        const status = disabled ? "disabled" : unreached && told === "pending" ? "failed" : told;
        return { name, status, source };
      }),
      ...listed.filter(({ name }) => !known.includes(name) && UNCONFIGURED.test(name)),
    ],
  };
}

/** What the first request offered the model, where it was heard. */
function offerHeard({ exact, heard }: FramesState): RequestOffer | undefined {
  return (exact ?? heard)?.offer;
}

/** The tools of the first request, where it was heard; what the model loads later is not among them. */
function requestedTools(
  offer: RequestOffer | undefined,
  { deferred }: SessionListing,
): readonly string[] {
  return offer === undefined
    ? []
    : [...new Set([...offer.tools, ...deferred])].filter((tool) => tool !== PLACEHOLDER);
}

/** Makes ready for a turn that follows another one, with a `system/init` of its own. */
export function beginTurn(state: FramesState): Told {
  return told(state.rested ? { ...state, rested: false, begun: false } : state);
}

/** The model, as far as it is known by now. */
export function modelInForce(
  state: FramesState,
  { model }: Pick<SessionListing, "model">,
): string | undefined {
  return state.options.model ?? state.model ?? model ?? state.kept.notes.answering ??
    describedModel(state);
}

/** The model as a headless Claude Code has named it. */
export function describedModel({ described }: Pick<FramesState, "described">): string | undefined {
  const model = described?.["model"];
  return typeof model === "string" ? model : undefined;
}
