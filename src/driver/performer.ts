import type { Resources, RunSessionOptions } from "./session_resources.ts";
import type { Child } from "./start_child.ts";
import type { ConversationEffect, EndEffect } from "../conversation/output/conversation.ts";
import { findRunProcesses, killRunProcesses, type RunProcesses } from "../sandbox/run_processes.ts";
import { TASK_OUTPUT } from "../conversation/protocol/requests/background_calls.ts";
import type { ControlRequest } from "../claude/wire/control.ts";
import type { DeadlineName } from "../conversation/control/input.ts";
import { parentOf } from "../paths.ts";

/** The deadlines that the machines have set, in milliseconds on the clock of their inputs. */
export class Deadlines {
  readonly #due = new Map<DeadlineName, number>();

  /** Sets one, in the place of the one of that name, or takes it back. */
  set(name: DeadlineName, due: number | undefined): void {
    if (due === undefined) this.#due.delete(name);
    else this.#due.set(name, due);
  }

  /** Puts all of them off but that of the run. */
  postpone(byMs: number): void {
    for (const [name, due] of this.#due) {
      if (name !== "timeout") this.#due.set(name, due + byMs);
    }
  }

  /** When the next one is due; infinity for none. */
  get next(): number {
    return Math.min(...this.#due.values());
  }

  /** Takes those that are due; one that is set or taken back meanwhile is not among them. */
  *take(now: () => number): Generator<DeadlineName> {
    for (const [name, due] of [...this.#due]) {
      if (due > now() || this.#due.get(name) !== due) continue;
      this.#due.delete(name);
      yield name;
    }
  }
}

/** What effects are carried out on. */
export interface PerformerOptions
  extends Pick<Resources, "terminal" | "bridges" | "rendezvous" | "shells" | "helper"> {
  readonly child: Child;
  readonly sandbox: Pick<RunSessionOptions["sandbox"], "recordGivenId">;
  /** The time, in milliseconds on the clock of inputs. */
  readonly now: () => number;
}

/** Carries out what the machines decide. What they ask for is noted: the loop answers it with an input. */
export class Performer {
  readonly deadlines = new Deadlines();
  readonly #options: PerformerOptions;
  #end: EndEffect | undefined;
  /** What a stopped turn's tools left running, once it has to be ended too. */
  #tree: RunProcesses | undefined;
  #looking = false;
  #listing = false;
  readonly #outputs: ControlRequest[] = [];

  constructor(options: PerformerOptions) {
    this.#options = options;
  }

  /** The last effect, once there was one. */
  get end(): EndEffect | undefined {
    return this.#end;
  }

  /** Carries out an effect; what is said is up to whoever takes it. */
  perform(effect: ConversationEffect): void {
    const { child, sandbox, terminal, bridges, rendezvous, shells, helper, now } = this.#options;
    switch (effect.type) {
      case "write":
        terminal.type(effect.bytes);
        break;
      case "answer":
        if (effect.veto) child.hooks.veto(effect.id);
        else child.hooks.answer(effect.id, effect.reply);
        break;
      case "consult":
        if (effect.request.subtype === TASK_OUTPUT) this.#outputs.push(effect.request);
        else helper?.ask(effect.request, effect.changes);
        break;
      case "place-image":
        placeImage(effect);
        break;
      case "deliver":
        rendezvous?.send(effect.prompt);
        break;
      case "mcp-message":
        bridges.find(({ server }) => server === effect.server)?.send(effect.message);
        break;
      case "deadline":
        this.deadlines.set(
          effect.name,
          effect.afterMs === undefined ? undefined : now() + effect.afterMs,
        );
        break;
      case "postpone":
        this.deadlines.postpone(effect.byMs);
        break;
      case "look":
        this.#looking = true;
        break;
      case "list-shells":
        this.#listing = true;
        break;
      case "resize":
        terminal.resize(effect.size);
        break;
      case "note-tools":
        this.#noteTools();
        break;
      case "kill":
        if (effect.tree) this.#noteTools();
        child.signal(effect.signal);
        // A stopped process takes no signal but SIGKILL until it goes on.
        child.signal("SIGCONT");
        if (effect.signal === "SIGKILL") this.killTools();
        break;
      case "named":
        sandbox.recordGivenId(effect);
        break;
      case "follow-shell":
        shells?.follow(effect.id);
        break;
      case "leave-shell":
        shells?.finish(effect.id);
        break;
      case "end":
        this.#end = effect;
        child.release();
        break;
      case "frame":
      case "report":
      case "log":
      case "trace":
      case "whole":
        break;
      default:
        effect satisfies never;
    }
  }

  /** Whether the screen is to be looked at, since the last call. */
  takeScreenRequest(): boolean {
    const looking = this.#looking;
    this.#looking = false;
    return looking;
  }

  /** Whether the shells that run are to be listed, since the last call. */
  takeShellsRequest(): boolean {
    const listing = this.#listing;
    this.#listing = false;
    return listing;
  }

  /** Requests for what tasks have written, since the last call. */
  takeOutputRequests(): readonly ControlRequest[] {
    return this.#outputs.splice(0);
  }

  /**
   * Ends the processes that were noted.
   *
   * @param options.inAnyCase ends what belongs to the run also where nothing was noted
   */
  killTools({ inAnyCase = false } = {}): void {
    if (inAnyCase || this.#tree !== undefined) {
      killRunProcesses(this.#options.child.marks, this.#tree);
    }
  }

  #noteTools(): void {
    this.#tree = findRunProcesses(this.#options.child.marks, this.#tree);
  }
}

/**
 * Puts an image, as base64, into a new file of the run's own. Where that cannot be done, as on a full disk, there is none:
 * its path is then pasted in vain, which the session notices.
 */
function placeImage(
  { path, data }: { readonly path: string; readonly data: string },
): void {
  try {
    Deno.mkdirSync(parentOf(path), { recursive: true, mode: 0o700 });
    Deno.writeFileSync(path, Uint8Array.fromBase64(data), { createNew: true, mode: 0o600 });
  } catch {
    // See above.
  }
}
