import { collectCassette } from "../../../fixtures/collected_cassette.ts";
import type { Cassette } from "../../../src/recording/cassette/cassette_format.ts";
import {
  Recorder,
  type RecordingRedactor,
} from "../../../src/recording/cassette/record/recorder.ts";
import { fold } from "../../../src/conversation/output/advance.ts";
import type { Input } from "../../../src/conversation/control/input.ts";
import type { Prompt } from "../../../src/conversation/control/message.ts";
import type { SessionOptions } from "../../../src/conversation/control/session_options.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { conversationOptions } from "../../conversation/output/conversation_options.ts";
import { onlyMessage } from "../../conversation/control/only_message.ts";

/** Records a session with these inputs, as a run would. */
export function recordSession(
  inputs: readonly Input[],
  options: {
    readonly session?: Partial<SessionOptions>;
    readonly shellOutput?: "joined";
    readonly message?: Partial<Prompt>;
    readonly redactor?: RecordingRedactor;
    /** Additional frames at the end. */
    readonly frames?: readonly Frame[];
  } = {},
): Cassette {
  const usual = conversationOptions(options.session);
  const { shellOutput } = options;
  const conversation = {
    ...usual,
    frames: { ...usual.frames, ...(shellOutput === undefined ? {} : { shellOutput }) },
  };
  const collected = collectCassette();
  const recording = new Recorder({
    conversation,
    output: { format: "stream-json", verbose: true },
    term: "xterm-256color",
    redactor: options.redactor ?? { text: (text) => text, openFrom: () => Infinity },
    sink: collected.sink,
  });
  fold(conversation, [...onlyMessage(options.message), ...inputs], {
    onInput: (input) => recording.addInput(input),
    onEffect: (effect) => recording.addEffect(effect),
  });
  for (const frame of options.frames ?? []) recording.addEffect({ type: "frame", frame });
  recording.end();
  const cassette = collected.cassette();
  if (cassette === undefined) throw new Error("Nothing was recorded");
  return cassette;
}
