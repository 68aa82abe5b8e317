import type { Resources, RunSessionOptions } from "./session_resources.ts";
import type { Child } from "./start_child.ts";
import type { ConversationEffect, EndEffect } from "../conversation/output/conversation.ts";
import { findRunProcesses, killRunProcesses, type RunProcesses } from "../sandbox/run_processes.ts";
import { TASK_OUTPUT } from "../conversation/protocol/requests/background_calls.ts";
import type { ControlRequest } from "../claude/wire/control.ts";
import type { DeadlineName } from "../conversation/control/input.ts";
import { parentOf } from "../paths.ts";

/** The deadlines that the conversation has set, in milliseconds on the clock of inputs. */
export class Deadlines {
  readonly #due = new Map<DeadlineName, number>();

  /** Sets a deadline, which replaces the earlier one of that name; undefined removes it. */
  set(name: DeadlineName, due: number | undefined): void {
    if (due === undefined) this.#due.delete(name);
    else this.#due.set(name, due);
  }

  /** Postpones all deadlines except the timeout of the run. */
  postpone(byMs: number): void {
    for (const [name, due] of this.#due) {
      if (name !== "timeout") this.#due.set(name, due + byMs);
    }
  }

  /** The time of the next deadline; infinity for none. */
  get next(): number {
    return Math.min(...this.#due.values());
  }

  /** Takes the deadlines that are due. A deadline that is set again or removed during the iteration is left out. */
  *take(now: () => number): Generator<DeadlineName> {
    for (const [name, due] of [...this.#due]) {
      if (due > now() || this.#due.get(name) !== due) continue;
      this.#due.delete(name);
      yield name;
    }
  }
}

/** The objects that effects act on. */
export interface PerformerOptions
  extends Pick<Resources, "terminal" | "bridges" | "rendezvous" | "shells" | "helper"> {
  readonly child: Child;
  readonly sandbox: Pick<RunSessionOptions["sandbox"], "recordGivenId">;
  /** The time, in milliseconds on the clock of inputs. */
  readonly now: () => number;
}

/**
 * Performs effects. Requests that an input answers, such as a request for a screen, are kept until the loop takes them.
 */
export class Performer {
  readonly deadlines = new Deadlines();
  readonly #options: PerformerOptions;
  #end: EndEffect | undefined;
  /** Processes that the tools of a stopped turn may leave running, and that must be killed. */
  #tree: RunProcesses | undefined;
  #looking = false;
  #listing = false;
  readonly #outputs: ControlRequest[] = [];

  constructor(options: PerformerOptions) {
    this.#options = options;
  }

  /** The `end` effect, once it was performed. */
  get end(): EndEffect | undefined {
    return this.#end;
  }

  /** Performs an effect. Frames, reports, logs and traces are left to `onEffect`. */
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
        // A stopped process handles no signal except SIGKILL until it continues.
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

  /** Whether a screen was requested since the last call. */
  takeScreenRequest(): boolean {
    const looking = this.#looking;
    this.#looking = false;
    return looking;
  }

  /** Whether a list of shells was requested since the last call. */
  takeShellsRequest(): boolean {
    const listing = this.#listing;
    this.#listing = false;
    return listing;
  }

  /** The requests for the output of tasks since the last call. */
  takeOutputRequests(): readonly ControlRequest[] {
    return this.#outputs.splice(0);
  }

  /**
   * Kills the recorded processes of tools.
   *
   * @param options.inAnyCase kills all processes of the run even if none were recorded
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
 * Writes an image, given as base64, to a new file. If that fails, for example on a full disk, its path is pasted
 * anyway, and the conversation notices that no image is attached.
 */
function placeImage(
  { path, data }: { readonly path: string; readonly data: string },
): void {
  try {
    Deno.mkdirSync(parentOf(path), { recursive: true, mode: 0o700 });
    Deno.writeFileSync(path, Uint8Array.fromBase64(data), { createNew: true, mode: 0o600 });
  } catch {
    // The conversation notices that the image is missing.
  }
}
