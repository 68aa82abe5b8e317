import type { JsonObject } from "../../transcript/json_object.ts";
import { shellQuote } from "../../shell_quote.ts";

/** The hooks a run may register; all of them are known to Claude Code 2.1.168 and later. */
export type HookEvent =
  | "MessageDisplay"
  | "PermissionRequest"
  | "PostCompact"
  | "PostToolBatch"
  | "PreCompact"
  | "PreToolUse"
  | "SessionStart"
  | "Stop"
  | "StopFailure"
  | "UserPromptSubmit";

/**
 * Seconds a hook of ours may take before Claude Code gives it up: it only writes a file and a line, and one that asks is
 * answered at once, or when the servers that are waited for are there.
 */
const TIMEOUT_S = 60;

/** Events whose hooks wait for an answer; the others only tell. */
const ASKING: readonly HookEvent[] = ["PermissionRequest", "PostToolBatch", "PreToolUse"];

/**
 * Which of their event some hooks are for: what a hook of a typed /compact is called stands in the transcript, and what
 * it tells too.
 */
const MATCHERS: Partial<Record<HookEvent, string>> = { PreCompact: "auto", PostCompact: "auto" };

/** What a hook announces in the place of its payload's name when it cannot write one. */
export const UNHEARD = "unheard";

/** What follows the name of a payload that is the status line's, which names no event. */
export const STATUS_LINE = "status-line";

/** What follows the name of a payload whose hook waits for an answer, and what the answer's file is called after it. */
export const ASKS = "asks";
export const ANSWER_SUFFIX = ".answer";

/**
 * The script behind every hook, which only carries bytes: the payload goes into a file of its own, because payloads
 * longer than a pipe's atomic 4096 bytes would mix, and one line on the FIFO announces it. A hook that asks waits for a
 * line on a FIFO of its own, and prints it.
 *
 * FIFOs are opened for reading and writing, which never blocks: a hook that only tells outlives a run that was killed.
 * The line begins with an end, so that what a stranger has begun there does not become part of it.
 *
 * Its programs are the system's, whatever PATH the caller or the project's settings name: Claude Code gives a hook
 * theirs, and an empty one if there is none (2.1.197 and 2.1.330).
 *
 * @param secret proves that a line on the FIFO comes from this script
 */
export function hookScript(secret: string): string {
  return `#!/bin/sh
# usage: hook [${ASKS} | ${STATUS_LINE}], the payload on stdin
PATH=/usr/bin:/bin\${PATH:+:$PATH}
umask 077
d=\${0%/*}
s=${shellQuote(secret)}
p="$d/payloads/$$"
if ! cat > "$p"; then
  printf '\\n%s ${UNHEARD}\\n' "$s" 1<> "$d/hooks.fifo"
  exit 0
fi
# Once it is announced, the payload may be gone at any time.
if [ "$1" != ${ASKS} ]; then
  printf '\\n%s %s %s\\n' "$s" "$$" "$1" 1<> "$d/hooks.fifo"
  exit 0
fi
mkfifo "$p${ANSWER_SUFFIX}" || exit 0
exec 3<> "$p${ANSWER_SUFFIX}"
printf '\\n%s %s ${ASKS}\\n' "$s" "$$" 1<> "$d/hooks.fifo"
IFS= read -r answer <&3
[ -z "$answer" ] || printf '%s\\n' "$answer"
exit 0
`;
}

/**
 * The `hooks` setting that registers the script for some events.
 *
 * PostToolBatch comes when the tools of one answer have returned, before the next request to the model. SessionStart
 * comes before the first request, which is held back as long as its hook has no answer.
 *
 * @param options.held further events whose hooks wait for an answer
 */
export function hookSettings(
  scriptPath: string,
  { events, held }: {
    readonly events: readonly HookEvent[];
    readonly held: readonly HookEvent[];
  },
): JsonObject {
  return Object.fromEntries(events.map((event) => {
    const asks = ASKING.includes(event) || held.includes(event);
    const command = `exec /bin/sh ${shellQuote(scriptPath)}${asks ? ` ${ASKS}` : ""}`;
    const matcher = MATCHERS[event];
    const matched = matcher === undefined ? {} : { matcher };
    return [event, [{ ...matched, hooks: [{ type: "command", command, timeout: TIMEOUT_S }] }]];
  }));
}

/** The `statusLine` setting that hands the script what the child has cost, 0.3 s after whatever changed it last. */
export function statusLineSetting(scriptPath: string): JsonObject {
  return { type: "command", command: `exec /bin/sh ${shellQuote(scriptPath)} ${STATUS_LINE}` };
}
