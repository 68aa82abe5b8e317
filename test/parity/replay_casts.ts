import type { Cast } from "../../src/recording/cassette/cassette_format.ts";
import { fold } from "../../src/conversation/output/advance.ts";
import { type EffectPart, partsOf } from "../../src/conversation/output/conversation.ts";
import type { Problem } from "../../src/conversation/output/result/verdict.ts";
import { createOutputWriter } from "../../src/claude/wire/output_writer.ts";
import { castInputs } from "../recording/cassette/recorded_runs.ts";

/** The home that recorded inputs name. */
export const RECORDED_HOME = "/home/user";

/** What a run prints, and how it ends. */
export interface ReplayedRun {
  readonly stdout: string;
  readonly home: string;
  readonly code: number;
  /** Why it failed, as stderr says it. */
  readonly problem: Problem | undefined;
}

/** Feeds the recorded inputs of a run to the core, child by child, and prints its frames in the format of the run. */
export function replayCasts(casts: readonly Cast[]): ReplayedRun {
  const { format = "text", verbose = false } = casts[0]?.header.claude_print.output ?? {};
  let stdout = "";
  let code = 0;
  let problem: Problem | undefined;
  const writer = createOutputWriter(format, { verbose, write: (text) => void (stdout += text) });
  for (const cast of casts) {
    for (const part of effectParts(cast)) {
      if (part.type === "frame") writer.frame(part.frame);
      if (part.type === "report") ({ exitCode: code, problem } = part.report);
    }
  }
  writer.end();
  return { stdout, home: RECORDED_HOME, code, problem };
}

/** Returns all effects of a cast's inputs. */
export function effectParts(cast: Cast): readonly EffectPart[] {
  const parts: EffectPart[] = [];
  fold(cast.header.claude_print.conversation, castInputs(cast), {
    onEffect: (effect) => void parts.push(...partsOf(effect)),
  });
  return parts;
}
