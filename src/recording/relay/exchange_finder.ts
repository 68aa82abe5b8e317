import { createHash } from "node:crypto";
import type { Exchange, ExchangeRequest } from "./exchange.ts";
import type { FiledExchange } from "./exchange_folder.ts";
import {
  commonLength,
  type Difference,
  firstDifference,
  keyOf,
  maskVarying,
  type Match,
  normalizedBody,
} from "./match_requests.ts";

/** A cache that drops the least recently used values. */
export class LruCache<Value> {
  readonly #values = new Map<string, { readonly value: Value; readonly weight: number }>();
  readonly #most: number;
  #weight = 0;

  /** @param most the maximum sum of weights; a value that weighs more is not stored */
  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    const known = this.#values.get(key);
    if (known === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, known);
    return known.value;
  }

  set(key: string, { value, weight }: { readonly value: Value; readonly weight: number }): void {
    this.#forget(key);
    if (weight > this.#most) return;
    this.#values.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#values.keys()) {
      if (this.#weight <= this.#most) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#weight -= this.#values.get(key)?.weight ?? 0;
    this.#values.delete(key);
  }
}

/** A request to find. */
interface AskedRequest {
  /** The request, redacted and scrubbed like the recorded requests. */
  readonly request: ExchangeRequest;
  /** The session that makes the request, if the request names it. */
  readonly conversation: string | undefined;
}

/** A request with its key and the state of its conversation. */
export interface IdentifiedRequest {
  readonly key: string;
  readonly request: ExchangeRequest;
  readonly state: ConversationState;
}

/** The recorded exchange that is most similar to a request. */
export interface Nearest {
  /** The name of the exchange's file. */
  readonly name: string;
  /** The first difference; undefined if the requests are equal and all recorded responses were used. */
  readonly difference: NearestDifference | undefined;
}

/** The first difference of two requests of the same method: in their bodies, or else in their paths. */
interface NearestDifference extends Difference {
  readonly part: "body" | "path";
}

/** The maximum number of remembered conversations. */
const MOST_CONVERSATIONS = 10_000;
/** The maximum number of exchanges that are compared with an unrecorded request. The newest are compared. */
const MOST_COMPARED = 500;
/** The size of the cache of compared requests, in UTF-16 units. */
const MOST_KEPT = 16 * 1024 * 1024;
/** The maximum number of bytes of exchanges that are read for one comparison. The files also contain responses. */
const MOST_READ = 64 * 1024 * 1024;

/** The requests of a live conversation so far. */
interface ConversationState {
  /** The number of exchanges that the conversation has taken, by key. */
  readonly taken: Map<string, number>;
  /** With `sequence`, the recorded conversation that this conversation repeats. */
  readonly recordedAs: string;
}

/** The data of an exchange that are kept in memory. All other data is read from its file. */
export interface KnownExchange extends Pick<Exchange, "at"> {
  /** The name of the exchange's file. */
  readonly name: string;
  readonly conversation: string;
  readonly status: number;
  readonly whole: boolean;
  /** Method and path without the query. */
  readonly target: string;
  /** The key of the exchange's request. */
  readonly key: string;
  /** With `sequence`, a digest of the request, which identifies a conversation that begins with it. Otherwise empty. */
  readonly beginning: string;
}

interface FinderOptions {
  readonly match: Match;
  /** JSON pointers to parts of bodies that are ignored. */
  readonly ignored: readonly string[];
  /**
   * True if unrecorded exchanges will be recorded. A new conversation then never repeats a recorded conversation that
   * is in use.
   */
  readonly grows?: boolean;
  /** Reads an exchange again by the name of its file; undefined if it cannot be read. */
  readonly read: (name: string) => Exchange | undefined;
}

/** Finds the recorded exchange for a request. It keeps only keys in memory. */
export class ExchangeFinder {
  readonly #match: Match;
  readonly #ignored: readonly string[];
  readonly #grows: boolean;
  readonly #read: FinderOptions["read"];
  #size = 0;
  /** By method and path. */
  readonly #byTarget = new Map<string, KnownExchange[]>();
  /** For each key, the exchanges of the conversation that asked last. */
  readonly #byKey = new Map<string, KnownExchange[]>();
  /** The compared bodies, by the names of their files. */
  readonly #texts = new LruCache<string>(MOST_KEPT);
  readonly #computed = new WeakMap<ExchangeRequest, string>();
  readonly #states = new Map<string, ConversationState>();
  /** The first request of each recorded conversation, normalised, in recorded order. */
  readonly #beginnings = new Map<string, string>();
  /** Recorded conversations by their first request, and the number of live conversations that repeat each. */
  readonly #conversationsByBeginning = new Map<string, string[]>();
  readonly #repeatedBy = new Map<string, number>();

  /** @param exchanges in any order; the constructor iterates over them once */
  constructor(
    exchanges: Iterable<FiledExchange>,
    { match, ignored, grows = false, read }: FinderOptions,
  ) {
    this.#match = match;
    this.#ignored = ignored;
    this.#grows = grows;
    this.#read = read;
    const known: KnownExchange[] = [];
    for (const filed of exchanges) known.push(this.#known(filed));
    for (const each of known.toSorted((one, other) => one.at - other.at)) this.#add(each);
  }

  get size(): number {
    return this.#size;
  }

  /** Adds an exchange that was just recorded. */
  add(filed: FiledExchange): void {
    this.#add(this.#known(filed));
  }

  #add(exchange: KnownExchange): void {
    const { conversation, key, beginning } = exchange;
    this.#size++;
    pushTo(this.#byTarget, [exchange.target, exchange]);
    if (!this.#beginnings.has(conversation)) {
      this.#beginnings.set(conversation, beginning);
      pushTo(this.#conversationsByBeginning, [beginning, conversation]);
    }
    const known = this.#byKey.get(key);
    // Responses to an earlier conversation are dropped, because it may have failed and was recorded again.
    if (known?.[0]?.conversation === conversation) known.push(exchange);
    else this.#byKey.set(key, [exchange]);
  }

  #known(
    { name, exchange: { at, conversation = "", request, response } }: FiledExchange,
  ): KnownExchange {
    const { status, whole } = response;
    return {
      name,
      at,
      conversation,
      status,
      whole,
      target: methodAndPath(request),
      key: this.#keyIn(conversation, request),
      beginning: this.#beginning(request),
    };
  }

  /** Computes the key of a request, and finds the state of its conversation. */
  identify({ request, conversation = "" }: AskedRequest): IdentifiedRequest {
    const state = this.#stateOf(conversation, request);
    return { request, state: state, key: this.#keyIn(state.recordedAs, request) };
  }

  /**
   * Takes the recorded exchange of a request. If a request was recorded several times, as after a retry, each
   * conversation takes these exchanges in order, and then the last one again.
   *
   * @param options.usable returns whether an exchange may be taken
   */
  take(
    identified: IdentifiedRequest,
    { usable }: { readonly usable: (exchange: KnownExchange) => boolean },
  ): KnownExchange | undefined {
    const { key, state: { taken } } = identified;
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

  /** Counts an exchange as taken, because the conversation has just recorded it. */
  count({ key, state: { taken } }: IdentifiedRequest): void {
    taken.set(key, (taken.get(key) ?? 0) + 1);
  }

  /**
   * Returns the most similar recorded request: among those with the same method and path, the one with the longest
   * common beginning.
   */
  nearest({ key, request }: IdentifiedRequest): Nearest | undefined {
    const exhausted = this.#match === "sequence" ? this.#byKey.get(key)?.at(-1) : undefined;
    // With `sequence` the bodies do not matter: this conversation is longer than the recorded one.
    if (exhausted !== undefined) return { name: exhausted.name, difference: undefined };
    const text = this.#compared(request);
    const target = methodAndPath(request);
    const candidates = this.#byTarget.get(target)?.slice(-MOST_COMPARED) ?? [];
    let best: { readonly name: string; readonly text: string; readonly common: number } | undefined;
    let read = 0;
    for (const { name } of candidates.toReversed()) {
      if (read > MOST_READ) break;
      let other = this.#texts.get(name);
      if (other === undefined) {
        const exchange = this.#read(name);
        if (exchange === undefined) continue;
        other = this.#compared(exchange.request);
        read += weightOf(exchange);
        this.#texts.set(name, { value: other, weight: other.length });
      }
      const common = commonLength(other, text);
      // If several have the same common length, the oldest wins.
      if (best === undefined || common >= best.common) best = { name, text: other, common };
    }
    if (best === undefined) return undefined;
    const difference = firstDifference(best.text, text);
    return {
      name: best.name,
      difference: difference === undefined
        ? this.#pathDifference(best.name, request)
        : { ...difference, part: "body" },
    };
  }

  /** Returns how the path of a request differs from a recorded one. */
  #pathDifference(name: string, { path: asked }: ExchangeRequest): NearestDifference | undefined {
    const recorded = this.#read(name)?.request.path ?? asked;
    const isSame = this.#match === "exact"
      ? recorded === asked
      : maskVarying(recorded) === maskVarying(asked);
    return isSame ? undefined : { part: "path", pointer: "", recorded, asked };
  }

  #stateOf(conversation: string, request: ExchangeRequest): ConversationState {
    const known = this.#states.get(conversation);
    if (known !== undefined) return known;
    const state = {
      taken: new Map(),
      recordedAs: this.#recordedConversationFor(conversation, request),
    };
    this.#states.set(conversation, state);
    this.#countRepetition(state, 1);
    const [oldest] = this.#states;
    if (this.#states.size > MOST_CONVERSATIONS && oldest !== undefined) {
      this.#states.delete(oldest[0]);
      this.#countRepetition(oldest[1], -1);
    }
    return state;
  }

  /**
   * Returns the recorded conversation to repeat: one that begins in the same way, or else the first one that no other
   * conversation repeats.
   */
  #recordedConversationFor(conversation: string, request: ExchangeRequest): string {
    if (this.#match !== "sequence" || this.#beginnings.has(conversation)) return conversation;
    const text = this.#beginning(request);
    const similar = this.#conversationsByBeginning.get(text) ?? [];
    const isFree = (recorded: string) => !this.#repeatedBy.has(recorded);
    // This loop passes over at most as many conversations as are in use.
    const found = similar.find(isFree) ?? similar[0] ?? this.#beginnings.keys().find(isFree);
    return found ?? (this.#grows ? conversation : this.#beginnings.keys().next().value) ??
      conversation;
  }

  #countRepetition({ recordedAs: place }: ConversationState, more: 1 | -1): void {
    const count = (this.#repeatedBy.get(place) ?? 0) + more;
    if (count === 0) this.#repeatedBy.delete(place);
    else this.#repeatedBy.set(place, count);
  }

  #keyIn(place: string, request: ExchangeRequest): string {
    const { method, path, body } = request;
    switch (this.#match) {
      case "exact":
        return this.#once(request, () => keyOf(request));
      case "normalized":
        return this.#once(request, () => digest(`${method} ${this.#normalized(request)}`));
      case "sequence": {
        const model = this.#once(request, () => modelIn(body));
        return digest(`${place} ${method} ${pathOnly(path)} ${model}`);
      }
    }
  }

  /** Computes a value once for each request object. */
  #once(request: ExchangeRequest, compute: () => string): string {
    const known = this.#computed.get(request);
    if (known !== undefined) return known;
    const computed = compute();
    this.#computed.set(request, computed);
    return computed;
  }

  #beginning(request: ExchangeRequest): string {
    return this.#match === "sequence" ? digest(this.#normalized(request)) : "";
  }

  #normalized({ path, body }: ExchangeRequest): string {
    return `${maskVarying(path)}\n${normalizedBody(body, this.#ignored)}`;
  }

  #compared({ body }: ExchangeRequest): string {
    return this.#match === "exact"
      ? new TextDecoder().decode(body)
      : normalizedBody(body, this.#ignored);
  }
}

function weightOf({ request, response }: Exchange): number {
  return response.chunks.reduce((sum, { bytes }) => sum + bytes.length, request.body.length);
}

function pushTo<Value>(lists: Map<string, Value[]>, [key, value]: readonly [string, Value]): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function methodAndPath({ method, path }: ExchangeRequest): string {
  return `${method} ${pathOnly(path)}`;
}

function pathOnly(path: string): string {
  return path.split("?")[0] ?? path;
}

/**
 * Returns the model of a request. Claude Code sends requests to a small model while others run, so each model has an
 * order of its own.
 */
function modelIn(body: Uint8Array): string {
  return /"model":"([^"]*)"/u.exec(new TextDecoder().decode(body))?.[1] ?? "";
}
