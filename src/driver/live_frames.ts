import type { HookPayload } from "../session/input.ts";
import type { ApiRetry } from "../wire/api_retry_frame.ts";
import type { Frame } from "../wire/frame.ts";
import type { FrameStream } from "./frame_stream.ts";
import { heldResults } from "./held_results.ts";
import { inOrder } from "./in_order.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { SubagentSource } from "./subagent_source.ts";

/** How long after the prompt's line `system/init` is held back for the lines that describe the session. */
const INIT_DELAY_MS = 200;

/** What a running session tells of itself, on its way to frames. */
export interface LiveFrames {
  /** Takes the next line of the transcript. */
  readonly push: (line: string) => void;
  /** Takes word that there are no more lines for now, and the transcript's path once there is one. */
  readonly filesRead: (transcript: string | undefined) => void;
  /** Takes the payload of a Stop hook. */
  readonly stop: (payload: HookPayload) => void;
  /** Takes word that a request to the API is made again. */
  readonly retry: (retry: ApiRetry) => void;
  /** Takes the model as SessionStart names it. */
  readonly setModel: (name: string) => void;
  /** Takes word that the run is ending, whatever the child still does. */
  readonly ending: () => void;
  /** Waits until everything taken has become frames. */
  readonly finish: () => Promise<void>;
  /** How many results have been emitted, which are those of as many first turns. */
  readonly results: () => number;
}

/**
 * Frames from the growing transcript. What reads them is loaded meanwhile, so that the child is not kept waiting;
 * what is taken earlier is held back.
 *
 * @param emit takes each frame as it happens; a run prepared for none emits only results
 */
export function liveFrames(prepared: PreparedRun, emit: (frame: Frame) => void): LiveFrames {
  const waiting: ((stream: FrameStream) => void)[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stream: FrameStream | undefined;
  const tell = (news: (stream: FrameStream) => void) => {
    if (stream === undefined) waiting.push(news);
    else news(stream);
  };
  const loading = (async () => {
    const { createFrameStream } = await import("./create_frame_stream.ts");
    const loaded = createFrameStream(prepared, emit);
    for (const news of waiting.splice(0)) news(loaded);
    stream = loaded;
  })();
  const subagents = new SubagentSource(prepared.sandbox);
  let lines: string[] = [];
  const filesRead = (transcript: string | undefined) => {
    const own = lines;
    const theirs = transcript === undefined ? [] : subagents.read(transcript);
    lines = [];
    stream?.watchShells(Date.now());
    if (own.length === 0 && theirs.length === 0) return;
    tell((stream) => {
      for (const next of inOrder(own, theirs)) {
        if (typeof next === "string") stream.push(next);
        else stream.pushSubagent(next);
      }
      if (stream.prompted) timer ??= setTimeout(() => stream.begin(), INIT_DELAY_MS);
    });
  };
  return {
    push: (line) => void lines.push(line),
    filesRead,
    ending: () => tell((stream) => stream.ending()),
    stop: (payload) => tell((stream) => stream.stop(heldResults(payload))),
    retry: (retry) => tell((stream) => stream.retry(retry)),
    setModel: (name) => tell((stream) => stream.setModel(name)),
    finish: async () => {
      filesRead(undefined);
      await loading;
      clearTimeout(timer);
      await stream?.finish();
    },
    results: () => stream?.results ?? 0,
  };
}
