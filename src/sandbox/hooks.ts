import type { JsonObject } from "./json_object.ts";

/** The hooks a run may register; all of them are known to Claude Code 2.1.168 and later. */
export type HookEvent =
  | "PermissionRequest"
  | "PostToolBatch"
  | "SessionStart"
  | "Stop"
  | "StopFailure"
  | "UserPromptSubmit";

/** Seconds a hook of ours may take before Claude Code gives it up: it only writes a file and a line. */
const TIMEOUT_S = 60;

/** What the model is told when it needs a permission that nobody is there to give. */
export const DENIAL_MESSAGE = "This tool use requires approval, and nobody is there to give it.";

const DENIAL = {
  hookSpecificOutput: {
    hookEventName: "PermissionRequest",
    decision: {
      behavior: "deny",
      message: DENIAL_MESSAGE,
    },
  },
};

/** The reply that ends a turn. */
const STOP = { continue: false, stopReason: "The limit of turns is reached" };

/**
 * What a line of the debug log about an MCP server looks like. That a server's tools are on offer is told by the
 * remark on its channel notifications, some 40 ms after its connection (2.1.197 and 2.1.330).
 */
const MCP_LINE = '[[]DEBUG] MCP server ".*": ';
const MCP_PAUSE_S = 0.05;
/** Time until a connected server's tools are part of the next request; without it some runs miss them. */
const MCP_SETTLE_S = 0.2;
/** `claude -p` waits for about 2 s. */
const MCP_TRIES = 2 / MCP_PAUSE_S;

/** What a hook announces in the place of its payload's name when it cannot write one. */
export const UNHEARD = "unheard";

/** A string as one word of the shell. */
export function shellQuote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * The script behind every hook: the payload goes into a file of its own, because payloads longer than a pipe's
 * atomic 4096 bytes would mix, and one line on the FIFO announces it.
 *
 * The FIFO is opened for reading and writing, which never blocks: a hook outlives a run that was killed. The line
 * begins with an end, so that what a stranger has begun there does not become part of it.
 *
 * Its programs are the system's, whatever PATH the caller or the project's settings name: Claude Code gives a hook
 * theirs, and an empty one if there is none (2.1.197 and 2.1.330).
 *
 * With `limit` only the call that ends the turn is announced: no Stop follows it (2.1.168 to 2.1.330).
 *
 * @param secret proves that a line on the FIFO comes from this script
 */
export function hookScript(secret: string): string {
  return `#!/bin/sh
# usage: hook [deny | wait SERVERS LOG | limit TURNS | count-anew], the payload on stdin
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
case $1 in
  limit)
    # A subagent's payload says so in front; what tools were given and returned comes behind.
    sed 's/"hook_event_name".*//' "$p" | grep -q '"agent_id"' && rm -f "$p" && exit 0
    printf . >> "$d/turns"
    [ "$(wc -c < "$d/turns")" -lt "$2" ] && rm -f "$p" && exit 0 ;;
  # A task in the background starts a turn of its own.
  count-anew) grep -q '"background_tasks":[[]{' "$p" && rm -f "$d/turns" ;;
esac
printf '\\n%s %s\\n' "$s" "$$" 1<> "$d/hooks.fifo"
case $1 in
  deny) printf '%s\\n' ${shellQuote(JSON.stringify(DENIAL))} ;;
  limit) printf '%s\\n' ${shellQuote(JSON.stringify(STOP))} ;;
  wait)
    tries=0
    while [ "$tries" -lt ${MCP_TRIES} ]; do
      begun=$(grep -c '${MCP_LINE}Starting connection' "$3" 2>/dev/null)
      done=$(grep -cE '${MCP_LINE}(Channel notifications|Connection failed)' "$3" 2>/dev/null)
      [ "\${begun:-0}" -ge "$2" ] && [ "\${done:-0}" -ge "\${begun:-0}" ] && break
      tries=$((tries + 1))
      sleep ${MCP_PAUSE_S}
    done
    sleep ${MCP_SETTLE_S} ;;
esac
exit 0
`;
}

/** MCP servers that the first request to the model has to wait for. */
export interface McpGate {
  /** How many there are at least. */
  readonly servers: number;
  /** The debug log in which Claude Code tells of their connections. */
  readonly log: string;
}

/**
 * The `hooks` setting that registers the script for some events.
 *
 * With an MCP gate SessionStart is held until the servers are connected or 2 s have passed, as `claude -p`
 * waits: the interactive Claude Code sends the first request without them.
 *
 * PostToolBatch comes when the tools of one answer have returned, before the next request to the model: with
 * `maxTurns` the turn ends there after so many requests, as in `claude -p --max-turns`.
 */
export function hookSettings(
  scriptPath: string,
  options: {
    readonly events: readonly HookEvent[];
    readonly gate: McpGate | undefined;
    readonly maxTurns?: number | undefined;
  },
): JsonObject {
  const { events, gate, maxTurns } = options;
  return Object.fromEntries(events.map((event) => {
    let mode = "";
    if (event === "PermissionRequest") mode = " deny";
    if (event === "SessionStart" && gate !== undefined) {
      mode = ` wait ${gate.servers} ${shellQuote(gate.log)}`;
    }
    if (event === "PostToolBatch" && maxTurns !== undefined) mode = ` limit ${maxTurns}`;
    if (event === "Stop" && maxTurns !== undefined) mode = " count-anew";
    const command = `exec /bin/sh ${shellQuote(scriptPath)}${mode}`;
    return [event, [{ hooks: [{ type: "command", command, timeout: TIMEOUT_S }] }]];
  }));
}
