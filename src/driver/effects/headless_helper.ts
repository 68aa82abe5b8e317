import { fileAt } from "../../../ffi/files/at_path.ts";
import { stopIgnoringSigchld } from "../../../ffi/processes/own_signals.ts";
import { killGroup } from "../../../ffi/processes/process.ts";
import {
  copyTranscript,
  findNotes,
  findTranscript,
  type Note,
  type PlacedFiles,
  readProjectFiles,
  writeNotes,
} from "./helper_transcript.ts";
import {
  type HelperConversation,
  openHelperConversation,
  writesToSession,
} from "./helper_conversation.ts";
import { escapeJson, type HelperAnswer, parseFrame } from "./helper_protocol.ts";
import { startWithCredentials } from "../../sandbox/child/passed_credentials.ts";
import { USERS_PART } from "../../sandbox/folder/folder_layout.ts";
import { removeFolder } from "../../sandbox/remove_folder.ts";
import { SLASH_COMMAND } from "../../conversation/protocol/requests/slash_commands.ts";
import type { ChildChanges } from "../../conversation/control/effect.ts";
import type { HelperReply } from "../../conversation/control/input.ts";
import type { JsonObject } from "../../json_object.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";
import { applyArgumentChanges, applyFlagSettings } from "../../sandbox/child/changed_arguments.ts";

/** The options of a helper in addition to its plan. */
interface HelperOptions {
  readonly plan: HelperPlan;
  readonly binary: string;
  readonly cwd: string;
  /** The child's config dir. The helper sees the user's files in it, and the session. */
  readonly configDir: string;
  readonly sessionId: string;
  /** Whether the child has resumed the session. */
  readonly isResumed: boolean;
  /** Path of the child's transcript. */
  readonly transcript: () => string | undefined;
  /** The model, as the child names it. */
  readonly model: () => string | undefined;
  /** A transcript line with the cost and usage of the conversation so far. */
  readonly costNote: () => JsonObject | undefined;
  /** Called when answers have arrived. */
  readonly onArrival: () => void;
  /** How long the helper may wait for its MCP servers, in milliseconds; by default 15 s. */
  readonly serversMs?: number;
}

/**
 * The maximum time for an answer, in milliseconds. The measured time is 0.4 s. A count of tokens makes some 30 requests
 * to the API, and Claude Code abandons an MCP server that does not answer within 30 s.
 */
const ANSWER_LIMIT_MS = 40_000;
/**
 * The time in milliseconds after which questions about MCP servers are asked although some servers have not connected.
 */
const SERVERS_WAIT_MS = 15_000;
/** How long an idle helper is kept for further questions, in milliseconds. SDKs ask several when they start. */
const IDLE_MS = 10_000;
/** How long a helper may take to exit after its last answer, in milliseconds. */
const EXIT_MS = 1000;
/** How long the output of an ended helper is read, in milliseconds. Its descendants may keep the pipes open. */
const DRAIN_MS = 1000;
/** The maximum number of characters of a line. */
const LONGEST_LINE = 32 * 1024 * 1024;
/** The number of characters that are kept from the end of a stream. */
const TAIL_LENGTH = 4096;
/** Parts of the child's config dir that a helper also sees, in addition to the links in it. */
const LINKED = ["settings.json", "projects", "file-history"];

/** How a helper uses the session. */
type SessionUse = Pick<HelperConversation, "startsSession" | "writesTranscript">;

/** A request, and the caller's changes since the child was started. */
interface QueuedRequest {
  readonly request: ControlRequest;
  readonly changes?: ChildChanges;
}

/** The helper's reply to one request, and the id of that request. */
interface RequestAnswer {
  readonly id: string;
  readonly said: HelperReply;
}

/**
 * Answers requests that the TUI cannot answer, such as the list of models, by a headless `claude -p`.
 *
 * A helper is started like the child, but in a config dir of its own, without hooks, and without MCP servers unless a
 * request is about them. It gets no prompt. One helper answers all requests that are queued when it starts, and later
 * requests until it has been idle for `IDLE_MS`, while the session does not change. It writes to a copy of the
 * transcript, because the child writes to the original.
 */
export class HeadlessHelper implements AsyncDisposable {
  readonly #options: HelperOptions;
  readonly #queued: QueuedRequest[] = [];
  #answers: RequestAnswer[] = [];
  #running: Promise<void> | undefined;
  #process: HelperProcess | undefined;
  /** Asks the running helper; false if only a new one can answer. */
  #askRunning:
    | ((request: ControlRequest, changes: ChildChanges | undefined) => boolean)
    | undefined;
  #notes: readonly Note[] = [];
  #isDisposed = false;

  constructor(options: HelperOptions) {
    this.#options = options;
  }

  /**
   * Asks the running helper if it can answer, and otherwise a new helper after the earlier requests.
   *
   * @param changes the caller's changes since the child was started, if the answer depends on them
   */
  ask(request: ControlRequest, changes?: ChildChanges): void {
    if (this.#queued.length === 0 && this.#askRunning?.(request, changes)) return;
    this.#queued.push({ request, ...(changes === undefined ? {} : { changes }) });
    this.#running ??= this.#answerQueued();
  }

  /** Takes the answers since the last call. */
  takeAnswers(): readonly RequestAnswer[] {
    return this.#answers.splice(0);
  }

  /** Writes the notes of commands into the child's transcript, after the child has ended. */
  writeNotes(): void {
    const notes = this.#notes;
    this.#notes = [];
    writeNotes(notes, this.#options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#process?.kill();
    await this.#running;
  }

  /**
   * Runs a headless Claude Code with further arguments and without input, until it ends.
   *
   * @returns its exit code and the ends of its output
   */
  async runArguments(
    args: readonly string[],
  ): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
    const { plan } = this.#options;
    const use = { startsSession: false, writesTranscript: false };
    this.#prepareConfigDir(plan, use);
    const formats = ["--input-format=text", "--output-format=text", "--strict-mcp-config"];
    const helper = this.#start(plan, [...formats, ...this.#sessionArgs(plan, use), ...args]);
    await helper.closeInput();
    const [stdout = "", stderr = ""] = (await Promise.all([
      helper.readTail(),
      helper.end({ graceMs: ANSWER_LIMIT_MS }),
    ])).map((text) => text.replaceAll(plan.configDir, plan.userConfigDir));
    const { code } = await helper.status;
    return { code, stdout, stderr };
  }

  async #answerQueued(): Promise<void> {
    // One helper answers all requests that a caller sends together.
    await Promise.resolve();
    while (this.#queued.length > 0 && !this.#isDisposed) {
      const asked = this.#takeBatch();
      const open = new Map(asked.map(({ request }, place) => [String(place), request]));
      const answer = ({ place, said }: HelperAnswer) => {
        const request = open.get(place);
        if (request === undefined) return;
        if (!("isUndescribed" in said)) open.delete(place);
        this.#answers.push({ id: request.id, said });
        this.#options.onArrival();
      };
      let reason = "it ended before it answered";
      try {
        reason = await this.#converse(open, { changes: asked[0]?.changes, answer }) ?? reason;
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      for (const place of [...open.keys()]) {
        const failure = `a headless Claude Code could not be asked: ${reason}`;
        answer({ place, said: { failure } });
      }
    }
    this.#running = undefined;
  }

  /**
   * Takes the requests for one helper. A command, or a request that writes to the session, has a helper of its own: a
   * result ends a command, and `EMPTY_MESSAGE` also has a result, which must not be written to the session.
   */
  #takeBatch(): readonly QueuedRequest[] {
    const alone = this.#queued.findIndex(({ request }) =>
      request.subtype === SLASH_COMMAND || writesToSession(request)
    );
    return this.#queued.splice(0, alone < 0 ? this.#queued.length : alone || 1);
  }

  /**
   * Starts a helper, asks it, and waits until it has ended.
   *
   * @param open the requests without an answer; further questions are added
   * @returns why some have no answer, if known
   */
  async #converse(
    open: Map<string, ControlRequest>,
    { changes, answer: pass }: {
      readonly changes: ChildChanges | undefined;
      readonly answer: (answer: HelperAnswer) => void;
    },
  ): Promise<string | undefined> {
    const plan = applyChanges(this.#options.plan, changes);
    const conversation = openHelperConversation(open, plan.agents);
    const session = this.#sessionArgs(plan, conversation);
    const cost = conversation.needsCost ? this.#options.costNote() : undefined;
    const answer = cost === undefined ? pass : (given: HelperAnswer) => pass(markCost(given));
    const placed = this.#prepareConfigDir(plan, conversation, cost);
    const version = this.#transcriptVersion();
    const helper = this.#start(plan, [
      ...[...open.values()].flatMap(({ args = [] }) => args),
      ...(conversation.startsServers ? plan.serverArgs : ["--strict-mcp-config"]),
      ...session,
    ]);
    const setLimit = () => helper.setLimit({ isIdle: open.size === 0 });
    let count = open.size;
    this.#askRunning = (request, further) => {
      const isSame = this.#transcriptVersion() === version && !differ(changes, further);
      const lines = isSame ? conversation.ask?.(`${count}`, request) : undefined;
      if (lines === undefined) {
        if (open.size === 0) helper.kill();
        return false;
      }
      open.set(`${count++}`, request);
      setLimit();
      void helper.send(lines);
      return true;
    };
    setLimit();
    let complaint = "";
    try {
      const isDone = () => {
        if (open.size > 0) return false;
        setLimit();
        return conversation.ask === undefined || this.#queued.length > 0 || this.#isDisposed;
      };
      await this.#exchange(helper, { plan, conversation, isDone, answer });
      await helper.closeInput();
    } finally {
      this.#askRunning = undefined;
      // A helper that exits also ends its MCP servers.
      const ends = conversation.startsServers || conversation.writesTranscript;
      complaint = await helper.end({ graceMs: ends ? EXIT_MS : 0 });
    }
    if (conversation.writesTranscript) this.#keepNotes(conversation, { plan, placed });
    conversation.finalAnswers().forEach(answer);
    if (helper.isLate) return `it took more than ${ANSWER_LIMIT_MS / 1000} s`;
    return complaint.trim().split("\n").at(-1)?.slice(0, 300) || undefined;
  }

  /** Keeps the lines that a helper has written to its copy of the session. */
  #keepNotes(
    { writesCommandsOnly }: HelperConversation,
    { plan, placed }: { readonly plan: HelperPlan; readonly placed: PlacedFiles },
  ): void {
    const added = findNotes({
      helperDir: plan.configDir,
      configDir: this.#options.configDir,
      before: placed,
      commandsAlone: writesCommandsOnly,
    });
    this.#notes = [...this.#notes, ...added];
  }

  /** A text that changes whenever the child writes to the transcript. */
  #transcriptVersion(): string | undefined {
    const path = this.#options.transcript();
    return path === undefined ? undefined : `${fileAt(path)?.size} ${path}`;
  }

  #start(plan: HelperPlan, further: readonly string[]): HelperProcess {
    stopIgnoringSigchld();
    const command = new Deno.Command(this.#options.binary, {
      args: [...plan.args, ...further],
      env: plan.env,
      clearEnv: true,
      cwd: this.#options.cwd,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      detached: true,
    });
    const helper = new HelperProcess(startWithCredentials(() => command.spawn()), () => {
      this.#process = undefined;
      this.#askRunning = undefined;
    });
    this.#process = helper;
    return helper;
  }

  /** Sends lines and receives frames until all requests are answered or the helper ends. */
  async #exchange(
    helper: HelperProcess,
    { plan, conversation, isDone, answer }: {
      readonly plan: HelperPlan;
      readonly conversation: HelperConversation;
      readonly isDone: () => boolean;
      readonly answer: (answer: HelperAnswer) => void;
    },
  ): Promise<void> {
    const { serversMs = SERVERS_WAIT_MS } = this.#options;
    const waiting = setTimeout(
      () => void helper.send(conversation.takeServerQuestions()),
      serversMs,
    );
    const [own = "", users = ""] = [plan.configDir, plan.userConfigDir].map(escapeJson);
    try {
      await helper.send(conversation.firstLines);
      for await (const line of helper.readLines()) {
        const frame = parseFrame(line.replaceAll(own, users));
        if (frame === undefined) continue;
        const reaction = conversation.receive(frame);
        reaction.answers?.forEach(answer);
        await helper.send(reaction.send ?? []);
        if (reaction.isDone || isDone()) break;
      }
      conversation.takeDeferred().forEach(answer);
    } finally {
      clearTimeout(waiting);
    }
  }

  /** The arguments that name the session, and whether the helper writes its transcript. */
  #sessionArgs(
    plan: HelperPlan,
    { startsSession, writesTranscript }: SessionUse,
  ): readonly string[] {
    // The child resumes the new session afterwards. It contains nothing of the previous session.
    if (startsSession) return [];
    const resuming = this.#resumeArgs(plan, { writesTranscript });
    if (!writesTranscript) return ["--no-session-persistence", ...resuming];
    return resuming.length > 0 ? resuming : [`--session-id=${this.#options.sessionId}`];
  }

  /**
   * The arguments that resume the session, if it has a transcript. The transcript names the model without its context
   * window.
   */
  #resumeArgs(
    plan: HelperPlan,
    { writesTranscript }: Pick<SessionUse, "writesTranscript">,
  ): readonly string[] {
    const { sessionId, isResumed, transcript, model } = this.#options;
    const isThere = transcript() !== undefined || this.#notes.length > 0;
    // Before a fork has a transcript, the helper resumes the session that is forked.
    const session = writesTranscript || isThere ? sessionId : plan.resumed ?? sessionId;
    const name = plan.args.some((argument) => argument.startsWith("--model")) ? undefined : model();
    return isResumed || isThere
      ? [`--resume=${session}`, ...(name === undefined ? [] : [`--model=${name}`])]
      : [];
  }

  /**
   * Recreates the helper's config dir, because the files of an earlier helper are out of date. Notes that are not yet
   * in the child's transcript are added to the copy.
   *
   * @returns the files of the session before the helper starts
   */
  #prepareConfigDir(
    { configDir, settings }: HelperPlan,
    { startsSession, writesTranscript }: SessionUse,
    cost?: JsonObject,
  ): PlacedFiles {
    const { configDir: from, sessionId, ...others } = this.#options;
    removeFolder(configDir);
    Deno.mkdirSync(configDir, { mode: 0o700 });
    // The helper writes the new session there. It is copied out together with the child's.
    if (startsSession) Deno.mkdirSync(`${from}/projects`, { recursive: true, mode: 0o700 });
    const text = JSON.stringify({ ...settings.values, disableAllHooks: true });
    Deno.writeTextFileSync(settings.path, text, { mode: 0o600 });
    Deno.copyFileSync(`${from}/.claude.json`, `${configDir}/.claude.json`);
    const adds = writesTranscript || (this.#notes.length > 0 && !startsSession);
    const path = adds
      ? findTranscript(from, sessionId)
      : startsSession
      ? undefined
      : others.transcript();
    const isPlaced = copyTranscript(path, { from, configDir, notes: adds, last: cost });
    if (adds) writeNotes(this.#notes, { configDir, sessionId });
    // The child creates and removes files there, such as locks, so a listed file may be missing.
    for (const { name, isSymlink } of Deno.readDirSync(from)) {
      if (name === "projects" && isPlaced) continue;
      const isWhole = isSymlink || LINKED.includes(name);
      if (
        !isWhole && !(name === "agents" && fileAt(`${from}/${name}/${USERS_PART}`) !== undefined)
      ) continue;
      Deno.symlinkSync(`${from}/${name}${isWhole ? "" : `/${USERS_PART}`}`, `${configDir}/${name}`);
    }
    return adds ? readProjectFiles(configDir) : new Map();
  }
}

/** A running headless Claude Code. */
class HelperProcess {
  readonly status: Promise<Deno.CommandStatus>;
  /** Whether the helper was killed because an answer took too long. */
  isLate = false;
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #stderr: Promise<string>;
  /** Stops reading when the helper has ended and its descendants keep the pipes open. */
  readonly #unread = new AbortController();
  #limit: ReturnType<typeof setTimeout> | undefined;
  #drain: ReturnType<typeof setTimeout> | undefined;

  constructor(child: Deno.ChildProcess, onEnd: () => void) {
    this.#child = child;
    this.#input = child.stdin.getWriter();
    this.#stderr = readTail(child.stderr, this.#unread.signal);
    this.status = child.status.then((status) => {
      onEnd();
      this.#drain = setTimeout(() => this.#unread.abort(), DRAIN_MS);
      return status;
    });
  }

  kill(): void {
    killGroup(this.#child.pid, "SIGKILL");
  }

  /**
   * Restarts the time limit after which the helper is killed: `IDLE_MS` if no request is open, `ANSWER_LIMIT_MS`
   * otherwise.
   */
  setLimit({ isIdle }: { readonly isIdle: boolean }): void {
    clearTimeout(this.#limit);
    this.#limit = setTimeout(() => {
      this.isLate ||= !isIdle;
      this.kill();
    }, isIdle ? IDLE_MS : ANSWER_LIMIT_MS);
  }

  /** Sends JSON lines, unless the helper has ended. */
  async send(lines: readonly unknown[]): Promise<void> {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    if (text !== "") await this.#input.write(new TextEncoder().encode(text)).catch(() => {});
  }

  async closeInput(): Promise<void> {
    await this.#input.close().catch(() => {});
  }

  readLines(): AsyncGenerator<string> {
    return readLines(this.#child.stdout, this.#unread.signal);
  }

  /** Reads stdout to its end, and returns its last characters. */
  readTail(): Promise<string> {
    return readTail(this.#child.stdout, this.#unread.signal);
  }

  /**
   * Waits until the helper has ended, and kills it after the grace time.
   *
   * @returns the last characters of its stderr
   */
  async end({ graceMs }: { readonly graceMs: number }): Promise<string> {
    const timer = setTimeout(() => this.kill(), graceMs);
    await this.status;
    clearTimeout(timer);
    clearTimeout(this.#limit);
    const stderr = await this.#stderr;
    clearTimeout(this.#drain);
    return stderr;
  }
}

/** Marks an answer of a helper whose transcript has the cost of the conversation. */
function markCost({ place, said }: HelperAnswer): HelperAnswer {
  return "response" in said
    ? { place, said: { ...said, response: { ...said.response, hasCost: true } } }
    : { place, said };
}

/** Whether two sets of changes can lead to different answers. No answer depends on the permission mode. */
function differ(before: ChildChanges = {}, after: ChildChanges = {}): boolean {
  const [one, other] = [before, after].map(({ permissionMode: _, ...changes }) =>
    JSON.stringify(changes)
  );
  return one !== other;
}

/** Decodes a stream until it ends or `unread` is aborted. */
async function* decodeStream(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  unread: AbortSignal,
): AsyncGenerator<string> {
  try {
    yield* stream.pipeThrough(new TextDecoderStream(), { signal: unread });
  } catch (error) {
    if (!unread.aborted) throw error;
  }
}

async function readTail(...[stream, unread]: Parameters<typeof decodeStream>): Promise<string> {
  let tail = "";
  for await (const text of decodeStream(stream, unread)) tail = (tail + text).slice(-TAIL_LENGTH);
  return tail;
}

async function* readLines(
  ...[stream, unread]: Parameters<typeof decodeStream>
): AsyncGenerator<string> {
  let rest = "";
  for await (const text of decodeStream(stream, unread)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST_LINE) throw new Error("it said more than can be read");
    yield* lines;
  }
}

/** How a headless helper is started, so that its answers equal the child's. */
export interface HelperPlan {
  readonly args: readonly string[];
  /** Further arguments that start the child's MCP servers, except those in the caller's own process. */
  readonly serverArgs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The session that the child resumes, if any. A fork has another id. */
  readonly resumed?: string;
  /** The helper's own `CLAUDE_CONFIG_DIR`, and the user's config dir, which it replaces. */
  readonly configDir: string;
  readonly userConfigDir: string;
  /** The settings, and the path at which `args` names them. In addition, hooks are switched off. */
  readonly settings: { readonly path: string; readonly values: JsonObject };
  /** Agents that the child has in files. The helper gets them with `initialize`, as `claude -p` does. */
  readonly agents?: JsonObject;
}

/**
 * Adds the caller's changes since the child's start to a plan. MCP servers stay unchanged, because they are in files
 * that are written for a child.
 */
function applyChanges(plan: HelperPlan, changes: ChildChanges = {}): HelperPlan {
  const { path, values } = plan.settings;
  return {
    ...plan,
    args: applyArgumentChanges(plan.args, changes),
    settings: { path, values: applyFlagSettings(values, changes.flagSettings) },
  };
}
