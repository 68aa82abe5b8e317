import type { JsonObject } from "../../json_object.ts";
import { ANSWER_SUFFIX, END } from "../folder/folder_layout.ts";
import { OWNER_FILE } from "../folder/owner.ts";
import { mayForbid } from "../../claude/settings/may_forbid.ts";
import { shellQuote } from "../../shell_quote.ts";

/** When a hook of the caller's is called: that is all the child gets to know of it. */
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
 * Seconds a hook may take that asks the caller, who may be a person: a week. Whoever waits for less time is this program.
 */
const CALLER_TIMEOUT_S = 604_800;

/**
 * What Claude Code calls such a hook where it names one, to the model and in the transcript: what `claude -p` calls those
 * of its caller. It takes the message that a person is shown while a hook runs for the hook's name (2.1.330).
 */
const CALLBACK_NAME = "callback";

/**
 * Seconds a hook of ours may take before Claude Code gives it up: it only writes a file and a line, and one that asks is
 * answered at once, or when the servers that are waited for are there.
 */
const TIMEOUT_S = 60;

/**
 * The same at the end of a session: what Claude Code gives all of its hooks there if none asks for more. A project's own
 * have no more time than with `claude -p`.
 */
const SESSION_END_TIMEOUT_S = 1.5;

/**
 * Has Claude Code count every failure of a hook as a veto, also a shell that was killed. Since 2.1.330; 2.1.280 takes no
 * notice of it.
 */
const BLOCK_ON_FAILURE = { onFailure: "block" };

/** Events whose hooks wait for an answer; the others only tell. */
const ASKING: readonly HookEvent[] = [
  "Elicitation",
  "PermissionRequest",
  "PostToolBatch",
  "PreToolUse",
  "SessionEnd",
];

/**
 * Which of their event some hooks are for: what a hook of a typed /compact is called stands in the transcript, and what
 * it tells too.
 */
const MATCHERS: Partial<Record<HookEvent, string>> = { PreCompact: "auto", PostCompact: "auto" };

/**
 * Events of which many come one after the other, while somebody looks: a line of the answer, in some hundred bytes. The
 * shell reads such a payload itself, byte by byte, which takes less time than a program does to start if there are no
 * more than some three thousand of them, and a third of a second for a million.
 */
const SHORT: readonly HookEvent[] = ["MessageDisplay"];
const IS_SHORT = "short";

/**
 * What follows the name of a payload that holds a prompt, which Claude Code keeps waiting: the shell reads it itself, in
 * 4 ms where a program took 7, as long as no long prompt has been sent.
 */
const IS_PROMPT = "prompt";
/** The longest prompt, in UTF-16 units, that the shell reads itself. */
export const LONGEST_SHORT_PROMPT = 1500;

/** What a hook announces in the place of its payload's name when it cannot write one. */
export const UNHEARD = "unheard";

/** What follows the name of a payload that is the status line's, which names no event. */
export const STATUS_LINE = "status-line";

/** What follows the name of a payload whose hook waits for an answer, and the caller's hook that it stands for. */
export const ASKS = "asks";
/** The line that has such a hook forbid what its event is about. */
export const FORBID = "veto";
/** What the file is called, after the payload, that holds what such a hook has to say. */
export const REPLY_SUFFIX = ".reply";

/**
 * The script behind every hook, which only carries bytes: the payload goes into a file of its own, because payloads
 * longer than a pipe's atomic 4096 bytes would mix, and one line on the FIFO announces it. A hook that asks waits for a
 * line on a FIFO of its own, and prints it; what is too long for one stands in a file by then.
 *
 * A hook that asks and gets no answer ends with its CODE: 2 forbids what the event is about. Any other code, and any
 * signal, would let Claude Code's rules decide.
 *
 * It is read by the shell with which Claude Code starts a hook, always /bin/sh (2.1.330), because another one
 * would take its time to start.
 *
 * FIFOs are opened for reading and writing, which never blocks: a hook that only tells outlives a run that was killed.
 * The line begins with an end, so that what a stranger has begun there does not become part of it.
 *
 * Its programs are the system's, whatever PATH the caller or the project's settings name: Claude Code gives a hook
 * theirs, and an empty one if there is none (2.1.330).
 *
 * @param options.own the folder of the FIFO and the payloads
 * @param options.secret proves that a line on the FIFO comes from this script
 * @param options.pid the process that answers: once it has been killed, nobody is waited for
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
# Every way out that is not an answer ends here: a full disk, a folder that is gone, no further process, a limit.
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
  # One that was killed may not be gone yet, as long as nobody has asked what became of it.
  { IFS= read -r run < /proc/${pid}/stat; } 2> /dev/null || is_elsewhere || refuse "$@"
  case \${run##*)} in ' '[ZX]*) refuse "$@" ;; esac
fi
if [ "$1" = ${IS_SHORT} ] || [ "$2" = ${END} ] || { [ "$1" = ${IS_PROMPT} ] && ! [ -e "$d/long-prompts" ]; }; then
  while IFS= read -r line || [ "$line" ]; do printf '%s\\n' "$line" || exit; done > "$p" || exit
else
  # A program that looks for no locale starts sooner.
  LC_ALL=C cat > "$p" || exit
fi
# Once it is announced, the payload may be gone at any time.
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
 * The `hooks` setting that registers the script for some events.
 *
 * PostToolBatch comes when the tools of one answer have returned, before the next request to the model. SessionStart
 * comes before the first request, which is held back as long as its hook has no answer.
 *
 * @param options.matchers what of their event some of them are for alone
 * @param options.held further events whose hooks wait for an answer
 * @param options.marksLong whether a long prompt is marked before it is sent
 * @param options.callbacks the caller's own hooks, each of which gets one that stands for it
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
  // A caller names events as it likes, those of every object's own properties too.
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
    const told = marksLong && event === "UserPromptSubmit" ? IS_PROMPT : "";
    add(event, {
      matcher: matchers[event] ?? MATCHERS[event],
      mark: asks ? asking : SHORT.includes(event) ? IS_SHORT : told,
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

/** The arguments of the script for a hook that waits for an answer: for whom, and its exit code without one. */
function askingMark(event: string, place: string): string {
  return `${ASKS} ${place} ${mayForbid(event) ? 2 : 0}`;
}

function timeoutOf(event: HookEvent, { asksCaller }: { readonly asksCaller: boolean }): number {
  if (event === "SessionEnd") return SESSION_END_TIMEOUT_S;
  const mayAsk = event === "Elicitation" || (event === "PermissionRequest" && asksCaller);
  return mayAsk ? CALLER_TIMEOUT_S : TIMEOUT_S;
}

/**
 * The `statusLine` setting that hands the script what the child has cost: 0.3 s after whatever changed it last, or when
 * it is drawn anew.
 */
export function statusLineSetting(scriptPath: string): JsonObject {
  return { type: "command", command: hookCommand(scriptPath, STATUS_LINE) };
}

/** Has the shell that carries it out read the script, which finds its arguments where its own would be. */
function hookCommand(scriptPath: string, mark: string): string {
  return `${mark === "" ? "" : `set -- ${mark}; `}. ${shellQuote(scriptPath)}`;
}
