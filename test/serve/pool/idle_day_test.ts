import { assertEquals } from "@std/assert";
import { makeThrowawayHome, type ThrowawayHome } from "../../../fixtures/throwaway_home.ts";
import type { holdConversation } from "../../../src/library/hold_conversation.ts";
import { libraryRequest } from "../../../src/library/library_request.ts";
import { Pool } from "../../../src/serve/pool/pool.ts";
import { FastClock } from "./fast_clock.ts";
import { runInPool } from "./run_in_pool.ts";
import { writeScript } from "../../write_script.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LOOK = 10 * MINUTE;
const SIX_IN_THE_EVENING = Date.UTC(2026, 0, 15, 18);

/** A program that says which Claude Code it is. */
async function program({ path }: ThrowawayHome): Promise<string> {
  const binary = `${path}/claude`;
  await writeScript(binary, "#!/bin/sh\necho '2.1.330 (Claude Code)'\n");
  return binary;
}

Deno.test("in a day on which nobody asks, what was asked for once is let go, what is kept is replaced at midnight, and nothing else goes on", async () => {
  await using home = await makeThrowawayHome({ env: { TZ: "UTC" } });
  const { env, project: cwd } = home;
  const binary = await program(home);
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
    ...{ warm: 1, max: 4, idleMs: 15 * MINUTE, lookMs: LOOK, hold },
    tell: (text) => void told.push(text),
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
  await pool.keep(request, { env, cwd });
  await settled();
  await clock.pass(24 * HOUR, settled);
  const [day, midnight] = [24 * 60, (24 + 6) * 60];
  assertEquals(news, [["begins", day], ["ends", midnight], ["begins", midnight]]);
  assertEquals([clock.waits, waiting(), told], [[LOOK], 1, []]);
});
