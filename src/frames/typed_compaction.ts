import type { Entry, SystemEntry, UserEntry } from "../transcript/entry.ts";
import { sayStatus } from "./compaction.ts";
import { and, type FramesState, type Told, told } from "./frames_state.ts";
import { say } from "./saying.ts";
import { unavailableFrame } from "./build/unavailable_frame.ts";

/** What a failed command says, around which Claude Code puts a tag. */
const OUTPUT = /^<local-command-std(?:out|err)>([\s\S]*)<\/local-command-std(?:out|err)>$/u;
const ARGUMENTS = /<command-args>([\s\S]*)<\/command-args>/u;

/** What `claude -p` says where there is no conversation yet, which is no attempt. */
const NOTHING = "Error: No messages to compact";

/**
 * Notes what came of a typed /compact, and says of one that failed what `claude -p` says (2.1.197 and 2.1.330). One that
 * succeeded has been told with its boundary.
 */
export function tellTyped(state: FramesState, entry: Entry): Told {
  if (entry.type === "user" && entry.meaning === "local-command" && state.typed !== undefined) {
    return told({ ...state, typed: { result: "" } });
  }
  const text = entry.type === "system" ? failureIn(entry) : undefined;
  const args = argumentsOf(state.prompt);
  if (entry.type !== "system" || text === undefined || args === undefined) return told(state);
  const isAttempt = state.earlier.some(({ type }) => type === "user");
  const begun: FramesState = { ...state, typed: { result: isAttempt ? text : "" } };
  const failed = { status: null, compact_result: "failed", compact_error: text };
  const attempted = isAttempt
    ? and(
      sayStatus(begun, { status: "compacting" }),
      (state) => sayStatus(state, failed),
    )
    : told(begun);
  return and(attempted, (state) =>
    say(state, ({ version, sessionId, newUuid }) => [
      unavailableFrame(isAttempt ? text : NOTHING, {
        version,
        sessionId,
        uuid: entry.uuid ?? newUuid(),
        messageId: newUuid(),
        timestamp: entry.timestamp ?? "",
        failed: { source: `${entry["content"]}`, run: { command: "compact", args } },
      }),
    ]));
}

function failureIn({ subtype, content }: SystemEntry): string | undefined {
  return subtype === "local_command" && typeof content === "string"
    ? OUTPUT.exec(content)?.[1]
    : undefined;
}

/** What follows the /compact that a prompt is; undefined for another prompt. */
function argumentsOf(prompt: UserEntry | undefined): string | undefined {
  const content = prompt?.message.content;
  return typeof content === "string" && content.startsWith("<command-name>/compact</")
    ? ARGUMENTS.exec(content)?.[1] ?? ""
    : undefined;
}
