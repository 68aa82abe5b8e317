import type { Frame } from "../wire/frame.ts";
import type { FrameStream } from "./frame_stream.ts";
import type { PreparedRun } from "./prepare_run.ts";

/** How long after the prompt's line `system/init` is held back for the lines that describe the session. */
const INIT_DELAY_MS = 200;

/** What a running session tells of itself, on its way to frames. */
export interface LiveFrames {
  /** Takes the next line of the transcript. */
  readonly push: (line: string) => void;
  /** Takes the model as SessionStart names it. */
  readonly setModel: (name: string) => void;
  /** Waits until everything taken has become frames. */
  readonly finish: () => Promise<void>;
}

/**
 * Frames from the growing transcript. What reads them is loaded meanwhile, so that the child is not kept waiting;
 * lines that come earlier are held back.
 *
 * @param emit takes each frame as it happens; without it nothing is loaded and nothing is read
 */
export function liveFrames(
  prepared: PreparedRun,
  emit: ((frame: Frame) => void) | undefined,
): LiveFrames {
  if (emit === undefined) {
    return { push: () => {}, setModel: () => {}, finish: () => Promise.resolve() };
  }
  const waiting: string[] = [];
  let model: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stream: FrameStream | undefined;
  const push = (line: string) => {
    if (stream === undefined) {
      waiting.push(line);
      return;
    }
    stream.push(line);
    if (stream.prompted) timer ??= setTimeout(() => stream?.begin(), INIT_DELAY_MS);
  };
  const loading = (async () => {
    const { createFrameStream } = await import("./create_frame_stream.ts");
    stream = createFrameStream(prepared, emit);
    if (model !== undefined) stream.setModel(model);
    for (const line of waiting.splice(0)) push(line);
  })();
  return {
    push,
    setModel: (name: string) => {
      model = name;
      stream?.setModel(name);
    },
    finish: async () => {
      await loading;
      clearTimeout(timer);
      await stream?.finish();
    },
  };
}
