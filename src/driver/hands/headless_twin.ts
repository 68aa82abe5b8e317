import { fileAt } from "../../../ffi/files/at_path.ts";
import { heedChildren } from "../../../ffi/processes/own_signals.ts";
import { killGroup } from "../../../ffi/processes/process.ts";
import {
  addNotes,
  filesIn,
  type Noted,
  notedIn,
  placeCopy,
  type PlacedFiles,
  transcriptIn,
} from "./twin_transcript.ts";
import { changedTwin, type TwinPlan } from "./twin_plan.ts";
import {
  AFTER,
  answerIn,
  appliedIn,
  asInJson,
  askedLine,
  BEFORE,
  choiceOf,
  chosenAt,
  frameOf,
  inForce,
  isAboutSession,
  isInitialize,
  messageOf,
  NO_QUESTION,
  outcomeOf,
  partition,
  titleOf,
  type TwinAnswer,
} from "./twin_words.ts";
import { USERS_PART } from "../../sandbox/folder/folder_contents.ts";
import { removeFolder } from "../../sandbox/on_disk.ts";
import { COMMAND } from "../../session/control/asked_command.ts";
import { CHOOSING } from "../../session/control/choosing_model.ts";
import { RELOADING } from "../../session/control/reloading.ts";
import { RENAMING } from "../../session/control/consulting.ts";
import type { ChildChanges } from "../../session/effect.ts";
import type { Consulted } from "../../session/input.ts";
import type { JsonObject } from "../../transcript/json_object.ts";
import type { ControlRequest } from "../../wire/control.ts";

/** What a twin needs beside its plan. */
export interface TwinOptions {
  readonly plan: TwinPlan;
  readonly binary: string;
  readonly cwd: string;
  /** The child's config dir, of which the twin sees what the user has written, and the session. */
  readonly configDir: string;
  readonly sessionId: string;
  /** Whether the child has resumed the session, its transcript if there is one, and the model as the child names it. */
  readonly isResumed: boolean;
  readonly transcript: () => string | undefined;
  readonly model: () => string | undefined;
  /** Called when something was said. */
  readonly onArrival: () => void;
  /** How long it may wait for its MCP servers, in milliseconds, if not as long as usual. */
  readonly serversMs?: number;
}

/** How long answers may take, in milliseconds: 0.4 s were measured, and a count of tokens asks the API some 30 times. */
const LIMIT_MS = 30_000;
/** How long it may wait for its MCP servers before it is asked about them all the same: for one that is mute it waits 30 s. */
const SERVERS_MS = 15_000;
/** How long one with MCP servers may take to end by itself, in milliseconds. */
const LEAVE_MS = 1000;
/** How long its last words may take once it has ended, in milliseconds. */
const REST_MS = 1000;
/** Most characters of one line that are read, and how many of the last ones of stderr are kept. */
const LONGEST_LINE = 32 * 1024 * 1024;
const LAST_WORDS = 4096;
/** What of the child's config dir a twin has to see beside what is linked there. */
const SEEN = ["settings.json", "projects", "file-history"];
/** The request that tells it of agents, where nobody asks for its answer. */
const TELLING = "agents";

/**
 * Asks a headless Claude Code what it would say of itself, its settings and the session: it is started like the child, in
 * a config dir of its own, without hooks and without MCP servers, is given no prompt, writes no transcript but that of a
 * session that it is to begin, and ends once it has answered. One is started for all that is asked at a time. What it
 * notes in the session it notes in a copy, as long as the child writes to the transcript.
 */
export class HeadlessTwin implements AsyncDisposable {
  readonly #options: TwinOptions;
  readonly #asked: { readonly request: ControlRequest; readonly changes?: ChildChanges }[] = [];
  #said: { readonly id: string; readonly said: Consulted }[] = [];
  #asking: Promise<void> | undefined;
  #child: Deno.ChildProcess | undefined;
  #noted: readonly Noted[] = [];
  #isOver = false;

  constructor(options: TwinOptions) {
    this.#options = options;
  }

  /**
   * Asks as soon as what was asked before has been answered, together with what else a caller asks at once.
   *
   * @param changes what is otherwise by now than the child was started with, where that counts
   */
  ask(request: ControlRequest, changes?: ChildChanges): void {
    this.#asked.push({ request, ...(changes === undefined ? {} : { changes }) });
    this.#asking ??= this.#askAll();
  }

  /** What was said since the last time. */
  take(): readonly { readonly id: string; readonly said: Consulted }[] {
    return this.#said.splice(0);
  }

  /** Adds to the transcript what commands have noted in the session, once nobody else writes there any more. */
  bringNotes(): void {
    const noted = this.#noted;
    this.#noted = [];
    addNotes(noted, this.#options);
  }

  /** Ends the one that is at it, and nothing reads or says any more what it is asked for. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    if (this.#child !== undefined) killGroup(this.#child.pid, "SIGKILL");
    await this.#asking;
  }

  async #askAll(): Promise<void> {
    await Promise.resolve();
    while (this.#asked.length > 0 && !this.#isOver) {
      // A command is asked for alone: what it says last is a result, as is what follows NO_QUESTION, which is to be
      // noted in no session.
      const command = this.#asked.findIndex(({ request }) =>
        request.subtype === COMMAND || isNoting(request)
      );
      const asked = this.#asked.splice(0, command < 0 ? this.#asked.length : command || 1);
      const open = new Map(asked.map(({ request }, place) => [String(place), request]));
      const plan = changedTwin(this.#options.plan, asked[0]?.changes);
      const answer = (place: string, said: Consulted) => {
        const request = open.get(place);
        if (request === undefined) return;
        open.delete(place);
        this.#said.push({ id: request.id, said });
        this.#options.onArrival();
      };
      let why = "it ended before it answered";
      try {
        why = await this.#converse(plan, { open, answer }) ?? why;
      } catch (error) {
        why = error instanceof Error ? error.message : String(error);
      }
      for (const place of [...open.keys()]) {
        answer(place, { failure: `a headless Claude Code could not be asked: ${why}` });
      }
    }
    this.#asking = undefined;
  }

  /** @returns why not all of it was answered, where that is known */
  async #converse(
    plan: TwinPlan,
    { open, answer }: {
      readonly open: ReadonlyMap<string, ControlRequest>;
      readonly answer: (place: string, said: Consulted) => void;
    },
  ): Promise<string | undefined> {
    const { binary, cwd, serversMs = SERVERS_MS } = this.#options;
    const [command] = [...open.values()].filter(({ subtype }) => subtype === COMMAND);
    const [atOnce, onServers] = command === undefined ? partition(open, plan.agents) : [[], []];
    const startsServers = onServers.length > 0 || command !== undefined;
    const clears = command?.body["clears"] === true;
    const notes = [...open.values()].some(isNoting);
    const resuming = this.#resuming(plan, { notes });
    // The session that it begins is gone on with, and knows nothing of the one before.
    const session = clears
      ? []
      : notes
      ? resuming.length > 0 ? resuming : [`--session-id=${this.#options.sessionId}`]
      : ["--no-session-persistence", ...resuming];
    const placed = this.#prepare(plan, { clears, notes });
    heedChildren();
    const child = new Deno.Command(binary, {
      args: [
        ...plan.args,
        ...[...open.values()].flatMap(({ args = [] }) => args),
        ...(startsServers ? plan.serverArgs : ["--strict-mcp-config"]),
        ...session,
      ],
      env: plan.env,
      clearEnv: true,
      cwd,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      detached: true,
    }).spawn();
    this.#child = child;
    // What it has started may hold its ends of these for as long as it likes.
    const unread = new AbortController();
    let isLate = false;
    let carriedOut: Consulted | undefined;
    let noted: TwinAnswer | undefined;
    let why = "";
    const timer = setTimeout(() => {
      isLate = true;
      killGroup(child.pid, "SIGKILL");
    }, LIMIT_MS);
    let rest: ReturnType<typeof setTimeout> | undefined;
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const ended = child.status.then(() => rest = setTimeout(() => unread.abort(), REST_MS));
    const complaints = lastOf(child.stderr, unread.signal);
    try {
      const stdin = child.stdin.getWriter();
      const write = async (lines: readonly unknown[]) => {
        const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
        await stdin.write(new TextEncoder().encode(text)).catch(() => {});
      };
      waiting = setTimeout(() => void write(onServers.splice(0)), serversMs);
      const needsSession = startsServers || atOnce.some(isInitialize);
      const isTold = plan.agents === undefined || atOnce.some(isInitialize);
      await write([
        ...(isTold ? [] : [askedLine(TELLING, { subtype: "initialize", body: {} }, plan.agents)]),
        ...atOnce,
        ...(command === undefined
          ? needsSession ? [NO_QUESTION] : []
          : [notes ? inForce(BEFORE) : messageOf(command)]),
      ]);
      const [own = "", users = ""] = [plan.configDir, plan.userConfigDir].map(asInJson);
      let initialized: readonly TwinAnswer[] = [];
      let about: { readonly init?: JsonObject } | undefined;
      let init: JsonObject | undefined;
      let said: JsonObject | undefined;
      let title: string | undefined;
      let commands: unknown;
      let before: JsonObject | undefined;
      const choices = new Map<string, TwinAnswer>();
      for await (const line of linesOf(child.stdout, unread.signal)) {
        const frame = frameOf(line.replaceAll(own, users));
        if (command !== undefined) {
          if (frame?.["subtype"] === "init") init = frame;
          if (frame?.["type"] === "assistant") said = frame;
          if (notes) title = titleOf(frame) ?? title;
          if (frame?.["subtype"] === "commands_changed") commands = frame["commands"];
          if (frame?.["type"] === "result") {
            const outcome = outcomeOf(frame, { said, clears, title, commands });
            carriedOut = { ...outcome, ...(init === undefined ? {} : { init }) };
            // Its transcript is whole once it has ended.
            if (clears) break;
            if (notes) await write([inForce(AFTER)]);
            else answer("0", carriedOut);
          }
        }
        const told = frame && answerIn(frame);
        if (command !== undefined && told?.place === BEFORE) {
          before = appliedIn(told);
          // What gave the session its title before is none of its doing.
          title = undefined;
          await write([messageOf(command)]);
        }
        if (told?.place === AFTER && carriedOut !== undefined && "response" in carriedOut) {
          const response = { ...carriedOut.response, before, after: appliedIn(told) };
          carriedOut = { ...carriedOut, response };
        }
        if (told?.place === AFTER) break;
        if (told !== undefined && open.get(told.place)?.subtype === RENAMING) {
          noted = told;
          break;
        }
        if (noted !== undefined && frame?.["type"] === "result") break;
        if (told !== undefined && open.get(chosenAt(told.place))?.subtype === CHOOSING) {
          const choice = choiceOf(choices, told);
          if (choice !== undefined && notes && "response" in choice.said) {
            noted = choice;
            // It writes a choice down with the next message alone.
            await write([NO_QUESTION]);
          } else if (choice !== undefined) answer(choice.place, choice.said);
        } else if (told !== undefined && open.get(told.place)?.subtype !== "initialize") {
          const isReload = open.get(told.place)?.subtype === RELOADING;
          answer(told.place, isReload ? { ...told.said, ...about } : told.said);
        }
        // An initialization is answered once it has said what the session is like, too.
        if (told !== undefined && open.get(told.place)?.subtype === "initialize") {
          initialized = [...initialized, told];
        }
        if (isAboutSession(frame)) {
          about = frame["subtype"] === "init" ? { init: frame } : about ?? {};
        }
        if (about !== undefined) {
          for (const { place, said } of initialized) answer(place, { ...said, ...about });
        }
        // By then it has connected to its servers, as far as it waits for them.
        if (isAboutSession(frame)) await write(onServers.splice(0));
        if (open.size === 0) break;
      }
      for (const { place, said } of initialized) answer(place, said);
      await stdin.close().catch(() => {});
    } finally {
      clearTimeout(waiting);
      // Its servers end with it where it ends by itself.
      const leave = setTimeout(
        () => killGroup(child.pid, "SIGKILL"),
        startsServers || notes ? LEAVE_MS : 0,
      );
      await ended;
      this.#child = undefined;
      clearTimeout(leave);
      clearTimeout(timer);
      why = await complaints;
      clearTimeout(rest);
    }
    if (notes) {
      const { configDir } = this.#options;
      const added = notedIn({
        twinDir: plan.configDir,
        configDir,
        before: placed,
        commandsAlone: noted !== undefined && open.get(noted.place)?.subtype === CHOOSING,
      });
      this.#noted = [...this.#noted, ...added];
    }
    // By now it has written down what there is to be noted.
    if (carriedOut !== undefined) answer("0", carriedOut);
    if (noted !== undefined) answer(noted.place, noted.said);
    if (isLate) return `it took more than ${LIMIT_MS / 1000} s`;
    return why.trim().split("\n").at(-1)?.slice(0, 300) || undefined;
  }

  /** Arguments with which it knows what has been said so far; a transcript names a model without its window. */
  #resuming(plan: TwinPlan, { notes }: { readonly notes: boolean }): readonly string[] {
    const { sessionId, isResumed, transcript, model } = this.#options;
    const isThere = transcript() !== undefined || this.#noted.length > 0;
    // What a fork goes on with is there before the fork is.
    const session = notes || isThere ? sessionId : plan.resumed ?? sessionId;
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
  #prepare(
    { configDir, settings }: TwinPlan,
    { clears, notes }: { readonly clears: boolean; readonly notes: boolean },
  ): PlacedFiles {
    const { configDir: from, sessionId, ...others } = this.#options;
    removeFolder(configDir);
    Deno.mkdirSync(configDir, { mode: 0o700 });
    // What it writes there comes home with what the child does.
    if (clears) Deno.mkdirSync(`${from}/projects`, { recursive: true, mode: 0o700 });
    const text = JSON.stringify({ ...settings.values, disableAllHooks: true });
    Deno.writeTextFileSync(settings.path, text, { mode: 0o600 });
    Deno.copyFileSync(`${from}/.claude.json`, `${configDir}/.claude.json`);
    const adds = notes || (this.#noted.length > 0 && !clears);
    const path = adds ? transcriptIn(from, sessionId) : clears ? undefined : others.transcript();
    const isPlaced = placeCopy(path, { from, configDir, notes: adds });
    if (adds) addNotes(this.#noted, { configDir, sessionId });
    // The child makes and removes files there meanwhile, such as a lock: what is listed may be gone at the next look.
    for (const { name, isSymlink } of Deno.readDirSync(from)) {
      if (name === "projects" && isPlaced) continue;
      const isWhole = isSymlink || SEEN.includes(name);
      if (
        !isWhole && !(name === "agents" && fileAt(`${from}/${name}/${USERS_PART}`) !== undefined)
      ) continue;
      Deno.symlinkSync(`${from}/${name}${isWhole ? "" : `/${USERS_PART}`}`, `${configDir}/${name}`);
    }
    return adds ? filesIn(configDir) : new Map();
  }
}

/** Whether something is noted in the session because of a request. */
function isNoting({ subtype, body }: ControlRequest): boolean {
  return subtype === RENAMING || body["notes"] === true;
}

/** A stream as text, until it ends or nobody reads it any more. */
async function* textOf(
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
async function lastOf(...[stream, unread]: Parameters<typeof textOf>): Promise<string> {
  let last = "";
  for await (const text of textOf(stream, unread)) last = (last + text).slice(-LAST_WORDS);
  return last;
}

/** The lines of a stream of text, as they come. */
async function* linesOf(...[stream, unread]: Parameters<typeof textOf>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of textOf(stream, unread)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST_LINE) throw new Error("it said more than can be read");
    yield* lines;
  }
}
