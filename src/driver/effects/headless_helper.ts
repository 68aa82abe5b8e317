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
import type { Consulted } from "../../conversation/control/input.ts";
import type { JsonObject } from "../../json_object.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";
import { applyArgumentChanges, applyFlagSettings } from "../../sandbox/child/changed_arguments.ts";

/** What a helper needs beside its plan. */
interface HelperOptions {
  readonly plan: HelperPlan;
  readonly binary: string;
  readonly cwd: string;
  /** The child's config dir, of which the helper sees what the user has written, and the session. */
  readonly configDir: string;
  readonly sessionId: string;
  /** Whether the child has resumed the session, its transcript if there is one, and the model as the child names it. */
  readonly isResumed: boolean;
  readonly transcript: () => string | undefined;
  readonly model: () => string | undefined;
  /** A line of the transcript with what the conversation has used, where that is known. */
  readonly costNote: () => JsonObject | undefined;
  /** Called when something was said. */
  readonly onArrival: () => void;
  /** How long it may wait for its MCP servers, in milliseconds, if not as long as usual. */
  readonly serversMs?: number;
}

/**
 * How long answers may take, in milliseconds: 0.4 s were measured, a count of tokens asks the API some 30 times, and of an MCP
 * server that is set and mute it is said after 30 s of its own that it cannot be reached.
 */
const ANSWER_LIMIT_MS = 40_000;
/** How long it may wait for its MCP servers before it is asked about them all the same: for one that is mute it waits 30 s. */
const SERVERS_WAIT_MS = 15_000;
/** How long one that has answered is kept for further questions, in milliseconds: callers ask several as they begin. */
const IDLE_MS = 10_000;
/** How long one with MCP servers may take to end by itself, in milliseconds. */
const EXIT_MS = 1000;
/** How long its last words may take once it has ended, in milliseconds. */
const DRAIN_MS = 1000;
/** Most characters of one line that are read, and how many of the last ones of stderr are kept. */
const LONGEST_LINE = 32 * 1024 * 1024;
const STDERR_TAIL = 4096;
/** How a helper uses the session. */
type SessionUse = Pick<HelperConversation, "startsSession" | "writesTranscript">;

/** What of the child's config dir a helper has to see beside what is linked there. */
const LINKED = ["settings.json", "projects", "file-history"];
/**
 * Asks a headless Claude Code what it would say of itself, its settings and the session: it is started like the child, in
 * a config dir of its own, without hooks and without MCP servers, is given no prompt, and writes no transcript but that of
 * a session that it is to begin. One is started for all that is asked at a time, and answers what is asked later too, as
 * long as `KEPT_MS` and the session allow. What it notes in the session it notes in a copy, as long as the child writes to
 * the transcript.
 */
export class HeadlessHelper implements AsyncDisposable {
  readonly #options: HelperOptions;
  readonly #queued: { readonly request: ControlRequest; readonly changes?: ChildChanges }[] = [];
  #answers: { readonly id: string; readonly said: Consulted }[] = [];
  #running: Promise<void> | undefined;
  #child: Deno.ChildProcess | undefined;
  /** Takes a further question to the one that lives; false where it cannot answer that as one would that is started now. */
  #askRunning:
    | ((request: ControlRequest, changes: ChildChanges | undefined) => boolean)
    | undefined;
  #notes: readonly Note[] = [];
  #isDisposed = false;

  constructor(options: HelperOptions) {
    this.#options = options;
  }

  /**
   * Asks the one that lives, if it can answer, or else another one as soon as what was asked before has been answered,
   * together with what else a caller asks at once.
   *
   * @param changes what is otherwise by now than the child was started with, where that counts
   */
  ask(request: ControlRequest, changes?: ChildChanges): void {
    if (this.#queued.length === 0 && this.#askRunning?.(request, changes)) return;
    this.#queued.push({ request, ...(changes === undefined ? {} : { changes }) });
    this.#running ??= this.#answerQueued();
  }

  /** What was said since the last time. */
  takeAnswers(): readonly { readonly id: string; readonly said: Consulted }[] {
    return this.#answers.splice(0);
  }

  /** Adds to the transcript what commands have noted in the session, once nobody else writes there any more. */
  writeNotes(): void {
    const noted = this.#notes;
    this.#notes = [];
    writeNotes(noted, this.#options);
  }

  /** Ends the one that is at it, and nothing reads or says any more what it is asked for. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    if (this.#child !== undefined) killGroup(this.#child.pid, "SIGKILL");
    await this.#running;
  }

  /**
   * Has it do, in place of a talk, what arguments say.
   *
   * @returns its exit code, and what it has said by its end
   */
  async runArguments(
    args: readonly string[],
  ): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
    const { plan } = this.#options;
    const silent = { startsSession: false, writesTranscript: false };
    this.#prepareConfigDir(plan, silent);
    const formats = ["--input-format=text", "--output-format=text", "--strict-mcp-config"];
    const child = this.#start(plan, [...formats, ...this.#sessionArgs(plan, silent), ...args]);
    const late = setTimeout(() => killGroup(child.pid, "SIGKILL"), ANSWER_LIMIT_MS);
    // What it has started may hold its ends of these for as long as it likes.
    const unread = new AbortController();
    let rest: ReturnType<typeof setTimeout> | undefined;
    try {
      await child.stdin.close().catch(() => {});
      const words = Promise.all(
        [child.stdout, child.stderr].map((stream) => readTail(stream, unread.signal)),
      );
      const { code } = await child.status;
      rest = setTimeout(() => unread.abort(), DRAIN_MS);
      const [stdout = "", stderr = ""] = (await words).map((text) =>
        text.replaceAll(plan.configDir, plan.userConfigDir)
      );
      return { code, stdout, stderr };
    } finally {
      this.#child = undefined;
      clearTimeout(late);
      clearTimeout(rest);
    }
  }

  async #answerQueued(): Promise<void> {
    await Promise.resolve();
    while (this.#queued.length > 0 && !this.#isDisposed) {
      // A command is asked for alone: what it says last is a result, as is what follows NO_QUESTION, which is to be
      // noted in no session.
      const command = this.#queued.findIndex(({ request }) =>
        request.subtype === SLASH_COMMAND || writesToSession(request)
      );
      const asked = this.#queued.splice(0, command < 0 ? this.#queued.length : command || 1);
      const open = new Map(asked.map(({ request }, place) => [String(place), request]));
      const answer = ({ place, said }: HelperAnswer) => {
        const request = open.get(place);
        if (request === undefined) return;
        if (!("isUndescribed" in said)) open.delete(place);
        this.#answers.push({ id: request.id, said });
        this.#options.onArrival();
      };
      let why = "it ended before it answered";
      try {
        why = await this.#converse(open, { changes: asked[0]?.changes, answer }) ?? why;
      } catch (error) {
        why = error instanceof Error ? error.message : String(error);
      }
      for (const place of [...open.keys()]) {
        const failure = `a headless Claude Code could not be asked: ${why}`;
        answer({ place, said: { failure } });
      }
    }
    this.#running = undefined;
  }

  /**
   * @param open what is asked and not answered, to which further questions are added
   * @returns why not all of it was answered, where that is known
   */
  async #converse(
    open: Map<string, ControlRequest>,
    { changes, answer: pass }: {
      readonly changes: ChildChanges | undefined;
      readonly answer: (told: HelperAnswer) => void;
    },
  ): Promise<string | undefined> {
    const plan = applyChanges(this.#options.plan, changes);
    const talk = openHelperConversation(open, plan.agents);
    const session = this.#sessionArgs(plan, talk);
    const cost = talk.needsCost ? this.#options.costNote() : undefined;
    const answer = cost === undefined ? pass : (told: HelperAnswer) => pass(markCost(told));
    const placed = this.#prepareConfigDir(plan, talk, cost);
    const written = this.#transcriptVersion();
    const child = this.#start(plan, [
      ...[...open.values()].flatMap(({ args = [] }) => args),
      ...(talk.startsServers ? plan.serverArgs : ["--strict-mcp-config"]),
      ...session,
    ]);
    // What it has started may hold its ends of these for as long as it likes.
    const unread = new AbortController();
    let isLate = false;
    let limit: ReturnType<typeof setTimeout> | undefined;
    const kill = () => killGroup(child.pid, "SIGKILL");
    const bound = () => {
      clearTimeout(limit);
      const late = () => {
        isLate = true;
        kill();
      };
      limit = open.size > 0 ? setTimeout(late, ANSWER_LIMIT_MS) : setTimeout(kill, IDLE_MS);
    };
    let rest: ReturnType<typeof setTimeout> | undefined;
    const ended = child.status.then(() => {
      this.#askRunning = undefined;
      rest = setTimeout(() => unread.abort(), DRAIN_MS);
    });
    const complaints = readTail(child.stderr, unread.signal);
    const writer = child.stdin.getWriter();
    const say = async (lines: readonly unknown[]) => {
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
      if (text !== "") await writer.write(new TextEncoder().encode(text)).catch(() => {});
    };
    let count = open.size;
    this.#askRunning = (request, further) => {
      const isSame = this.#transcriptVersion() === written && !differ(changes, further);
      const lines = isSame ? talk.ask?.(`${count}`, request) : undefined;
      if (lines === undefined) {
        if (open.size === 0) kill();
        return false;
      }
      open.set(`${count++}`, request);
      bound();
      void say(lines);
      return true;
    };
    bound();
    let why = "";
    try {
      await this.#exchange(child.stdout, {
        plan,
        talk,
        unread: unread.signal,
        isDone: () => {
          if (open.size > 0) return false;
          bound();
          return talk.ask === undefined || this.#queued.length > 0 || this.#isDisposed;
        },
        answer,
        say,
      });
      await writer.close().catch(() => {});
    } finally {
      this.#askRunning = undefined;
      // Its servers end with it where it ends by itself.
      const leave = setTimeout(kill, talk.startsServers || talk.writesTranscript ? EXIT_MS : 0);
      await ended;
      this.#child = undefined;
      clearTimeout(leave);
      clearTimeout(limit);
      why = await complaints;
      clearTimeout(rest);
    }
    if (talk.writesTranscript) {
      const { configDir } = this.#options;
      const added = findNotes({
        helperDir: plan.configDir,
        configDir,
        before: placed,
        commandsAlone: talk.writesCommandsOnly,
      });
      this.#notes = [...this.#notes, ...added];
    }
    talk.finalAnswers().forEach(answer);
    if (isLate) return `it took more than ${ANSWER_LIMIT_MS / 1000} s`;
    return why.trim().split("\n").at(-1)?.slice(0, 300) || undefined;
  }

  /** What tells whether the child has written to the transcript; the same as before if not. */
  #transcriptVersion(): string | undefined {
    const path = this.#options.transcript();
    return path === undefined ? undefined : `${fileAt(path)?.size} ${path}`;
  }

  #start(plan: HelperPlan, further: readonly string[]): Deno.ChildProcess {
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
    const child = startWithCredentials(() => command.spawn());
    this.#child = child;
    return child;
  }

  /** Says and hears all that there is, as far as it comes to that. */
  async #exchange(
    stdout: Deno.ChildProcess["stdout"],
    { plan, talk, unread, isDone, answer, say }: {
      readonly plan: HelperPlan;
      readonly talk: HelperConversation;
      readonly unread: AbortSignal;
      readonly isDone: () => boolean;
      readonly answer: (told: HelperAnswer) => void;
      readonly say: (lines: readonly unknown[]) => Promise<void>;
    },
  ): Promise<void> {
    const { serversMs = SERVERS_WAIT_MS } = this.#options;
    const waiting = setTimeout(() => void say(talk.takeServerQuestions()), serversMs);
    const [own = "", users = ""] = [plan.configDir, plan.userConfigDir].map(escapeJson);
    try {
      await say(talk.firstLines);
      for await (const line of readLines(stdout, unread)) {
        const frame = parseFrame(line.replaceAll(own, users));
        if (frame === undefined) continue;
        const heard = talk.receive(frame);
        heard.answers?.forEach(answer);
        await say(heard.send ?? []);
        if (heard.isDone || isDone()) break;
      }
      talk.takeDeferred().forEach(answer);
    } finally {
      clearTimeout(waiting);
    }
  }

  /** Arguments that say which session it has, and whether it writes there. */
  #sessionArgs(
    plan: HelperPlan,
    { startsSession, writesTranscript }: SessionUse,
  ): readonly string[] {
    // The session that it begins is gone on with, and knows nothing of the one before.
    if (startsSession) return [];
    const resuming = this.#resumeArgs(plan, { writesTranscript });
    if (!writesTranscript) return ["--no-session-persistence", ...resuming];
    return resuming.length > 0 ? resuming : [`--session-id=${this.#options.sessionId}`];
  }

  /** Arguments with which it knows what has been said so far; a transcript names a model without its window. */
  #resumeArgs(
    plan: HelperPlan,
    { writesTranscript }: Pick<SessionUse, "writesTranscript">,
  ): readonly string[] {
    const { sessionId, isResumed, transcript, model } = this.#options;
    const isThere = transcript() !== undefined || this.#notes.length > 0;
    // What a fork goes on with is there before the fork is.
    const session = writesTranscript || isThere ? sessionId : plan.resumed ?? sessionId;
    const name = plan.args.some((argument) => argument.startsWith("--model")) ? undefined : model();
    return isResumed || isThere
      ? [`--resume=${session}`, ...(name === undefined ? [] : [`--model=${name}`])]
      : [];
  }

  /**
   * Makes its config dir anew: what Claude Code has written there before says nothing of now, but for what is to be added
   * to the session.
   *
   * @returns what is there of the session
   */
  #prepareConfigDir(
    { configDir, settings }: HelperPlan,
    { startsSession, writesTranscript }: SessionUse,
    cost?: JsonObject,
  ): PlacedFiles {
    const { configDir: from, sessionId, ...others } = this.#options;
    removeFolder(configDir);
    Deno.mkdirSync(configDir, { mode: 0o700 });
    // What it writes there comes home with what the child does.
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
    // The child makes and removes files there meanwhile, such as a lock: what is listed may be gone at the next look.
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

/** An answer of one that was told what the conversation has used. */
function markCost({ place, said }: HelperAnswer): HelperAnswer {
  return "response" in said
    ? { place, said: { ...said, response: { ...said.response, hasCost: true } } }
    : { place, said };
}

/** Whether changes differ in what a headless Claude Code says anything of: it is asked to do nothing for which a mode counts. */
function differ(before: ChildChanges = {}, after: ChildChanges = {}): boolean {
  const [one, other] = [before, after].map(({ permissionMode: _, ...changes }) =>
    JSON.stringify(changes)
  );
  return one !== other;
}

/** A stream as text, until it ends or nobody reads it any more. */
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

/** The last characters of a stream of text. */
async function readTail(...[stream, unread]: Parameters<typeof decodeStream>): Promise<string> {
  let last = "";
  for await (const text of decodeStream(stream, unread)) last = (last + text).slice(-STDERR_TAIL);
  return last;
}

/** The lines of a stream of text, as they come. */
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

/** How a headless Claude Code is started that is to say of itself what the child would. */
export interface HelperPlan {
  readonly args: readonly string[];
  /** Further ones with which it starts the MCP servers of the child, but for those in the caller's own process. */
  readonly serverArgs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The session that the child resumes, if it does: that of a fork is another one. */
  readonly resumed?: string;
  /** Its own `CLAUDE_CONFIG_DIR`, in which it may write what it likes, and the user's, in whose place that is. */
  readonly configDir: string;
  readonly userConfigDir: string;
  /** Its settings, where its arguments say they are; hooks are switched off besides. */
  readonly settings: { readonly path: string; readonly values: JsonObject };
  /** Agents that the child has in files: it is told of them as `claude -p` is. */
  readonly agents?: JsonObject;
}

/**
 * How a headless Claude Code is started that says what the next child would: with what the caller has asked to be
 * otherwise since the child of now was started, but for MCP servers, which are in files that are written for a child.
 */
function applyChanges(plan: HelperPlan, changes: ChildChanges = {}): HelperPlan {
  const { path, values } = plan.settings;
  return {
    ...plan,
    args: applyArgumentChanges(plan.args, changes),
    settings: { path, values: applyFlagSettings(values, changes.flagSettings) },
  };
}
