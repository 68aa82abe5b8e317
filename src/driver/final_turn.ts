import { readJsonObject } from "../sandbox/json_object.ts";
import { announces } from "../session/announces.ts";
import type { HookPayload } from "../session/input.ts";
import { type Cost, costOfClaudeJson, costOfEntries } from "../transcript/cost.ts";
import { type Entry, parseEntry } from "../transcript/entry.ts";
import { sessionListingOf } from "../transcript/session_listing.ts";
import { parseTaskNotification } from "../transcript/task_notification.ts";
import { type Turn, turnsOf } from "../transcript/turn.ts";
import { transcriptLines } from "./transcript_lines.ts";

/** What the child left about its session. */
export interface FinalTurn {
  readonly entries: readonly Entry[];
  readonly turns: readonly Turn[];
  readonly cost: Cost | undefined;
  readonly maxOutputTokens: ReadonlyMap<string, number>;
}

/** The transcript lags behind Stop by up to 143 ms, and at a clean exit not at all; this is far beyond. */
const TRIES = 40;
const PAUSE_MS = 50;

/**
 * Reads a session's transcript and cost once the child is gone, until the transcript holds the answer that the
 * Stop hook announced; after 2 s what is there has to do.
 *
 * @param options.stop the Stop payload, whose last message tells a complete transcript from an older turn's end
 * @param options.known ids of the lines an earlier run of the session wrote
 * @param options.cut whether the run ended before everything that it had begun did
 */
export async function readFinalTurn(options: {
  readonly configDir: string;
  readonly sessionId: string;
  readonly transcriptPath: () => string | undefined;
  readonly known: ReadonlySet<string>;
  readonly cut: boolean;
  readonly stop: HookPayload | undefined;
}): Promise<FinalTurn> {
  for (let tries = 1;; tries++) {
    const path = options.transcriptPath();
    const lines = path === undefined ? [] : transcriptLines(path);
    const entries = lines.map(parseEntry).filter((entry) => entry !== undefined);
    const all = turnsOf(entries, { known: options.known });
    const turns = options.cut ? withoutStopped(all) : all;
    if (tries === TRIES || isComplete(turns.at(-1), options.stop)) {
      return {
        entries,
        turns,
        cost: costOfEntries(entries) ??
          costOfClaudeJson(
            readJsonObject(`${options.configDir}/.claude.json`),
            options.sessionId,
          ),
        maxOutputTokens: sessionListingOf(entries).maxOutputTokens,
      };
    }
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
}

/** Leaves out the turns that only the end of the run gave rise to: it stopped tasks, and the child told the model so. */
function withoutStopped(turns: readonly Turn[]): readonly Turn[] {
  const end = turns.findLastIndex(({ prompt }) =>
    parseTaskNotification(prompt?.message.content)?.status !== "killed"
  );
  return turns.slice(0, end + 1);
}

/** Whether the turn's last answer is the one that Stop spoke of; without a Stop there is nothing to wait for. */
function isComplete(turn: Turn | undefined, stop: HookPayload | undefined): boolean {
  const announced = stop?.["last_assistant_message"];
  if (stop === undefined) return true;
  if (turn === undefined) return false;
  if (typeof announced !== "string" || announced === "") {
    return turn.answers > 0 || turn.end !== undefined;
  }
  return announces(announced, turn.text);
}
