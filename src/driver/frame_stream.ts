import {
  type AssistantEntry,
  type Entry,
  parseEntry,
  type UserEntry,
} from "../transcript/entry.ts";
import { isCommandText } from "../transcript/command_text.ts";
import { isJsonObject } from "../transcript/json_object.ts";
import { sessionListingOf } from "../transcript/session_listing.ts";
import { parseTaskNotification, type TaskNotification } from "../transcript/task_notification.ts";
import type { ToolUse } from "../transcript/turn.ts";
import { type ApiRetry, apiRetryFrame } from "../wire/api_retry_frame.ts";
import type { Frame } from "../wire/frame.ts";
import { framesOfEntry } from "../wire/frames_of_entry.ts";
import { initFrame } from "../wire/init_frame.ts";
import {
  startTask,
  stopTasks,
  taskFramesOfEntry,
  type Tasks,
  type TaskStep,
} from "../wire/task_frames.ts";
import type { heldResults } from "./held_results.ts";
import type { SubagentLine } from "./subagent_source.ts";
import { printedResults } from "./printed_results.ts";
import { turnResults } from "./turn_results.ts";

/** What is known of a run before its first line is written. */
export interface FrameStreamOptions {
  readonly sessionId: string;
  readonly cwd: string;
  /** Mode named on the command line, if one was. */
  readonly permissionMode: string | undefined;
  readonly apiKeySource: string;
  /** Where the user's automatic memory of this project is. */
  readonly memoryPath: string;
  readonly servedByAnthropic: boolean;
  /** Version to assume for a transcript that ended before it named one. */
  readonly fallbackVersion: () => Promise<string>;
  /** The texts with which this run refuses what somebody should be asked. */
  readonly denialMessages: readonly string[];
  /** The ids of shells that run, in the order of their start, and of some that ran in the background. */
  readonly runningShells: () => readonly string[];
  /** Takes each frame, and the result of each turn that another one follows. */
  readonly emit: (frame: Frame) => void;
}

/** After so long `claude -p` of 2.1.197 and 2.1.330 tells of a shell in the foreground. */
const LONG_SHELL_MS = 3000;

/**
 * Turns the lines of a growing transcript into frames: each turn begins with `system/init`.
 *
 * The result of a turn whose Stop hook named tasks in the background is emitted when the transcript says that it is
 * over. As in `claude -p` it is held back as long as a subagent runs; those that are held back at the end, and the
 * last one, are left to the caller, who knows the cost by then.
 */
export class FrameStream {
  readonly #options: FrameStreamOptions;
  readonly #entries: Entry[] = [];
  readonly #toolUses = new Map<string, ToolUse>();
  #tasks: Tasks = new Map();
  #model: string | undefined;
  #version: string | undefined;
  #begun = false;
  /** Frames that came before `system/init`. */
  readonly #early: Frame[] = [];
  /** Whether the turn's end is only that of the turn, and whether its result has to wait. */
  #stopped: ReturnType<typeof heldResults>;
  #results = 0;
  /** Lines of subagents whose call is in a line that has not been written yet. */
  readonly #uncalled: SubagentLine[] = [];
  /** Calls of shells that are waited for, by their ids. */
  readonly #shells = new Map<
    string,
    { readonly since: number; readonly description: string; readonly task?: string }
  >();
  /** Ids of all tasks so far. */
  readonly #taskIds = new Set<string>();
  #ending = false;
  /** Whether nothing that is still written belongs to the run. */
  #closed = false;

  constructor(options: FrameStreamOptions) {
    this.#options = options;
  }

  /** How many results have been emitted, which are those of as many first turns. */
  get results(): number {
    return this.#results;
  }

  /** Takes the model as SessionStart names it, with the `[1m]` that the API does not say. */
  setModel(model: string): void {
    this.#model = model;
  }

  /** Takes what a Stop hook means for the result of its turn. */
  stop(results: ReturnType<typeof heldResults>): void {
    this.#stopped = results;
  }

  /** Takes word that a request to the API is made again, and emits it. */
  retry(retry: ApiRetry): void {
    const frame = apiRetryFrame(retry, {
      sessionId: this.#options.sessionId,
      uuid: crypto.randomUUID(),
    });
    if (this.#begun) this.#options.emit(frame);
    else this.#early.push(frame);
  }

  /** Takes the next line of the session's transcript and emits the frames it gives. */
  push(line: string): void {
    const entry = parseEntry(line);
    if (entry === undefined || this.#closed) return;
    const notification = notificationIn(entry);
    // The end of the run stops tasks, and the child may still tell the model so.
    this.#closed = this.#ending && notification?.status === "killed";
    if (this.#closed) return;
    this.#entries.push(entry);
    if (entry.type !== "other") this.#version ??= entry.version;
    if (this.#version === undefined) return;
    const context = this.#context(this.#version);
    this.#take(taskFramesOfEntry(this.#tasks, entry, context));
    if (!this.#isCommandText(entry)) this.#emit(framesOfEntry(entry, context));
    if (entry.type === "assistant") {
      this.#noteShells(entry);
      this.#noteCalls(entry.message.content);
    }
    if (entry.type === "user") this.#forgetShells(entry);
    if (entry.type === "system" && entry.subtype === "turn_duration") this.#endTurn(this.#version);
    if (notification !== undefined) {
      this.#begun = false;
      this.begin(this.#version);
    }
  }

  #isCommandText(entry: Entry): boolean {
    if (entry.type !== "user" || entry.meaning !== "remark") return false;
    return this.#entries.some((other) => other.type === "user" && isCommandText(entry, other));
  }

  /** Takes the next line of a subagent's transcript and emits the frames it gives, once its call is known. */
  pushSubagent(next: SubagentLine): void {
    const { line, subagent } = next;
    const call = this.#toolUses.get(subagent.toolUseId);
    if (call === undefined || this.#version === undefined) {
      this.#uncalled.push(next);
      return;
    }
    const entry = parseEntry(line);
    // What a subagent says of being stopped is not said in its turn.
    const stopped = this.#ending && this.#tasks.get(subagent.agentId)?.background === true;
    if (entry === undefined || stopped) return;
    const input = isJsonObject(call.input) ? call.input : {};
    const background = input.run_in_background === true;
    const { agentId, toolUseId, type, description } = subagent;
    const context = {
      ...this.#context(this.#version),
      subagent: { toolUseId, agentId, type, description, background },
    };
    if (!this.#taskIds.has(agentId)) {
      this.#take(startTask(this.#tasks, {
        id: agentId,
        toolUseId,
        type: "local_agent",
        description,
        background,
        agentType: type,
        ...(typeof input.prompt === "string" ? { prompt: input.prompt } : {}),
      }, context));
    }
    this.#emit(framesOfEntry(entry, context));
    if (entry.type === "assistant") this.#noteCalls(entry.message.content);
  }

  /**
   * Looks for shells that a call has waited for so long that `claude -p` tells of them as tasks. Their ids are in no
   * line: they are told only as long as there is no doubt which is whose.
   *
   * @param now milliseconds since the epoch
   */
  watchShells(now: number): void {
    if (this.#version === undefined) return;
    const waiting = [...this.#shells].filter(([, { task }]) => task === undefined);
    if (!waiting.some(([, { since }]) => now - since >= LONG_SHELL_MS)) return;
    const ids = this.#options.runningShells().filter((id) => !this.#taskIds.has(id));
    if (ids.length !== waiting.length) return;
    for (const [index, [toolUseId, shell]] of waiting.entries()) {
      const id = ids[index];
      if (id === undefined || now - shell.since < LONG_SHELL_MS) continue;
      this.#shells.set(toolUseId, { ...shell, task: id });
      this.#take(startTask(this.#tasks, {
        id,
        toolUseId,
        type: "local_bash",
        description: shell.description,
        background: false,
      }, this.#context(this.#version)));
    }
  }

  /** Takes word that the run is ending, and with it what goes on in the background. */
  ending(): void {
    this.#ending = true;
  }

  /** Whether the transcript holds the prompt, and with it all that is told about the session at its start. */
  get prompted(): boolean {
    return this.#entries.some((entry) => entry.type === "user" && entry.meaning === "prompt");
  }

  /** Emits `system/init`, once a turn, with what is known by now. */
  begin(version = this.#version): void {
    if (this.#begun || version === undefined) return;
    this.#begun = true;
    const { options, listing } = {
      options: this.#options,
      listing: sessionListingOf(this.#entries),
    };
    this.#options.emit(initFrame({
      version,
      sessionId: options.sessionId,
      uuid: crypto.randomUUID(),
      cwd: options.cwd,
      model: this.#model ?? listing.model ?? this.#answeringModel(),
      permissionMode: options.permissionMode ?? listing.permissionMode,
      tools: listing.tools,
      mcpServers: listing.mcpServers,
      agents: listing.agents,
      skills: listing.skills,
      additionalDirectories: listing.additionalDirectories,
      apiKeySource: options.apiKeySource,
      memoryPath: options.memoryPath,
      servedByAnthropic: options.servedByAnthropic,
      analyticsDisabled: true,
      productFeedbackDisabled: true,
    }));
    for (const frame of this.#early.splice(0)) this.#options.emit(frame);
  }

  /**
   * Emits what is missing at the end: `system/init` if nothing has given rise to it yet, because a run always begins
   * with it, and the end of what still went on in the background.
   */
  async finish(): Promise<void> {
    if (!this.#begun) this.begin(this.#version ?? await this.#options.fallbackVersion());
    if (this.#version === undefined) return;
    this.#take(stopTasks(this.#tasks, new Date().toISOString(), this.#context(this.#version)));
  }

  #context(version: string) {
    return {
      version,
      sessionId: this.#options.sessionId,
      newUuid: () => crypto.randomUUID(),
      toolUses: this.#toolUses,
      denialMessages: this.#options.denialMessages,
    };
  }

  #take({ tasks, frames }: TaskStep): void {
    this.#tasks = tasks;
    for (const id of tasks.keys()) this.#taskIds.add(id);
    this.#emit(frames);
  }

  #emit(frames: readonly Frame[]): void {
    if (frames.length > 0) this.begin();
    for (const frame of frames) this.#options.emit(frame);
  }

  #noteShells({ message, timestamp }: AssistantEntry): void {
    for (const { type, id, name, input } of message.content) {
      if (type !== "tool_use" || name !== "Bash" || typeof id !== "string") continue;
      const { run_in_background: background, description, command } = isJsonObject(input)
        ? input
        : {};
      if (background === true) continue;
      const since = Date.parse(timestamp ?? "");
      if (Number.isNaN(since)) continue;
      this.#shells.set(id, { since, description: `${description ?? command ?? ""}` });
    }
  }

  #forgetShells({ message }: UserEntry): void {
    if (typeof message.content === "string") return;
    for (const { tool_use_id: id } of message.content) {
      if (typeof id === "string") this.#shells.delete(id);
    }
  }

  #noteCalls(content: readonly { readonly [field: string]: unknown }[]): void {
    for (const { type, id, name, input } of content) {
      if (type === "tool_use" && typeof id === "string" && typeof name === "string") {
        this.#toolUses.set(id, { id, name, input });
      }
    }
    for (const next of this.#uncalled.splice(0)) this.pushSubagent(next);
  }

  /** Emits the results of the turns that have ended, if the run goes on and none has to wait. */
  #endTurn(version: string): void {
    const stopped = this.#stopped;
    this.#stopped = undefined;
    if (stopped !== "printable") return;
    const { sessionId, denialMessages, emit } = this.#options;
    const printed = this.#results;
    const results = turnResults(this.#entries, { version, sessionId, printed, denialMessages });
    for (const result of printedResults(results, version)) emit(result);
    this.#results += results.length;
  }

  #answeringModel(): string | undefined {
    for (const entry of this.#entries) {
      if (entry.type === "assistant" && entry.message.model !== "<synthetic>") {
        return entry.message.model;
      }
    }
    return undefined;
  }
}

/** What the prompt of a turn says that the end of a task started. */
function notificationIn(entry: Entry): TaskNotification | undefined {
  return entry.type === "user" && entry.isSidechain !== true && entry.meaning === "prompt"
    ? parseTaskNotification(entry.message.content)
    : undefined;
}
