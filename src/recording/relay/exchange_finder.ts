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

/** Values by their keys, of which those that were needed last are kept. */
export class LruCache<Value> {
  readonly #values = new Map<string, { readonly value: Value; readonly weight: number }>();
  readonly #most: number;
  #weight = 0;

  /** @param most how much all of them may weigh together; one that weighs more by itself is not kept */
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

/** A request as it is looked for. */
interface AskedRequest {
  /** Without secrets, as those that are recorded. */
  readonly request: ExchangeRequest;
  /** The session that makes it, where it says. */
  readonly conversation: string | undefined;
}

/** A request that has been looked at. */
export interface IdentifiedRequest {
  /** What the request is known by. */
  readonly key: string;
  readonly request: ExchangeRequest;
  readonly state: ConversationState;
}

/** What comes nearest to a request that is not recorded. */
export interface Nearest {
  /** The name of its file. */
  readonly name: string;
  /** Undefined where they are the same, and all that is recorded of it has been taken. */
  readonly difference: NearestDifference | undefined;
}

/** Where two requests of the same method differ first: in their bodies, or else in their paths. */
interface NearestDifference extends Difference {
  readonly part: "body" | "path";
}

/** How many conversations are remembered, with what each has taken. */
const MOST_CONVERSATIONS = 10_000;
/** How many exchanges, the latest, are compared with a request that is not recorded. */
const MOST_COMPARED = 500;
/** How many requests of them are kept to be compared again, in UTF-16 units. */
const MOST_KEPT = 16 * 1024 * 1024;
/** How much of them is read for that, in bytes: the files hold what was answered, too. */
const MOST_READ = 64 * 1024 * 1024;

/** What a conversation has asked. */
interface ConversationState {
  /** How many exchanges it has taken of each key. */
  readonly taken: Map<string, number>;
  /** The recorded conversation in whose place it is, by `sequence`. */
  readonly recordedAs: string;
}

/** What is remembered of an exchange: what was said is in its file. */
export interface KnownExchange extends Pick<Exchange, "at"> {
  /** The name of its file. */
  readonly name: string;
  readonly conversation: string;
  readonly status: number;
  readonly whole: boolean;
  /** Its method and path without a query. */
  readonly target: string;
  /** What its request is known by. */
  readonly key: string;
  /** What its request is by which a conversation is known that begins with it; empty where that does not matter. */
  readonly beginning: string;
}

/** How exchanges are found. */
interface FinderOptions {
  readonly match: Match;
  /** Places of JSON bodies that do not count, as JSON pointers. */
  readonly ignored: readonly string[];
  /** Whether what is not found will be added: then a new conversation takes the place of none that is taken already. */
  readonly grows?: boolean;
  /** Reads again what is in the file of that name; undefined where it cannot be. */
  readonly read: (name: string) => Exchange | undefined;
}

/** Finds what is recorded of a request, and remembers of that no more than it has to. */
export class ExchangeFinder {
  readonly #match: Match;
  readonly #ignored: readonly string[];
  readonly #grows: boolean;
  readonly #read: FinderOptions["read"];
  #size = 0;
  /** By method and path. */
  readonly #byTarget = new Map<string, KnownExchange[]>();
  /** Of each key what was answered to the conversation that asked last. */
  readonly #byKey = new Map<string, KnownExchange[]>();
  /** What was compared of them last, by the names of their files. */
  readonly #texts = new LruCache<string>(MOST_KEPT);
  readonly #computed = new WeakMap<ExchangeRequest, string>();
  readonly #takers = new Map<string, ConversationState>();
  /** The first request of each recorded conversation, normalized, in the order of their beginnings. */
  readonly #beginnings = new Map<string, string>();
  /** The conversations that begin with a request, and in how many takers' places each recorded one is. */
  readonly #begunWith = new Map<string, string[]>();
  readonly #held = new Map<string, number>();

  /** @param exchanges gone through once, whatever their order */
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

  /** Adds what has just been recorded, after all else. */
  add(filed: FiledExchange): void {
    this.#add(this.#known(filed));
  }

  #add(exchange: KnownExchange): void {
    const { conversation, key, beginning } = exchange;
    this.#size++;
    pushTo(this.#byTarget, [exchange.target, exchange]);
    if (!this.#beginnings.has(conversation)) {
      this.#beginnings.set(conversation, beginning);
      pushTo(this.#begunWith, [beginning, conversation]);
    }
    const known = this.#byKey.get(key);
    // What another conversation was answered before it does not count any more: it may have been a failure.
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
      target: targetOf(request),
      key: this.#keyIn(conversation, request),
      beginning: this.#beginning(request),
    };
  }

  /** Finds out by what a request is known, and who makes it. */
  identify({ request, conversation = "" }: AskedRequest): IdentifiedRequest {
    const taker = this.#takerOf(conversation, request);
    return { request, state: taker, key: this.#keyIn(taker.recordedAs, request) };
  }

  /**
   * Takes what is recorded of a request. Where that is several exchanges, as of one that was made again, each conversation
   * takes one after the other, and the last again and again.
   *
   * @param options.usable whether an exchange may be taken
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

  /** Counts an exchange as taken by the conversation that it was recorded of. */
  count({ key, state: { taken } }: IdentifiedRequest): void {
    taken.set(key, (taken.get(key) ?? 0) + 1);
  }

  /** What is recorded that comes nearest: of the same method and path, the one with which most is in common at the beginning. */
  nearest({ key, request }: IdentifiedRequest): Nearest | undefined {
    const given = this.#match === "sequence" ? this.#byKey.get(key)?.at(-1) : undefined;
    // What is said does not count there: the conversation goes on longer than the one that is recorded.
    if (given !== undefined) return { name: given.name, difference: undefined };
    const text = this.#compared(request);
    const target = targetOf(request);
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
      // Of those that have as much in common it is the first.
      if (best === undefined || common >= best.common) best = { name, text: other, common };
    }
    if (best === undefined) return undefined;
    const difference = firstDifference(best.text, text);
    return {
      name: best.name,
      difference: difference === undefined
        ? this.#otherPath(best.name, request)
        : { ...difference, part: "body" },
    };
  }

  /** How the path of a request differs from that of a recorded one. */
  #otherPath(name: string, { path: asked }: ExchangeRequest): NearestDifference | undefined {
    const recorded = this.#read(name)?.request.path ?? asked;
    const isSame = this.#match === "exact"
      ? recorded === asked
      : maskVarying(recorded) === maskVarying(asked);
    return isSame ? undefined : { part: "path", pointer: "", recorded, asked };
  }

  #takerOf(conversation: string, request: ExchangeRequest): ConversationState {
    const known = this.#takers.get(conversation);
    if (known !== undefined) return known;
    const taker = { taken: new Map(), recordedAs: this.#placeOf(conversation, request) };
    this.#takers.set(conversation, taker);
    this.#hold(taker, 1);
    const [oldest] = this.#takers;
    if (this.#takers.size > MOST_CONVERSATIONS && oldest !== undefined) {
      this.#takers.delete(oldest[0]);
      this.#hold(oldest[1], -1);
    }
    return taker;
  }

  /** The recorded conversation that begins as another one does, else the first in whose place nobody is. */
  #placeOf(conversation: string, request: ExchangeRequest): string {
    if (this.#match !== "sequence" || this.#beginnings.has(conversation)) return conversation;
    const text = this.#beginning(request);
    const alike = this.#begunWith.get(text) ?? [];
    const isFree = (place: string) => !this.#held.has(place);
    // No more than all that are held are passed over.
    const place = alike.find(isFree) ?? alike[0] ?? this.#beginnings.keys().find(isFree);
    return place ?? (this.#grows ? conversation : this.#beginnings.keys().next().value) ??
      conversation;
  }

  #hold({ recordedAs: place }: ConversationState, more: 1 | -1): void {
    const count = (this.#held.get(place) ?? 0) + more;
    if (count === 0) this.#held.delete(place);
    else this.#held.set(place, count);
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

  /** What is computed of a request, unless it was of the same one before. */
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

function targetOf({ method, path }: ExchangeRequest): string {
  return `${method} ${pathOnly(path)}`;
}

function pathOnly(path: string): string {
  return path.split("?")[0] ?? path;
}

/** The model of a request: what Claude Code asks another one meanwhile has no fixed place between the others. */
function modelIn(body: Uint8Array): string {
  return /"model":"([^"]*)"/u.exec(new TextDecoder().decode(body))?.[1] ?? "";
}
