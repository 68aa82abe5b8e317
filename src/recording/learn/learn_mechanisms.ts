import { isJsonObject, type JsonObject, jsonObjects } from "../../json_object.ts";
import { parseJsonObject } from "../../claude/wire/json_text.ts";
import type { LoggedRequest } from "./messages_api.ts";
import { runPrint } from "./run_print.ts";
import { openScene, type Scene, type SceneOptions, type Subject } from "./subject.ts";
import { drainFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { kill, waitFor } from "../../../ffi/processes/process.ts";
import type { SignalName } from "../../../ffi/processes/signals.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";
import { openPty } from "../../../ffi/terminal/pty.ts";

/**
 * Texts that the TUI does not send as they are if the socket is not exact: shell commands, slash commands, words that
 * quit, control characters.
 */
const TEXTS = [
  "!echo hi",
  "/help",
  " /help",
  "/usr/bin/x is a path",
  "/nosuchcommand x",
  "@nofile here",
  '{"type":"x"}',
  "# memory",
  "exit",
  "zero\u200bwidth and trailing \n",
  '<pasted_content id="1">\nx',
  "tab\tcr\r\nnul\u0000 esc\u001b[1m",
];

/** Measures whether the socket delivers every text unchanged as a message of its own. */
export async function measureExactSocket(subject: Subject): Promise<boolean> {
  await using scene = await openSocketScene(subject);
  await using child = startInteractive(subject, scene);
  using talk = await connect(child, scene.socketPath);
  if (talk === undefined) return false;
  for (const text of TEXTS) {
    await talk.send(text);
    // One at a time: the TUI may join texts that wait at the same time.
    if (!await child.until(() => hasReached(scene, text), { deadlineMs: REACH_MS })) return false;
    if (!await child.until(() => statusOf(scene, child) === "idle")) return false;
  }
  return true;
}

/** The maximum time until a text reaches the model, in milliseconds. A text that became a command never reaches it. */
const REACH_MS = 8000;

/** Mechanisms of the interactive Claude Code. */
interface Mechanisms {
  /** The socket takes plain texts. */
  readonly socket: boolean;
  /** The Stop hook runs, and gets the path of the transcript. */
  readonly stopHook: boolean;
  /** The status file says `busy` and `idle`. */
  readonly statusFile: boolean;
  /** The status line has the cost of the session. */
  readonly statusLine: boolean;
  /** The status line runs again when the help is shown and hidden. */
  readonly statusLineOnRequest: boolean;
  /** The transcript has a line for each request, with model and tools. */
  readonly writesRequests: boolean;
}

/** Runs a turn of the interactive Claude Code. Its settings log each hook and each status line. */
export async function measureMechanisms(subject: Subject): Promise<Mechanisms> {
  const hook = (file: string) => ({
    type: "command",
    command: `cat >> "$HOME/${file}"; echo >> "$HOME/${file}"`,
  });
  await using scene = await openSocketScene(subject, {
    configFiles: {
      "settings.json": JSON.stringify({
        hooks: { Stop: [{ hooks: [hook("stops")] }] },
        statusLine: hook("lines"),
      }),
    },
  });
  await using child = startInteractive(subject, scene);
  using talk = await connect(child, scene.socketPath);
  const lines = () => objectsIn(`${scene.path}/lines`);
  const stops = () => objectsIn(`${scene.path}/stops`);
  const seen = new Set<string>();
  const ends = (count: number) => () => {
    seen.add(statusOf(scene, child) ?? "");
    return stops().length >= count && statusOf(scene, child) === "idle";
  };
  await talk?.send("[[wait 300]][[say the first answer]]");
  const socket = talk !== undefined && await child.until(ends(1));
  const hasCost = ({ cost }: JsonObject) =>
    isJsonObject(cost) && Number(cost["total_cost_usd"]) > 0;
  const statusLine = await child.until(() => lines().some(hasCost));
  // Waits until no more status lines arrive.
  for (let count = -1; count !== lines().length;) {
    count = lines().length;
    await pause(800);
  }
  const before = lines().length;
  child.type("?\x7f");
  const statusLineOnRequest = await child.until(() => lines().length > before, {
    deadlineMs: 3000,
  });
  return {
    socket,
    stopHook: stops().length > 0,
    statusFile: seen.has("busy") && seen.has("idle"),
    statusLine,
    statusLineOnRequest,
    writesRequests: stops().some(({ transcript_path: path }) =>
      objectsIn(String(path)).some((line) => JSON.stringify(line).includes('"api-request"'))
    ),
  };
}

/** Measures the permission mode in which `claude -p` starts by default. */
export async function measureStartMode(subject: Subject): Promise<unknown> {
  const { frames } = await runPrint(subject, { args: ["[[say one]]"] });
  return frames.find(({ subtype }) => subtype === "init")?.["permissionMode"];
}

/** Measures whether `claude -p` prints frames of a skill's subagent. */
export async function measureTypedSkills(subject: Subject): Promise<boolean> {
  const { frames } = await runPrint(subject, {
    args: ["/busy now"],
    files: {
      ".claude/skills/busy/SKILL.md":
        "---\nname: busy\ndescription: Works\ncontext: fork\n---\n[[say found]]\n",
    },
  });
  return frames.some(({ parent_tool_use_id: parent }) => typeof parent === "string");
}

/** Measures whether a failing hook with `onFailure` blocks a tool. */
export async function measureBlockingHooks(subject: Subject): Promise<boolean> {
  const { frames } = await runPrint(subject, {
    args: ["[[bash echo one]][[say done]]", "--allowedTools", "Bash"],
    configFiles: {
      "settings.json": JSON.stringify({
        hooks: {
          PreToolUse: [{ hooks: [{ type: "command", command: "exit 1", onFailure: "block" }] }],
        },
      }),
    },
  });
  const results = frames.filter(({ type }) => type === "user");
  return results.length > 0 && JSON.stringify(results).includes('"is_error":true');
}

function hasReached(scene: Scene, text: string): boolean {
  return scene.requests.some((request) => textsOf(request).includes(text));
}

/** The texts of the last user message of a request. */
function textsOf({ body }: LoggedRequest): readonly unknown[] {
  const messages = jsonObjects(isJsonObject(body) ? body["messages"] : undefined);
  const last = messages.findLast(({ role }) => role === "user")?.["content"];
  return Array.isArray(last) ? last.filter(isJsonObject).map(({ text }) => text) : [last];
}

/** The status in the program's status file. */
function statusOf(scene: Scene, { pid }: Interactive): string | undefined {
  const [file] = objectsIn(`${scene.config}/sessions/${pid}.json`);
  return typeof file?.["status"] === "string" ? file["status"] : undefined;
}

/** The JSON objects in a file, one a line. */
function objectsIn(path: string): readonly JsonObject[] {
  return readTextIfThere(path).split("\n").map(parseJsonObject).filter((each) =>
    each !== undefined
  );
}

function readTextIfThere(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The client end of the socket through which `claude agents` sends replies. */
interface Talk extends Disposable {
  /** Sends a prompt. */
  readonly send: (text: string) => Promise<void>;
}

const SECRET = "secret of one measurement";

/** Opens a scene in which the interactive Claude Code listens for prompts on a socket. */
async function openSocketScene(
  subject: Subject,
  options: SceneOptions = {},
): Promise<Scene & { readonly socketPath: string }> {
  const scene = await openScene(subject, options);
  const socketPath = `${scene.path}/s`;
  const env = {
    ...scene.env,
    CLAUDE_CODE_SANDBOXED: "1",
    CLAUDE_BG_BACKEND: "daemon",
    CLAUDE_BG_RENDEZVOUS_SOCK: socketPath,
    CLAUDE_BG_RV_AUTH: SECRET,
  };
  return { ...scene, env, socketPath };
}

/** Connects to the socket once it exists; undefined if it never does. */
async function connect(
  interactive: Interactive,
  socketPath: string,
): Promise<Talk | undefined> {
  let connection: Deno.UnixConn | undefined;
  await interactive.until(async () => {
    connection = await Deno.connect({ transport: "unix", path: socketPath }).catch(() => undefined);
    return connection !== undefined;
  });
  if (connection === undefined) return undefined;
  const open = connection;
  const send = async (line: Readonly<Record<string, unknown>>) => {
    let bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
    while (bytes.length > 0) bytes = bytes.subarray(await open.write(bytes));
  };
  await send({ role: "claude-print", auth: SECRET });
  return {
    send: (text) => send({ type: "reply", text, nextTurn: true }),
    [Symbol.dispose]: () => open.close(),
  };
}

/** The interactive Claude Code in a pseudo-terminal of its own. Disposing it kills it. */
interface Interactive extends AsyncDisposable {
  readonly pid: number;
  /** Its output so far, with escape sequences. */
  readonly output: () => string;
  readonly type: (text: string) => void;
  readonly signal: (name: SignalName) => void;
  /** Whether it has ended. */
  readonly hasEnded: () => boolean;
  /**
   * Waits until a condition holds.
   *
   * @returns false if it does not hold within the deadline, or when the program ends
   */
  readonly until: (
    holds: () => boolean | Promise<boolean>,
    options?: { readonly deadlineMs?: number },
  ) => Promise<boolean>;
}

const SIZE = { rows: 50, cols: 160 };
/** Time between reads of the terminal. */
const READ_MS = 10;
const DEADLINE_MS = 60_000;

/** Starts the measured Claude Code in a pseudo-terminal in a scene. */
function startInteractive(
  subject: Subject,
  scene: Scene,
  { args = [] }: { readonly args?: readonly string[] } = {},
): Interactive {
  subject.signal.throwIfAborted();
  const pty = openPty(SIZE);
  const pid = spawn(subject.binary, {
    args: [...args],
    env: scene.env,
    cwd: scene.project,
    pty,
  });
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(65_536);
  let output = "";
  let ended = false;
  const read = () => {
    drainFd(pty.fd, {
      buffer,
      onBytes: (bytes) => {
        output += decoder.decode(bytes, { stream: true });
      },
    });
    if (!ended) ended = waitFor(pid) !== undefined;
  };
  const timer = setInterval(read, READ_MS);
  const until: Interactive["until"] = async (holds, { deadlineMs = DEADLINE_MS } = {}) => {
    const deadline = performance.now() + deadlineMs;
    while (!await holds()) {
      subject.signal.throwIfAborted();
      if (performance.now() > deadline) return false;
      if (ended) return await holds();
      await new Promise((resolve) => setTimeout(resolve, READ_MS));
    }
    return true;
  };
  return {
    pid,
    output: () => output,
    type: (text) => {
      writeFd(pty.fd, new TextEncoder().encode(text));
    },
    signal: (name) => {
      if (!ended) kill(pid, name);
    },
    hasEnded: () => ended,
    until,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      scene.kill();
      for (let round = 0; round < 100 && !ended; round++) {
        read();
        if (!ended) await new Promise((resolve) => setTimeout(resolve, READ_MS));
      }
      pty[Symbol.dispose]();
    },
  };
}
