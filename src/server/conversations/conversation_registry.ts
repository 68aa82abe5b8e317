import { CliError } from "../../cli_error.ts";
import type { holdConversation } from "../../library/hold_conversation.ts";
import { libraryRequest } from "../../library/library_request.ts";
import { openConversation, type TurnResult } from "../../library/open_conversation.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { EventLogLimits } from "./event_log.ts";
import { ServerConversation } from "./server_conversation.ts";
import type { ConversationProfile } from "../server_profiles.ts";
import { DrainingError, FullError, NoSpaceError } from "../problems.ts";

export interface RegistryOptions {
  /** Carries conversations out, with a warm child or a new one. */
  readonly hold: typeof holdConversation;
  readonly env: Environment;
  /** The default working directory. */
  readonly cwd: string;
  /** A private folder for events and cassettes. */
  readonly folder: string;
  readonly eventLimits?: EventLogLimits;
  /** The maximum number of conversations and runs at the same time. */
  readonly limit: number;
}

/** Counts since the start of the server. */
interface RegistryCounts {
  readonly opened: number;
  readonly runs: number;
  readonly refused: number;
  /** The number of turns, and their cost in US dollars. */
  readonly turns: number;
  readonly costUsd: number;
}

/** The conversations and runs of a server. */
export class ConversationRegistry implements AsyncDisposable {
  readonly #options: RegistryOptions;
  readonly #conversations = new Map<string, ServerConversation>();
  /** Running runs, each with a promise of its end. */
  readonly #runs = new Map<AsyncDisposable, Promise<void>>();
  #counts: RegistryCounts = { opened: 0, runs: 0, refused: 0, turns: 0, costUsd: 0 };
  #isDraining = false;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** The maximum number of conversations and runs at the same time. */
  get limit(): number {
    return this.#options.limit;
  }

  /** The number of conversations and runs that have not ended. */
  get activeCount(): number {
    return this.#runs.size + this.openConversations;
  }

  /** The number of conversations that have not ended. */
  get openConversations(): number {
    return this.list().filter(({ hasEnded: isOver }) => !isOver).length;
  }

  /** Whether the server accepts no new conversations and runs. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  get counts(): RegistryCounts {
    return this.list().reduce((sum, { state }) => addCounts(sum, state), this.#counts);
  }

  /** All conversations, including those that have ended, the oldest first. */
  list(): readonly ServerConversation[] {
    return [...this.#conversations.values()];
  }

  get(id: string): ServerConversation | undefined {
    return this.#conversations.get(id);
  }

  /**
   * Opens a conversation. Its child starts immediately and waits for the first message.
   *
   * @param options.resume the session to continue
   * @throws {FullError} at the limit, and {@linkcode DrainingError} when the server is about to end
   * @throws {CliError} when the profile cannot be honoured
   */
  async open(
    profile: ConversationProfile,
    { resume }: { readonly resume?: string | undefined } = {},
  ): Promise<ServerConversation> {
    const args = [...profile.args, ...(resume === undefined ? [] : [`--resume=${resume}`])];
    const { folder, hold, env } = this.#options;
    await checkArguments(args);
    const cwd = this.#admit(profile.cwd);
    const id = crypto.randomUUID();
    const cassette = profile.record ? `${folder}/${id}.cassette` : undefined;
    let conversation: ServerConversation;
    try {
      conversation = new ServerConversation({
        id,
        profile: { ...profile, cwd },
        cassette,
        eventsPath: `${folder}/${id}.events`,
        eventLimits: this.#options.eventLimits,
        open: {
          hold,
          cwd,
          env: { ...env, ...profile.env },
          args: [...args, ...(cassette === undefined ? [] : [`--record=${cassette}`])],
          warm: true,
          asks: profile.asks,
          replays: profile.replay_user_messages,
        },
      });
    } catch (cause) {
      const why = (cause as Error).message;
      throw new NoSpaceError(`Cannot keep the conversation's events: ${why}`, cause);
    }
    this.#conversations.set(id, conversation);
    this.#counts = { ...this.#counts, opened: this.#counts.opened + 1 };
    this.#removeOldest();
    return conversation;
  }

  /**
   * Runs one prompt.
   *
   * @param options.gone ends the run when it is aborted
   * @param options.onBegun called when there is a child
   * @throws {FullError} at the limit, and {@linkcode DrainingError} when the server is about to end
   * @throws {CliError} when it cannot be run
   */
  async run(
    prompt: string,
    { args, cwd: requestedCwd, gone, onBegun }: {
      readonly args: readonly string[];
      readonly cwd: string | undefined;
      readonly gone: AbortSignal;
      readonly onBegun: () => void;
    },
  ): Promise<TurnResult> {
    const { hold, env } = this.#options;
    await checkArguments(args);
    const cwd = this.#admit(requestedCwd);
    const conversation = openConversation({
      ...{ hold, args, cwd, env },
      signal: gone,
      onTerminal: onBegun,
    });
    const ended = Promise.withResolvers<void>();
    this.#runs.set(conversation, ended.promise);
    try {
      const result = await conversation.send(prompt).result;
      const cost = result.frame.total_cost_usd ?? 0;
      const { runs, turns, costUsd } = this.#counts;
      this.#counts = {
        ...this.#counts,
        runs: runs + 1,
        turns: turns + 1,
        costUsd: costUsd + cost,
      };
      return result;
    } finally {
      // The result does not wait for the end of the child.
      conversation[Symbol.asyncDispose]().finally(() => {
        this.#runs.delete(conversation);
        ended.resolve();
      });
    }
  }

  /** Ends a conversation and forgets it. */
  async remove(conversation: ServerConversation): Promise<void> {
    if (!this.#conversations.delete(conversation.id)) return;
    this.#counts = addCounts(this.#counts, conversation.state);
    await conversation[Symbol.asyncDispose]();
  }

  /** Accepts no new conversations and runs, and resolves when all messages and runs have their results. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await Promise.all([
      ...this.#runs.values(),
      ...this.list().map((conversation) => conversation.close()),
    ]);
  }

  /** Ends all conversations and runs immediately. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDraining = true;
    const runs = [...this.#runs.keys()].map((run) => run[Symbol.asyncDispose]());
    await Promise.all([...runs, ...this.list().map((conversation) => this.remove(conversation))]);
  }

  /**
   * Checks that one more conversation or run is allowed, and returns its working directory. The caller must begin it
   * before any `await`, because another one may take its place otherwise.
   */
  #admit(cwd = this.#options.cwd): string {
    checkFolder(cwd);
    if (!this.#isDraining && this.activeCount < this.#options.limit) return cwd;
    this.#counts = { ...this.#counts, refused: this.#counts.refused + 1 };
    throw this.#isDraining
      ? new DrainingError("Cannot begin anything: the server is about to end", "Ask its successor")
      : new FullError(
        `Cannot begin anything: there are ${this.#options.limit} conversations and runs already`,
        "Try again later, or DELETE a conversation",
      );
  }

  /** Removes the oldest ended conversations until their number is within the limit. */
  #removeOldest(): void {
    const ended = this.list().filter(({ hasEnded: isOver }) => isOver);
    for (const conversation of ended.slice(0, Math.max(0, ended.length - this.#options.limit))) {
      void this.remove(conversation);
    }
  }
}

function addCounts(
  counts: RegistryCounts,
  { turns, costUsd }: { readonly turns: number; readonly costUsd: number },
): RegistryCounts {
  return { ...counts, turns: counts.turns + turns, costUsd: counts.costUsd + costUsd };
}

/** @throws {CliError} for arguments that a run does not accept */
async function checkArguments(args: readonly string[]): Promise<void> {
  const broken = args.find((each) => each.includes("\0"));
  if (broken !== undefined) {
    throw new CliError(`Cannot start a run: ${JSON.stringify(broken)} holds a NUL character`, {
      suggestion: "Leave it out: no program can be given one",
    });
  }
  await libraryRequest(args, { caller: "converse()" });
}

/** @throws {CliError} when it is not a folder that this user can enter */
function checkFolder(cwd: string): void {
  let why = cwd.startsWith("/") ? "it is not a folder" : "it is no path from the root";
  try {
    if (cwd.startsWith("/") && Deno.statSync(cwd).isDirectory) return;
  } catch (error) {
    why = error instanceof Deno.errors.NotFound
      ? "it does not exist"
      : "it is out of this user's reach";
  }
  throw new CliError(`Cannot work in ${cwd}: ${why}`, {
    suggestion: 'Name a folder that exists and that you may enter, as "cwd"',
  });
}
