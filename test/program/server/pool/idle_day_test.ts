import { assertEquals } from "@std/assert";
import { makeThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import type { holdConversation } from "../../../../src/library/hold_conversation.ts";
import { libraryRequest } from "../../../../src/library/library_request.ts";
import { Pool } from "../../../../src/server/pool/pool.ts";
import { runInPool } from "./run_in_pool.ts";
import { writeScript } from "../../../write_script.ts";
import { saysVersion } from "../../claude/program/fake_npm.ts";

/** A timer of the program under test. */
interface Due {
  readonly at: number;
  readonly ms: number;
  readonly call: () => void;
}

/** A clock that goes as fast as it can: the time of this thread, and its timers, are its own until it is disposed. */
class FastClock implements Disposable {
  readonly #begun: number;
  readonly #timers = new Map<number, Due>();
  readonly #undo: () => void;
  #now = 0;
  #ids = 1_000_000;

  /** @param begun what time it is at first, in milliseconds since the epoch */
  constructor(begun: number) {
    this.#begun = begun;
    const { setTimeout, clearTimeout, Date } = globalThis;
    const { now } = performance;
    const add = (call: () => void, ms = 0) => {
      this.#timers.set(++this.#ids, { at: this.#now + ms, ms, call });
      return this.#ids;
    };
    Object.assign(globalThis, {
      setTimeout: add,
      clearTimeout: (id?: number) => id !== undefined && this.#timers.delete(id),
      // Times that are told go through; whoever asks for none is told the clock's.
      Date: new Proxy(Date, {
        construct: (target, args) =>
          args.length === 0 ? new Date(this.#epoch) : Reflect.construct(target, args),
        get: (target, name) => name === "now" ? () => this.#epoch : Reflect.get(target, name),
      }),
    });
    performance.now = () => this.#now;
    this.#undo = () => {
      Object.assign(globalThis, { setTimeout, clearTimeout, Date });
      performance.now = now;
    };
  }

  /** The time, in milliseconds since the epoch. */
  get #epoch(): number {
    return this.#begun + this.#now;
  }

  /** How long each timer that there is was to wait, in milliseconds. */
  get waits(): readonly number[] {
    return [...this.#timers.values()].map(({ ms }) => ms);
  }

  /**
   * Lets time pass.
   *
   * @param options.settled to be awaited after each timer: what comes of it has come about
   */
  async pass(ms: number, settled: () => Promise<void>): Promise<void> {
    const until = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].sort(([, one], [, other]) => one.at - other.at);
      if (next === undefined || next[1].at > until) break;
      const [id, { at, call }] = next;
      this.#timers.delete(id);
      this.#now = Math.max(this.#now, at);
      call();
      await settled();
    }
    this.#now = until;
  }

  [Symbol.dispose](): void {
    this.#undo();
  }
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LOOK = 10 * MINUTE;
const SIX_IN_THE_EVENING = Date.UTC(2026, 0, 15, 18);

Deno.test("an idle day replaces kept children at midnight only", async () => {
  await using home = await makeThrowawayHome({ env: { TZ: "UTC" } });
  const { env, project: cwd } = home;
  const binary = `${home.path}/claude`;
  await writeScript(binary, saysVersion("2.1.330"));
  using clock = new FastClock(SIX_IN_THE_EVENING);
  /** What becomes of children that wait, and in which minute. */
  const news: (readonly [what: "begins" | "ends", minute: number])[] = [];
  const note = (what: "begins" | "ends") =>
    void news.push([what, Math.floor(performance.now() / MINUTE)]);
  let starting = 0;
  /** A Claude Code that can take a message at once, and goes when it is told to. */
  const hold: typeof holdConversation = async (request, options) => {
    const { watch, onInput, caller } = options;
    if (watch === undefined) return 0;
    note("begins");
    starting++;
    await watch({ ...request, prompt: undefined, cwd, env, frames: true, retries: true })
      .finally(() => starting--);
    const dismissed = Promise.withResolvers<void>();
    caller.onArrival = () => dismissed.resolve();
    onInput?.({ at: 0, type: "reachable" });
    onInput?.({ at: 0, type: "status", status: "idle" });
    await dismissed.promise;
    note("ends");
    return 0;
  };
  const told: string[] = [];
  await using pool = new Pool({
    ...{ warm: 1, max: 4, idleMs: 15 * MINUTE, checkIntervalMs: LOOK, hold },
    report: (text) => void told.push(text),
  });
  const waiting = () => pool.entries.reduce((sum, each) => sum + each.waiting, 0);
  const isQuiet = () => starting === 0 && (waiting() === 0 || clock.waits.includes(LOOK));
  const settled = async () => {
    for (let turns = 0; turns < 3 || !isQuiet(); turns++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await runInPool(pool, { binary, home });
  // What has begun already has its own time.
  await settled();
  await clock.pass(24 * HOUR, settled);
  assertEquals([news.splice(0), pool.entries, clock.waits], [
    [["begins", 0], ["ends", 15]],
    [],
    [],
  ]);

  const request = await libraryRequest(["--claude-binary", binary], { caller: "converse()" });
  await pool.prewarm(request, { env, cwd });
  await settled();
  await clock.pass(24 * HOUR, settled);
  const [day, midnight] = [24 * 60, (24 + 6) * 60];
  assertEquals(news, [["begins", day], ["ends", midnight], ["begins", midnight]]);
  assertEquals([clock.waits, waiting(), told], [[LOOK], 1, []]);
});
