import type { JsonObject } from "../../json_object.ts";
import { ANSWER_SUFFIX, END } from "../folder/folder_layout.ts";
import { OWNER_FILE } from "../folder/owner.ts";
import { mayForbid } from "../../claude/settings/may_forbid.ts";
import { shellQuote } from "../../shell_quote.ts";

/** When a hook of the caller is called. The child knows nothing else about it. */
export interface HookOccasion {
  readonly event: string;
  readonly matcher?: string;
}

/** The hooks a run may register; every supported Claude Code knows all of them. */
export type HookEvent =
  | "Elicitation"
  | "MessageDisplay"
  | "PermissionRequest"
  | "PostCompact"
  | "PostToolBatch"
  | "PreCompact"
  | "PreToolUse"
  | "SessionEnd"
  | "SessionStart"
  | "Stop"
  | "StopFailure"
  | "UserPromptSubmit";

/**
 * How long Claude Code waits for a hook that asks the caller, in seconds: a week, because the caller may be a person. This
 * program has shorter limits of its own.
 */
const CALLER_TIMEOUT_S = 604_800;

/**
 * The name of such a hook in texts for the model and in the transcript, as in `claude -p`. Claude Code uses a hook's
 * `statusMessage` as its name (2.1.330).
 */
const CALLBACK_NAME = "callback";

/**
 * How long Claude Code waits for one of our other hooks, in seconds. It only writes a file and a line. A hook that asks is
 * answered at once, or when the MCP servers are ready.
 */
const TIMEOUT_S = 60;

/**
 * Timeout of SessionEnd hooks in seconds, Claude Code's default. A longer one would also apply to the project's hooks,
 * which have no more time in `claude -p`.
 */
const SESSION_END_TIMEOUT_S = 1.5;

/** Makes Claude Code treat each failure of a hook as a veto, a killed shell included. 2.1.280 ignores it; 2.1.330 does not. */
const BLOCK_ON_FAILURE = { onFailure: "block" };

/** Events whose hooks wait for an answer. All others only report. */
const ASKING: readonly HookEvent[] = [
  "Elicitation",
  "PermissionRequest",
  "PostToolBatch",
  "PreToolUse",
  "SessionEnd",
];

/** Matchers of some hooks. A hook for a typed /compact is not needed, and would appear in the transcript. */
const MATCHERS: Partial<Record<HookEvent, string>> = { PreCompact: "auto", PostCompact: "auto" };

/**
 * Events with many small payloads: a line of the answer, some hundred bytes. The shell reads such a payload itself, byte
 * by byte. Up to about 3,000 bytes that is faster than starting `cat`; a million bytes take a third of a second.
 */
const SHORT: readonly HookEvent[] = ["MessageDisplay"];
const IS_SHORT = "short";

/**
 * Marks a payload with a prompt. Claude Code waits for this hook, so the shell reads the payload itself, in 4 ms in place
 * of 7 ms for `cat`, unless a long prompt has been sent.
 */
const IS_PROMPT = "prompt";
/** The maximum length of a prompt that the shell itself reads, in UTF-16 units. */
export const LONGEST_SHORT_PROMPT = 1500;

/** The text that a hook announces instead of its payload's name if it cannot write the payload. */
export const UNHEARD = "unheard";

/** Marks a payload of the status line, which names no event. */
export const STATUS_LINE = "status-line";

/** Marks a payload whose hook waits for an answer. The number of the caller's hook follows. */
export const ASKS = "asks";
/** The answer with which such a hook forbids the event's action. */
export const FORBID = "veto";
/** Ending of the file that holds an answer too long for a line; its name begins with the payload's. */
export const REPLY_SUFFIX = ".reply";

/**
 * Returns the script of all our hooks. It only copies bytes: it writes the payload to a file of its own and announces the
 * file with one line on the FIFO. Payloads on the FIFO itself would mix if they are longer than 4096 bytes. A hook that
 * asks waits for a line on a FIFO of its own, and prints it. A longer answer is in a file by then.
 *
 * A hook that asks and gets no answer exits with its CODE: 2 forbids the event's action. After any other code, and after a
 * signal, Claude Code's rules would decide.
 *
 * The shell that Claude Code starts for a hook, always /bin/sh (2.1.330), sources the script. Another shell would take
 * longer to start.
 *
 * FIFOs are opened for reading and writing, which never blocks, so a hook that only reports ends even if the run was
 * killed. Each line begins with a line feed, so that it does not continue a line that another program has begun.
 *
 * The script uses the system's programs. Claude Code gives a hook the PATH of the caller or of the project's settings, or
 * an empty one (2.1.330).
 *
 * @param options.own the folder of the FIFO and the payloads
 * @param options.secret proves that a line on the FIFO comes from this script
 * @param options.pid the process that answers; no hook waits after its end
 */
export function hookScript(
  { own, secret, pid }: {
    readonly own: string;
    readonly secret: string;
    readonly pid: number;
  },
): string {
  return `#!/bin/sh
# usage: hook [${ASKS} NUMBER|${END}|- CODE | ${STATUS_LINE} | ${IS_SHORT} | ${IS_PROMPT}], the payload on stdin
PATH=/usr/bin:/bin\${PATH:+:$PATH}
umask 077
d=${shellQuote(own)}
s=${shellQuote(secret)}
n=$$
[ "$2" != ${END} ] || n=${END}
p="$d/payloads/$n"
# Whether the hook runs in another pid namespace than claude-print, whose pid then means nothing here.
is_elsewhere() {
  here=$(readlink /proc/self/ns/pid) && [ -f "$d/${OWNER_FILE}" ] && ! grep -qF "\"$here\"" "$d/${OWNER_FILE}"
}
# Every failure ends here: a full disk, a missing folder, no further process, a limit.
unheard() {
  printf '\\n%s ${UNHEARD}\\n' "$s" 1<> "$d/hooks.fifo"
  refuse "$@"
}
refuse() {
  trap - EXIT
  [ "$3" != 2 ] || echo 'claude-print cannot ask whether this may be done' >&2
  exit "\${3:-0}"
}
trap 'unheard "$@"' EXIT
trap 'refuse "$@"' HUP INT TERM
# A write beyond the limit of file sizes fails instead of killing the shell.
trap '' XFSZ
if [ "$1" = ${ASKS} ]; then
  # A killed process remains as a zombie until its parent reaps it.
  { IFS= read -r run < /proc/${pid}/stat; } 2> /dev/null || is_elsewhere || refuse "$@"
  case \${run##*)} in ' '[ZX]*) refuse "$@" ;; esac
fi
if [ "$1" = ${IS_SHORT} ] || [ "$2" = ${END} ] || { [ "$1" = ${IS_PROMPT} ] && ! [ -e "$d/long-prompts" ]; }; then
  while IFS= read -r line || [ "$line" ]; do printf '%s\\n' "$line" || exit; done > "$p" || exit
else
  # Without a locale, cat starts sooner.
  LC_ALL=C cat > "$p" || exit
fi
# After the announcement the payload may be removed at any time.
if [ "$1" != ${ASKS} ]; then
  printf '\\n%s %s %s\\n' "$s" "$$" "$1" 1<> "$d/hooks.fifo"
  trap - EXIT
  exit 0
fi
[ -p "$p${ANSWER_SUFFIX}" ] || mkfifo "$p${ANSWER_SUFFIX}" || exit
exec 3<> "$p${ANSWER_SUFFIX}"
printf '\\n%s %s ${ASKS} %s\\n' "$s" "$n" "$2" 1<> "$d/hooks.fifo"
IFS= read -r answer <&3 || exit
case $answer in
  ${FORBID}) refuse "$@" ;;
  ?*) printf '%s\\n' "$answer" || exit ;;
  *) if [ -f "$p${REPLY_SUFFIX}" ]; then cat "$p${REPLY_SUFFIX}" && rm -f "$p${REPLY_SUFFIX}" || exit; fi ;;
esac
trap - EXIT
exit 0
`;
}

/**
 * Returns the `hooks` setting that registers the script for some events.
 *
 * PostToolBatch comes when the tools of one answer have returned, before the next API request. SessionStart comes before
 * the first API request, which waits for the hook's answer.
 *
 * @param options.matchers further matchers, by event
 * @param options.held further events whose hooks wait for an answer
 * @param options.marksLong whether a long prompt is marked before it is sent
 * @param options.callbacks the caller's own hooks; each gets a hook of ours in its place
 * @param options.asksCaller whether the caller is asked for permissions
 */
export function hookSettings(
  scriptPath: string,
  { events, matchers = {}, held, marksLong = false, callbacks = [], asksCaller = false }: {
    readonly events: readonly HookEvent[];
    readonly matchers?: Partial<Record<HookEvent, string>>;
    readonly held: readonly HookEvent[];
    readonly marksLong?: boolean;
    readonly callbacks?: readonly HookOccasion[];
    readonly asksCaller?: boolean;
  },
): JsonObject {
  // A map, because the caller may name an event `__proto__`.
  const settings = new Map<string, readonly JsonObject[]>();
  const add = (
    event: string,
    { matcher, mark, ...rest }: {
      readonly matcher: string | undefined;
      readonly mark: string;
      readonly timeout: number;
      readonly statusMessage?: string;
      readonly onFailure?: string;
    },
  ) => {
    const command = hookCommand(scriptPath, mark);
    const matched = matcher === undefined ? {} : { matcher };
    settings.set(event, [
      ...settings.get(event) ?? [],
      { ...matched, hooks: [{ type: "command", command, ...rest }] },
    ]);
  };
  for (const event of events) {
    const asks = ASKING.includes(event) || held.includes(event);
    const asking = askingMark(event, event === "SessionEnd" ? END : "-");
    const reporting = marksLong && event === "UserPromptSubmit" ? IS_PROMPT : "";
    add(event, {
      matcher: matchers[event] ?? MATCHERS[event],
      mark: asks ? asking : SHORT.includes(event) ? IS_SHORT : reporting,
      timeout: timeoutOf(event, { asksCaller }),
    });
  }
  for (const [place, { event, matcher }] of callbacks.entries()) {
    const mark = askingMark(event, `${place}`);
    add(event, {
      ...(mayForbid(event) ? BLOCK_ON_FAILURE : {}),
      ...{ matcher, mark, timeout: CALLER_TIMEOUT_S, statusMessage: CALLBACK_NAME },
    });
  }
  return Object.fromEntries(settings);
}

/** The arguments of the script for a hook that waits for an answer: its number, and its exit code without an answer. */
function askingMark(event: string, place: string): string {
  return `${ASKS} ${place} ${mayForbid(event) ? 2 : 0}`;
}

function timeoutOf(event: HookEvent, { asksCaller }: { readonly asksCaller: boolean }): number {
  if (event === "SessionEnd") return SESSION_END_TIMEOUT_S;
  const mayAsk = event === "Elicitation" || (event === "PermissionRequest" && asksCaller);
  return mayAsk ? CALLER_TIMEOUT_S : TIMEOUT_S;
}

/**
 * Returns the `statusLine` setting, by which the script receives the child's cost. Claude Code runs it 0.3 s after the last
 * change, and when it redraws the line.
 */
export function statusLineSetting(scriptPath: string): JsonObject {
  return { type: "command", command: hookCommand(scriptPath, STATUS_LINE) };
}

/** Makes the hook's shell source the script, with the mark as its arguments. */
function hookCommand(scriptPath: string, mark: string): string {
  return `${mark === "" ? "" : `set -- ${mark}; `}. ${shellQuote(scriptPath)}`;
}
