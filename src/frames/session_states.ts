import type { SessionState } from "../session/session_state.ts";
import type { Frame } from "../wire/frame.ts";
import { isVersionAtLeast } from "../wire/wire_keys.ts";
import { systemFrame } from "./single/system_frame.ts";
import {
  type Activity,
  and,
  type FramesState,
  type Told,
  told,
  withIds,
} from "./telling/frames_state.ts";

/** Frames, and between them those that tell what the session is at; since 2.1.330, to whoever reads them. */
export function withActivity(before: FramesState, frames: readonly Frame[]): Told {
  let said = told(before);
  for (const frame of frames) {
    if (frame.type === "system" && frame["subtype"] === "init") {
      said = and(said, (state) => tellActivity(state, "running"));
    }
    if (frame.type === "control_request" && frame.request.subtype === "can_use_tool") {
      said = and(said, (state) => tellActivity(state, "requires_action"));
    }
    said = { ...said, frames: [...said.frames, frame] };
    if (frame.type === "result" && said.state.awaited.length === 0) {
      said = and(said, (state) => tellActivity(state, "idle"));
    }
  }
  return said;
}

/** Tells what the session is at, if that is news. */
export function tellActivity(state: FramesState, activity: Activity): Told {
  const { options: { sessionId, activity: wanted }, version = "" } = state;
  if (state.activity === activity || !isVersionAtLeast(version, "2.1.330")) return told(state);
  const { state: next, made } = withIds(
    state,
    (newUuid) =>
      systemFrame(
        "session_state_changed",
        { state: activity, ...(wanted === "shown" ? {} : { sdk_host_only: true }) },
        { sessionId, newUuid },
      ),
  );
  return told({ ...next, activity }, [made]);
}

/** Whether the last permission that was asked for has been decided. */
export function isAnswered(before: SessionState, after: SessionState): boolean {
  const isPermission = ({ kind }: { readonly kind: string }) => kind === "permission";
  return [...before.asked.values()].some(isPermission) &&
    ![...after.asked.values()].some(isPermission);
}
