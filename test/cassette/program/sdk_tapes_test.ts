import { assert, assertEquals } from "@std/assert";
import { foreignNames } from "../../../fixtures/foreign_names.ts";
import { framesOn, type TapeEntry } from "../../../src/cassette/cassette.ts";
import { readProgram } from "../../../src/cassette/program/read_program.ts";
import { readWritten } from "../../../src/cassette/program/written.ts";
import type { AnyFrame } from "../../../src/wire/any_frame.ts";
import { playedTape } from "./played_tape.ts";

const SDKS = new URL("../../../fixtures/recordings/sdk", import.meta.url).pathname;

/** The tapes of users of both SDKs, by their paths. */
const TAPES: ReadonlyMap<string, readonly TapeEntry[]> = new Map(
  [...tapesBelow(SDKS)].map((path) => [path.slice(SDKS.length), readProgram(path).tape]),
);

function* tapesBelow(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* tapesBelow(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}

function written(tape: readonly TapeEntry[]): readonly string[] {
  return tape.flatMap((entry) => entry.dir === "write" && entry.data !== "" ? [entry.data] : []);
}

Deno.test("a caller that writes what is on the tape is told all of it, in every mode, and nothing differs", () => {
  assert(TAPES.size >= 20);
  for (const [path, tape] of TAPES) {
    const frames = framesOn(tape).map(({ frame }) => frame);
    const { said, divergences } = playedTape(tape, written(tape), { stops: true });
    assertEquals([apart(said), divergences], [apart(frames), []], path);
    const rest = frames.filter(({ type }) =>
      type !== "control_request" && type !== "control_cancel_request"
    );
    const inert = playedTape(tape, written(tape), { mode: "inert", stops: true });
    assertEquals(apart(inert.said), apart(rest), path);
    assertEquals(inert.divergences.filter(isOfNoQuestion), [], path);
  }
});

/** Replies to requests, and what else is said: replies may come earlier than on the tape. */
function apart(frames: readonly AnyFrame[]): readonly (readonly AnyFrame[])[] {
  const isReply = ({ type }: AnyFrame) => type === "control_response";
  return [frames.filter(isReply), frames.filter((frame) => !isReply(frame))];
}

/** Whoever answers what was not asked is told so, as here. */
function isOfNoQuestion(divergence: string): boolean {
  return !divergence.endsWith("that it was not asked");
}

Deno.test("no tape names the machine that it was recorded on", () => {
  for (const path of tapesBelow(SDKS)) assertEquals(foreignNames(Deno.readTextFileSync(path)), []);
});

Deno.test("whatever a caller leaves out or writes otherwise is named", () => {
  let changed = 0;
  for (const [path, tape] of TAPES) {
    const lines = written(tape);
    for (const [index, line] of lines.entries()) {
      const left = playedTape(tape, lines.toSpliced(index, 1), { last: "closed" });
      assert(left.divergences.length > 0, `${path}: ${line}`);
      const other = changedLine(line);
      if (other === undefined) continue;
      changed++;
      const { divergences } = playedTape(tape, lines.with(index, other));
      assert(divergences.length > 0, `${path}: ${other}`);
    }
  }
  assert(changed > 100, `${changed}`);
});

/** The line with another word in what counts of it; undefined where there is none. */
function changedLine(line: string): string | undefined {
  const value = JSON.parse(line);
  switch (readWritten(line)?.kind) {
    case "message":
      return JSON.stringify({ ...value, message: { ...value.message, content: "Another" } });
    case "request":
      if (value.request.subtype === "initialize") return undefined;
      return JSON.stringify({ ...value, request: { ...value.request, another: 1 } });
    case "answer": {
      const { subtype, response } = value.response;
      if (subtype === "error") return undefined;
      const other = { ...value.response, response: { ...response, another: 1 } };
      return JSON.stringify({ ...value, response: other });
    }
    default:
      return undefined;
  }
}
