import type { CallDecision } from "../session/effect.ts";
import { systemFrame } from "./build/system_frame.ts";
import { type FramesState, type Told, told, withIds } from "./frames_state.ts";

/** Remembers what the caller has decided on a call, which shows in its result. */
export function noteDecision(
  state: FramesState,
  { toolUseId, decision }: { readonly toolUseId: string; readonly decision: CallDecision },
): FramesState {
  return { ...state, decisions: new Map([...state.decisions, [toolUseId, decision]]) };
}

/** The session is in another permission mode. */
export function tellMode(state: FramesState, permissionMode: string): Told {
  const { sessionId } = state.options;
  const { state: next, made } = withIds(
    state,
    (newUuid) => systemFrame("status", { status: null, permissionMode }, { sessionId, newUuid }),
  );
  return told({ ...next, permissionMode }, [made]);
}
