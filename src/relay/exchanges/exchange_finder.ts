import { createHash } from "node:crypto";
import type { Exchange, ExchangeRequest } from "./exchange.ts";
import type { FiledExchange } from "./exchange_folder.ts";
import { commonLength, type Difference, firstDifference } from "./first_difference.ts";
import { masked } from "./masks.ts";
import { keyOf, type Match, normalizedBody } from "./request_key.ts";

/** A request as it is looked for. */
export interface Asked {
  /** Without secrets, as those that are recorded. */
  readonly request: ExchangeRequest;
  /** The session that makes it, where it says. */
  readonly conversation: string | undefined;
}

/** A request that has been looked at. */
export interface Identified {
  /** What the request is known by. */
  readonly key: string;
  readonly request: ExchangeRequest;
  readonly taker: Taker;
}

/** What comes nearest to a request that is not recorded. */
export interface Nearest {
  /** The name of its file. */
  readonly name: string;
  /** Undefined where they are the same, and all that is recorded of it has been taken. */
  readonly difference: Difference | undefined;
}

/** How many conversations are remembered, with what each has taken. */
const MOST_CONVERSATIONS = 10_000;
/** How many exchanges, the latest, are compared with a request that is not recorded. */
const MOST_COMPARED = 500;

/** What a conversation has asked. */
export interface Taker {
  /** How many exchanges it has taken of each key. */
  readonly taken: Map<string, number>;
  /** The recorded conversation in whose place it is, by `sequence`. */
  readonly place: string;
}

/** Finds what is recorded of a request. */
export class ExchangeFinder {
  readonly #match: Match;
  readonly #ignored: readonly string[];
  readonly #all: FiledExchange[] = [];
  /** Of each key what was answered to the conversation that asked last. */
  readonly #byKey = new Map<string, Exchange[]>();
  readonly #digests = new WeakMap<ExchangeRequest, string>();
  readonly #takers = new Map<string, Taker>();
  /** The first request of each recorded conversation, normalized, in the order of their beginnings. */
  readonly #beginnings = new Map<string, string>();

  /** @param options.ignored places of JSON bodies that do not count, as JSON pointers */
  constructor(
    exchanges: readonly FiledExchange[],
    { match, ignored }: { readonly match: Match; readonly ignored: readonly string[] },
  ) {
    this.#match = match;
    this.#ignored = ignored;
    for (const filed of exchanges) this.add(filed);
  }

  get size(): number {
    return this.#all.length;
  }

  /** Adds what has just been recorded, after all else. */
  add(filed: FiledExchange): void {
    const { request, conversation = "" } = filed.exchange;
    this.#all.push(filed);
    if (!this.#beginnings.has(conversation)) {
      this.#beginnings.set(conversation, this.#normalized(request));
    }
    const key = this.#keyIn(conversation, request);
    const known = this.#byKey.get(key);
    // What another conversation was answered before it does not count any more: it may have been a failure.
    if (known?.[0] !== undefined && (known[0].conversation ?? "") === conversation) {
      known.push(filed.exchange);
    } else {
      this.#byKey.set(key, [filed.exchange]);
    }
  }

  /** Finds out by what a request is known, and who makes it. */
  identify({ request, conversation = "" }: Asked): Identified {
    const taker = this.#takerOf(conversation, request);
    return { request, taker, key: this.#keyIn(taker.place, request) };
  }

  /**
   * Takes what is recorded of a request. Where that is several exchanges, as of one that was made again, each conversation
   * takes one after the other, and the last again and again.
   *
   * @param options.usable whether an exchange may be taken
   */
  take(
    identified: Identified,
    { usable }: { readonly usable: (exchange: Exchange) => boolean },
  ): Exchange | undefined {
    const { key, taker: { taken } } = identified;
    const known = this.#byKey.get(key) ?? [];
    const count = taken.get(key) ?? 0;
    const next = known[count];
    if (next !== undefined) {
      if (!usable(next)) return undefined;
      this.count(identified);
      return next;
    }
    const last = known.at(-1);
    return last !== undefined && this.#match !== "sequence" && usable(last) ? last : undefined;
  }

  /** Counts an exchange as taken by the conversation that it was recorded of. */
  count({ key, taker: { taken } }: Identified): void {
    taken.set(key, (taken.get(key) ?? 0) + 1);
  }

  /** What is recorded that comes nearest: of the same method and path, the one with which most is in common at the beginning. */
  nearest({ request }: Identified): Nearest | undefined {
    const text = this.#compared(request);
    const candidates = this.#all.filter(({ exchange: { request: { method, path } } }) =>
      method === request.method && pathOnly(path) === pathOnly(request.path)
    ).slice(-MOST_COMPARED);
    let best: { readonly name: string; readonly text: string; readonly common: number } | undefined;
    for (const { name, exchange } of candidates) {
      const other = this.#compared(exchange.request);
      const common = commonLength(other, text);
      if (best === undefined || common > best.common) best = { name, text: other, common };
    }
    return best && { name: best.name, difference: firstDifference(best.text, text) };
  }

  #takerOf(conversation: string, request: ExchangeRequest): Taker {
    const known = this.#takers.get(conversation);
    if (known !== undefined) return known;
    const taker = { taken: new Map(), place: this.#placeOf(conversation, request) };
    this.#takers.set(conversation, taker);
    const [oldest] = this.#takers.keys();
    if (this.#takers.size > MOST_CONVERSATIONS && oldest !== undefined) this.#takers.delete(oldest);
    return taker;
  }

  /** The recorded conversation that begins as another one does, else the first in whose place nobody is. */
  #placeOf(conversation: string, request: ExchangeRequest): string {
    if (this.#match !== "sequence" || this.#beginnings.has(conversation)) return conversation;
    const text = this.#normalized(request);
    const held = new Set([...this.#takers.values()].map(({ place }) => place));
    const places = [...this.#beginnings];
    const [place] = places.find(([place, begin]) => begin === text && !held.has(place)) ??
      places.find(([, begin]) => begin === text) ??
      places.find(([place]) => !held.has(place)) ?? places[0] ?? [conversation];
    return place;
  }

  #keyIn(place: string, request: ExchangeRequest): string {
    const { method, path, body } = request;
    switch (this.#match) {
      case "exact":
        return keyOf(request);
      case "normalized": {
        const known = this.#digests.get(request);
        if (known !== undefined) return known;
        const key = digest(`${method} ${this.#normalized(request)}`);
        this.#digests.set(request, key);
        return key;
      }
      case "sequence":
        return digest(`${place} ${method} ${pathOnly(path)} ${modelIn(body)}`);
    }
  }

  #normalized({ path, body }: ExchangeRequest): string {
    return `${masked(path)}\n${normalizedBody(body, this.#ignored)}`;
  }

  #compared({ body }: ExchangeRequest): string {
    return this.#match === "exact"
      ? new TextDecoder().decode(body)
      : normalizedBody(body, this.#ignored);
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function pathOnly(path: string): string {
  return path.split("?")[0] ?? path;
}

/** The model of a request: what Claude Code asks another one meanwhile has no fixed place between the others. */
function modelIn(body: Uint8Array): string {
  return /"model":"([^"]*)"/u.exec(new TextDecoder().decode(body))?.[1] ?? "";
}
