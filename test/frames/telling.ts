import { tellEnd, tellEnding } from "../../src/frames/tell_end.ts";
import { tellInput } from "../../src/frames/tell_input.ts";
import type { FramesOptions } from "../../src/frames/telling/frames_options.ts";
import { type FramesState, startFrames } from "../../src/frames/telling/frames_state.ts";
import type { Input, Subagent, Untimed } from "../../src/session/input.ts";
import { parseEntry } from "../../src/transcript/entry.ts";
import type { Frame } from "../../src/wire/frame.ts";
import { conversationOptions } from "./conversation_options.ts";

/** What the frames machine says while a test tells it of a run. */
export interface Telling {
  readonly frames: Frame[];
  readonly state: () => FramesState;
  /** Tells of something, at a moment in milliseconds since the epoch. */
  readonly tell: (input: Untimed<Input>, at?: number) => void;
  /** Tells of lines of the session's transcript that are read at once; what is no JSON object is none. */
  readonly push: (...lines: readonly (string | object)[]) => void;
  readonly pushSubagent: (subagent: Subagent, line: object) => void;
  /** The time for the lines that describe the session is over. */
  readonly begin: () => void;
  /** The run is ending, since a moment in milliseconds since the epoch. */
  readonly ending: (at?: number) => void;
  /** The run is over; the executable says what version it is. */
  readonly finish: (version: string) => void;
}

/** Begins to tell of a run that was started at the beginning of the epoch. */
export function startTelling(options: Partial<FramesOptions> = {}): Telling {
  const { frames: usual, report } = conversationOptions();
  let state = startFrames({ ...usual, startedAt: 0, ...options }, report);
  const frames: Frame[] = [];
  const take = (told: { readonly state: FramesState; readonly frames: readonly Frame[] }) => {
    state = told.state;
    frames.push(...told.frames);
  };
  const tell: Telling["tell"] = (input, at = 0) =>
    take(tellInput(state, { ...input, at } as Input));
  const push: Telling["push"] = (...lines) => {
    const entries = lines.map((line) =>
      parseEntry(typeof line === "string" ? line : JSON.stringify(line))
    )
      .filter((entry) => entry !== undefined);
    if (entries.length === 0) return;
    for (const entry of entries) tell({ type: "transcript", entry });
    tell({ type: "read" });
  };
  return {
    frames,
    state: () => state,
    tell,
    push,
    pushSubagent: (subagent, line) => {
      const entry = parseEntry(JSON.stringify(line));
      if (entry === undefined) return;
      tell({ type: "subagent", line: { subagent, entry } });
      tell({ type: "read" });
    },
    begin: () => tell({ type: "deadline", name: "init" }),
    ending: (at = 0) => state = tellEnding(state, at),
    finish: (version) => take(tellEnd(state, { version, now: 0 })),
  };
}
