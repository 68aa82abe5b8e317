import { parseCast } from "../../../src/recording/cassette/read/read_cast.ts";
import { parseLines } from "../../../src/recording/cassette/read/part_lines.ts";
import { parseTape } from "../../../src/recording/cassette/read/read_tape.ts";
import { createPartScrubber } from "../../../src/recording/cassette/part_scrubber.ts";
import { learnFromCast } from "../../../src/recording/lint/cassette_parts.ts";
import { scrubCast, scrubTape } from "../../../src/recording/cassette/scrub_lines.ts";
import { createRedactor } from "../../../src/recording/redaction/redact.ts";
import type { BlankedParts } from "../../../src/recording/redaction/blank_text.ts";
import { createSubagentCalls } from "../../../src/recording/redaction/blank_messages.ts";
import { collectTraces } from "../../../src/recording/redaction/known_traces.ts";

/** The texts of a run's files. */
export interface RunFiles {
  readonly cast: string;
  readonly tape: string;
}

/** The files of a recorded run, with the traces of a user put in. */
export function somebodys(folder: string): RunFiles {
  const [cast = "", tape = ""] = ["child.cast", "tape.jsonl"].map((name) =>
    Deno.readTextFileSync(`${folder}/${name}`)
      .replaceAll("/home/user/project", "/work/acme-billing")
      .replaceAll("-home-user-project", "-work-acme-billing")
      .replaceAll("/home/user", "/home/alice")
  );
  return { cast, tape };
}

/** The same files once they are scrubbed. */
export function scrubbedRun(
  { cast, tape }: RunFiles,
  blanked: BlankedParts = { prompts: false, answers: false },
): RunFiles {
  const lines = parseLines(cast, { path: "child.cast" });
  const collector = collectTraces();
  const subagents = createSubagentCalls();
  learnFromCast(lines, collector);
  learnFromCast(lines, { text: () => {}, value: subagents.learn });
  const scrubber = createPartScrubber({
    known: collector.known(),
    redactor: createRedactor({ env: {} }),
    blanked,
    subagents,
  });
  let [scrubbedCast, scrubbedTape] = ["", ""];
  scrubCast(lines, {
    path: "child.cast",
    scrubber,
    blanked,
    take: ({ text }) => scrubbedCast += `${text}\n`,
  });
  scrubTape(parseLines(tape, { path: "tape.jsonl" }), {
    path: "tape.jsonl",
    scrubber,
    take: ({ text }) => scrubbedTape += `${text}\n`,
  });
  return { cast: scrubbedCast, tape: scrubbedTape };
}

/** The files as they are replayed. */
export function cassetteOf({ cast, tape }: RunFiles) {
  return {
    cast: parseCast(cast, { path: "child.cast" }),
    tape: parseTape(tape, { path: "tape.jsonl" }),
  };
}
