import type { Frame } from "../wire/frame.ts";
import { isVersionAtLeast } from "../wire/wire_keys.ts";
import type { LiveFrames } from "./live_frames.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { heldResults } from "./held_results.ts";

/**
 * The results of turns that end while the run goes on, as text prints them since 2.1.330. Nothing is read or loaded
 * before there is such a turn.
 *
 * @param emit takes each result
 */
export function liveResults(prepared: PreparedRun, emit: (frame: Frame) => void): LiveFrames {
  let transcript: unknown;
  let held: ReturnType<typeof heldResults>;
  let printed = 0;
  let reading = Promise.resolve();
  return {
    push: (line) => {
      if (held === undefined || !line.includes('"turn_duration"')) return;
      const printable = held === "printable";
      held = undefined;
      const version = versionOf(line);
      if (!printable || typeof transcript !== "string" || !isVersionAtLeast(version, "2.1.330")) {
        return;
      }
      const path = transcript;
      reading = reading.then(async () => {
        const { readTurnResults } = await import("./read_turn_results.ts");
        for (
          const result of readTurnResults(prepared, { path, lastLine: line, version, printed })
        ) {
          emit(result);
          printed++;
        }
      });
    },
    stop: (payload) => {
      transcript = payload["transcript_path"];
      held = heldResults(payload);
    },
    filesRead: () => {},
    retry: () => {},
    ending: () => {},
    setModel: () => {},
    finish: () => reading,
    results: () => printed,
  };
}

function versionOf(line: string): string {
  return /"version":"([^"]*)"/u.exec(line)?.[1] ?? "";
}
