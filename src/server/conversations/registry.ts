import { CliError } from "../../cli_error.ts";
import type { holdConversation } from "../../library/hold_conversation.ts";
import { libraryRequest } from "../../library/library_request.ts";
import { openConversation, type TurnResult } from "../../library/open_conversation.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { EventLogLimits } from "./event_log.ts";
import { HeldConversation } from "./held_conversation.ts";
import type { Profile } from "../profiles.ts";
import { BusyError, NoSpaceError } from "../problems.ts";

/** How conversations are held. */
export interface RegistryOptions {
  /** Who holds them. */
  readonly hold: typeof holdConversation;
  readonly env: Environment;
  /** The working directory of who names none. */
  readonly cwd: string;
  /** A private folder for events and cassettes. */
  readonly folder: string;
  /** How much of a conversation's events is kept; much by default. */
  readonly eventLimits?: EventLogLimits;
  /** How many conversations and runs there may be at once. */
  readonly most: number;
}

/** How often what is asked of a server has come about. */
export interface RegistryCounts {
  readonly opened: number;
  readonly runs: number;
  readonly refused: number;
  /** Turns and US dollars of conversations that are gone, and of runs. */
  readonly turns: number;
  readonly costUsd: number;
}

/** The conversations that a server holds for other programs. */
export class Registry implements AsyncDisposable {
  readonly #options: RegistryOptions;
  readonly #held = new Map<string, HeldConversation>();
  /** Runs under way, and when each of them is over. */
  readonly #runs = new Map<AsyncDisposable, Promise<void>>();
  #counts: RegistryCounts = { opened: 0, runs: 0, refused: 0, turns: 0, costUsd: 0 };
  #isDraining = false;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** How many there may be. */
  get most(): number {
    return this.#options.most;
  }

  /** How many there are now, those that are over left out. */
  get busy(): number {
    return this.#runs.size + this.list().filter(({ isOver }) => !isOver).length;
  }

  /** What has come about since the start, with the conversations that are there. */
  get counts(): RegistryCounts {
    return this.list().reduce((sum, { state }) => plus(sum, state), this.#counts);
  }

  /** All conversations, the oldest first, those that are over among them. */
  list(): readonly HeldConversation[] {
    return [...this.#held.values()];
  }

  /** The conversation of an id. */
  get(id: string): HeldConversation | undefined {
    return this.#held.get(id);
  }

  /**
   * Opens a conversation: Claude Code is started, and waits for the first message.
   *
   * @param options.resume the session that it goes on with
   * @throws {BusyError} when there are as many as there may be
   * @throws {CliError} when the profile cannot be honoured
   */
  async open(
    profile: Profile,
    { resume }: { readonly resume?: string | undefined } = {},
  ): Promise<HeldConversation> {
    const args = [...profile.args, ...(resume === undefined ? [] : [`--resume=${resume}`])];
    const { folder, hold, env } = this.#options;
    await checkArguments(args);
    const cwd = this.#admit(profile.cwd);
    const id = crypto.randomUUID();
    const cassette = profile.record ? `${folder}/${id}.cassette` : undefined;
    let held: HeldConversation;
    try {
      held = new HeldConversation({
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
    this.#held.set(id, held);
    this.#counts = { ...this.#counts, opened: this.#counts.opened + 1 };
    this.#forgetOldest();
    return held;
  }

  /**
   * Runs one prompt.
   *
   * @param options.gone whoever aborts it waits for no result
   * @param options.onBegun called once there is a Claude Code for it
   * @throws {BusyError} when there are as many as there may be
   * @throws {CliError} when it cannot be run
   */
  async run(
    prompt: string,
    { args, cwd: named, gone, onBegun }: {
      readonly args: readonly string[];
      readonly cwd: string | undefined;
      readonly gone: AbortSignal;
      readonly onBegun: () => void;
    },
  ): Promise<TurnResult> {
    const { hold, env } = this.#options;
    await checkArguments(args);
    const cwd = this.#admit(named);
    const conversation = openConversation({
      ...{ hold, args, cwd, env },
      signal: gone,
      onTerminal: onBegun,
    });
    const over = Promise.withResolvers<void>();
    this.#runs.set(conversation, over.promise);
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
      // The answer does not wait for what Claude Code does at its end.
      conversation[Symbol.asyncDispose]().finally(() => {
        this.#runs.delete(conversation);
        over.resolve();
      });
    }
  }

  /** Ends a conversation and forgets it. */
  async remove(held: HeldConversation): Promise<void> {
    if (!this.#held.delete(held.id)) return;
    this.#counts = plus(this.#counts, held.state);
    await held[Symbol.asyncDispose]();
  }

  /** Takes nothing new, and resolves when all that was asked has been answered. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await Promise.all([...this.#runs.values(), ...this.list().map((held) => held.close())]);
  }

  /** Ends all, whatever they do. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDraining = true;
    const runs = [...this.#runs.keys()].map((run) => run[Symbol.asyncDispose]());
    await Promise.all([...runs, ...this.list().map((held) => this.remove(held))]);
  }

  /** The working directory of something that is begun before anybody else is heard, if there is room for it. */
  #admit(cwd = this.#options.cwd): string {
    checkFolder(cwd);
    if (!this.#isDraining && this.busy < this.#options.most) return cwd;
    this.#counts = { ...this.#counts, refused: this.#counts.refused + 1 };
    throw this.#isDraining
      ? new BusyError("Cannot begin anything: the server is about to end", "Ask its successor")
      : new BusyError(
        `Cannot begin anything: there are ${this.#options.most} conversations and runs already`,
        "Try again later, or DELETE a conversation",
      );
  }

  /** Of conversations that are over no more are kept than there may be of others. */
  #forgetOldest(): void {
    const over = this.list().filter(({ isOver }) => isOver);
    for (const held of over.slice(0, Math.max(0, over.length - this.#options.most))) {
      void this.remove(held);
    }
  }
}

function plus(
  counts: RegistryCounts,
  { turns, costUsd }: { readonly turns: number; readonly costUsd: number },
): RegistryCounts {
  return { ...counts, turns: counts.turns + turns, costUsd: counts.costUsd + costUsd };
}

/** @throws {CliError} for what no run takes */
async function checkArguments(args: readonly string[]): Promise<void> {
  const broken = args.find((each) => each.includes("\0"));
  if (broken !== undefined) {
    throw new CliError(`Cannot start a run: ${JSON.stringify(broken)} holds a NUL character`, {
      suggestion: "Leave it out: no program can be given one",
    });
  }
  await libraryRequest(args, { caller: "converse()" });
}

/** @throws {CliError} when nobody can work there */
function checkFolder(cwd: string): void {
  let why = cwd.startsWith("/") ? "it is no folder" : "it is no path from the root";
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
