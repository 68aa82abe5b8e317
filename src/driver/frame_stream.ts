import { type Entry, parseEntry } from "../transcript/entry.ts";
import { sessionListingOf } from "../transcript/session_listing.ts";
import type { Frame } from "../wire/frame.ts";
import { framesOfEntry } from "../wire/frames_of_entry.ts";
import { initFrame } from "../wire/init_frame.ts";

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
  readonly emit: (frame: Frame) => void;
}

/** Turns the lines of a growing transcript into frames, beginning with `system/init`. */
export class FrameStream {
  readonly #options: FrameStreamOptions;
  readonly #entries: Entry[] = [];
  readonly #toolNames = new Map<string, string>();
  #model: string | undefined;
  #version: string | undefined;
  #begun = false;

  constructor(options: FrameStreamOptions) {
    this.#options = options;
  }

  /** Takes the model as SessionStart names it, with the `[1m]` that the API does not say. */
  setModel(model: string): void {
    this.#model = model;
  }

  /** Takes the next line and emits the frames it gives. */
  push(line: string): void {
    const entry = parseEntry(line);
    if (entry === undefined) return;
    this.#entries.push(entry);
    if (entry.type === "other") return;
    this.#version ??= entry.version;
    if (this.#version === undefined) return;
    if (entry.type === "assistant") {
      for (const block of entry.message.content) {
        const { id, name } = block;
        if (block.type === "tool_use" && typeof id === "string" && typeof name === "string") {
          this.#toolNames.set(id, name);
        }
      }
    }
    const frames = framesOfEntry(entry, {
      version: this.#version,
      sessionId: this.#options.sessionId,
      newUuid: () => crypto.randomUUID(),
      toolNames: this.#toolNames,
      denialMessages: this.#options.denialMessages,
    });
    if (frames.length > 0) this.begin(this.#version);
    for (const frame of frames) this.#options.emit(frame);
  }

  /** Whether the transcript holds the prompt, and with it all that is told about the session at its start. */
  get prompted(): boolean {
    return this.#entries.some((entry) => entry.type === "user" && entry.meaning === "prompt");
  }

  /** Emits `system/init`, once, with what is known by now. */
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
  }

  /** Emits `system/init` if nothing has given rise to it yet: a run always begins with it. */
  async finish(): Promise<void> {
    if (!this.#begun) this.begin(this.#version ?? await this.#options.fallbackVersion());
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
