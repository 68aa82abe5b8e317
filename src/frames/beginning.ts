import type { Entry } from "../transcript/entry.ts";
import { sessionListingOf } from "../transcript/session_listing.ts";
import { type FramesState, listOf, type Told, told, withIds } from "./frames_state.ts";
import { NO_PARTS } from "./partial_state.ts";
import { initFrame } from "./build/init_frame.ts";

/** Tells `system/init`, once a turn, with what is known by now, and then what had to wait for it. */
export function begin(state: FramesState, version = state.version): Told {
  if (state.begun || version === undefined) return told(state);
  const { options, earlier } = state;
  const listing = sessionListingOf([...earlier, ...listOf(state.entries)], earlier.length);
  const { state: next, made } = withIds(state, (newUuid) =>
    initFrame({
      version,
      sessionId: options.sessionId,
      uuid: newUuid(),
      cwd: options.cwd,
      model: options.model ?? state.model ?? listing.model ?? answeringModel(state),
      permissionMode: state.permissionMode ?? options.permissionMode,
      tools: listing.tools,
      mcpServers: listing.mcpServers,
      agents: listing.agents,
      skills: listing.skills,
      additionalDirectories: listing.additionalDirectories,
      apiKeySource: options.apiKeySource,
      memoryPath: options.memoryPath,
      servedByAnthropic: options.servedByAnthropic,
      analyticsDisabled: true,
      productFeedbackDisabled: true,
    }));
  const { turn: _, ...partial } = next.partial ?? NO_PARTS;
  return told({
    ...next,
    begun: true,
    early: [],
    // What hooks tell next belongs to the turn that has begun, whichever that is.
    ...(next.partial === undefined ? {} : { partial }),
  }, [made, ...state.early]);
}

/** Makes ready for a turn that follows another one, with a `system/init` of its own. */
export function beginTurn(state: FramesState): Told {
  return told(state.rested ? { ...state, rested: false, begun: false } : state);
}

/** The model that answers, or answered last before the session was resumed. */
function answeringModel({ entries, earlier }: FramesState): string | undefined {
  const isAnswer = (entry: Entry) =>
    entry.type === "assistant" && entry.message.model !== "<synthetic>";
  const answer = listOf(entries).find(isAnswer) ?? earlier.findLast(isAnswer);
  return answer?.type === "assistant" ? answer.message.model : undefined;
}
