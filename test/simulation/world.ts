import type { Choices } from "./choices.ts";
import { EPOCH } from "./lines.ts";
import { Schedule } from "./schedule.ts";
import { type Timing, TIMINGS } from "./timings.ts";
import type { Input, Untimed } from "../../src/conversation/control/input.ts";

/** An input without its time. */
export type News = Untimed<Input>;

/**
 * The ways on which the driver receives what happens, in the order in which it looks at them (`src/driver/run_session.ts`).
 * What is sent on one of them arrives in the order in which it was sent.
 */
const CHANNELS = ["helper", "caller", "terminal", "hooks", "lines", "status", "driver"] as const;

/** One of the ways on which inputs arrive. */
export type Channel = (typeof CHANNELS)[number];

/** How many times in a thousand something happens that is rare. */
const RARE = 30;

/** How many times in a thousand something takes longer than on a quiet machine, on different machines. */
const SLOW: readonly [number, ...number[]] = [0, 0, 0, 100, 400];

/** What the parts of a simulated world share: its choices, its clock, and the ways to the conversation. */
export class World {
  readonly choices: Choices;
  readonly schedule = new Schedule();
  readonly #slow: number;
  #clockOffset = 0;
  /** When what was sent last on each way arrives. */
  readonly #arrivals = new Map<Channel, number>();
  /** Until when this program does not run, and what has arrived meanwhile. */
  #stalledUntil = -1;
  #stalled: { readonly channel: Channel; readonly news: News }[] = [];
  readonly #receive: (news: News) => void;

  /** @param receive takes an input, now */
  constructor(choices: Choices, receive: (news: News) => void) {
    this.choices = choices;
    this.#receive = receive;
    this.#slow = choices.pick(SLOW);
  }

  get now(): number {
    return this.schedule.now;
  }

  /** What the machine's clock says, in milliseconds since the epoch: somebody may set it. */
  get clock(): number {
    return EPOCH + this.now + this.#clockOffset;
  }

  /** Sets the machine's clock forward by so many milliseconds. */
  setClock(byMs: number): void {
    this.#clockOffset += byMs;
  }

  /** How long a thing takes this time, in milliseconds. */
  takes(timing: Timing): number {
    const [least, most, busiest] = TIMINGS[timing];
    const isSlow = this.#slow > 0 && this.choices.happens(this.#slow);
    return this.choices.between([least, isSlow ? busiest : most]);
  }

  /** Whether something rare happens now. */
  rarely(): boolean {
    return this.choices.happens(RARE);
  }

  /** Sends an input that arrives after so many milliseconds, and after what was sent before on the same way. */
  send(channel: Channel, afterMs: number, ...news: readonly News[]): void {
    const at = Math.max(this.now + afterMs, this.#arrivals.get(channel) ?? 0);
    this.#arrivals.set(channel, at);
    this.schedule.at(at, () => news.forEach((each) => this.#arrive(channel, each)));
  }

  /** Sends an input that arrives after everything that is on its way. */
  sendLast(news: News): void {
    this.send("driver", Math.max(0, ...this.#arrivals.values()) - this.now + 1, news);
  }

  /** Keeps this program from running for a while. Whether it is told so depends on whether it was stopped. */
  stall(ms: number, { isToldOf }: { readonly isToldOf: boolean }): void {
    if (this.#stalledUntil > this.now) return;
    this.#stalledUntil = this.now + ms;
    this.schedule.after(ms, () => {
      const arrived = this.#stalled.toSorted((one, other) =>
        CHANNELS.indexOf(one.channel) - CHANNELS.indexOf(other.channel)
      );
      this.#stalled = [];
      if (isToldOf) this.#receive({ type: "suspended", ms });
      for (const { news } of arrived) this.#receive(news);
    });
  }

  /** Whether this program does not run. */
  get isStalled(): boolean {
    return this.#stalledUntil > this.now;
  }

  #arrive(channel: Channel, news: News): void {
    if (this.isStalled) this.#stalled.push({ channel, news });
    else this.#receive(news);
  }
}
