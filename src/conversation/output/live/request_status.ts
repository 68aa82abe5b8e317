import { apiRetryFrame } from "../single/api_retry_frame.ts";
import { systemFrame } from "../single/system_frame.ts";
import { and, type FramesState, type Told, told, withIds } from "../telling/frames_state.ts";
import { askedBy } from "../result/asked_by.ts";
import type { ApiRetry } from "../../control/input.ts";

/** Says that the model is asked, once for each answer and before anything that comes of it, to whoever wants answers live. */
export function tellRequest(state: FramesState): Told {
  if (state.requested !== false) return told(state);
  const { sessionId } = state.options;
  const { user_message_uuids } = askedBy(state);
  const { state: next, made } = withIds(
    { ...state, requested: true },
    (newUuid) =>
      systemFrame(
        "status",
        {
          status: "requesting",
          ...(user_message_uuids === undefined ? {} : { user_message_uuids }),
        },
        { sessionId, newUuid },
      ),
  );
  return told(next, [made]);
}

/** Says that a request has failed and is made again. */
export function tellAgain(state: FramesState, retry: ApiRetry): Told {
  const { sessionId } = state.options;
  return and(tellRequest(state), (state) => {
    const { state: next, made } = withIds(
      state,
      (newUuid) => apiRetryFrame(retry, { sessionId, uuid: newUuid() }),
    );
    return told(next, [made]);
  });
}

/** The answer has been told, or will not come: the next one takes another request. */
export function forgetRequest(state: FramesState): FramesState {
  return state.requested === true ? { ...state, requested: false } : state;
}
