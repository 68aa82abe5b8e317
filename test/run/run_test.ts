import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { closeFd, readFd } from "../../ffi/descriptors/fd.ts";
import { Outlet } from "../../ffi/descriptors/outlet.ts";
import { makeFifo, openFifo } from "../../ffi/descriptors/pipe.ts";
import { StopSignals } from "../../src/driver/stop_signals.ts";
import type { Report } from "../../src/conversation/output/result/verdict.ts";
import { readExchanges } from "../../src/recording/relay/exchange_folder.ts";
import { startApiRelay } from "../../src/run/api_relay.ts";
import { awaitReaders, StoppedError } from "../../src/run/waits.ts";
import { LineTracker } from "../../src/run/perform_conversation.ts";
import { orderPastLimit, resetOf, waitUntil } from "../../src/run/past_limit.ts";
import type { RunOrder } from "../../src/run/plan/run_order.ts";
import { adviseOnMisses } from "../../src/run/perform_run.ts";
import { readEntry } from "../../src/claude/transcript/entry.ts";
import { tempFolder } from "../temp_folder.ts";
import { PLAIN_ORDER } from "./plain_order.ts";

const ID = "11111111-1111-4111-8111-111111111111";

/** The requests and responses in a folder of exchanges. */
function recorded(folder: string): readonly string[] {
  const text = new TextDecoder();
  return [...readExchanges(folder)].map(({ exchange: { request, response } }) =>
    `${text.decode(request.body)} ${
      response.chunks.map(({ bytes }) => text.decode(bytes)).join("")
    }`
  );
}

Deno.test("a recorded run has the API's exchanges without secrets", async () => {
  using folder = tempFolder();
  const home = folder.path;
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => new Response(`${await request.text()}, swordfish`),
  );
  const taken: number[] = [];
  const url = `http://127.0.0.1:${server.addr.port}`;
  const order: RunOrder = { ...PLAIN_ORDER, cwd: home, env: { ANTHROPIC_BASE_URL: url } };
  const ask = async (more: Partial<RunOrder>) => {
    using relay = startApiRelay({ ...order, ...more }, { settings: [], sessionId: ID });
    relay.redactWith({
      redact: (text) => text.replaceAll("swordfish", "[redacted]"),
      openFrom: () => Infinity,
      taken: (secrets) => void taken.push(secrets),
    });
    const base = `${relay.variables["ANTHROPIC_BASE_URL"]}`;
    assertMatch(base, /^http:\/\/127\.0\.0\.1:\d+\/[\da-f-]{36}$/u);
    const answer = await fetch(`${base}/v1/messages`, { method: "POST", body: "a swordfish" });
    assertEquals(relay.problems(), []);
    return await answer.text();
  };
  const redacted = ["a [redacted] a [redacted], [redacted]"];
  assertEquals(await ask({ record: "one" }), "a swordfish, swordfish");
  assertEquals([recorded(`${home}/one/api`), taken], [redacted, [3]]);
  const cassette = { folder: `${home}/api-alone`, onMiss: "record", allowUpstream: true } as const;
  await ask({ apiCassette: cassette });
  await server.shutdown();
  const played = { ...cassette, onMiss: "fail" } as const;
  assertEquals(
    await ask({ record: `${home}/two`, apiCassette: played }),
    "a swordfish, swordfish",
  );
  assertEquals(recorded(`${home}/two/api`), redacted);
  // A cassette that is played and recorded at the same time stays as it is.
  await ask({ record: "api-alone/", apiCassette: played });
  assertEquals(recorded(`${home}/api-alone/api`).length, 1);
});

/** An outlet on a pipe that holds less than it has to write. */
function fullOutlet(stack: DisposableStack): { readonly outlet: Outlet; readonly fd: number } {
  const path = `${stack.use(tempFolder()).path}/fifo`;
  makeFifo(path);
  const fd = openFifo(path);
  stack.defer(() => closeFd(fd));
  const outlet = stack.use(new Outlet(fd));
  outlet.write("x".repeat(1_000_000));
  assert(outlet.pending > 0);
  return { outlet, fd };
}

Deno.test("output is awaited until its reader has all of it", async () => {
  using stack = new DisposableStack();
  const { outlet, fd } = fullOutlet(stack);
  using signals = new StopSignals({ listen: false });
  let [isOver, read] = [false, 0];
  const waiting = awaitReaders([{ outlet, until: Infinity }], signals).then((signal) => {
    isOver = true;
    return signal;
  });
  const buffer = new Uint8Array(65536);
  for (let count = readFd(fd, buffer); !isOver || typeof count === "number";) {
    if (typeof count === "number") read += count;
    else await new Promise((resolve) => setTimeout(resolve));
    count = readFd(fd, buffer);
  }
  assertEquals([await waiting, outlet.pending, read], [undefined, 0, 1_000_000]);
});

Deno.test("a second signal ends the wait for readers", async () => {
  using stack = new DisposableStack();
  const { outlet } = fullOutlet(stack);
  using signals = new StopSignals({ listen: false });
  for (const signal of ["SIGPIPE", "SIGTERM", "SIGINT"] as const) signals.raise(signal);
  assertEquals(await awaitReaders([{ outlet, until: Infinity }], signals), "SIGTERM");
  assert(outlet.pending > 0);
  assertEquals(signals.onArrival, undefined);
});

const NOW = 1_795_400_000_000;
const MINUTE = Math.ceil(NOW / 60_000) * 60;

const reportOf = (more: Partial<Report["result"]> = {}): Pick<Report, "result"> => ({
  result: {
    type: "result",
    subtype: "success",
    is_error: true,
    num_turns: 1,
    session_id: ID,
    claude_version: "2.1.330",
    ...more,
  },
});
const reached = (resets_at?: number) =>
  reportOf({ claude_limits: { reached: resets_at === undefined ? {} : { resets_at } } });

Deno.test("a run waits for the reset of its limit", () => {
  const rows: readonly (readonly [Pick<Report, "result">, number | undefined, number?])[] = [
    [reached(MINUTE), MINUTE * 1000 + 5000],
    [reached(MINUTE + 1), (MINUTE + 1) * 1000 + 5000],
    [reached(NOW / 1000 + 1), NOW + 6000, 10_000],
    // A reset that has passed may come late.
    ...[0, -1e300, NOW / 1000 - 1, NOW / 1000].map((past) => [reached(past), NOW + 5000] as const),
    [reached(NOW / 1000 + 61), undefined, 10_000],
    ...[reportOf(), reportOf({ claude_limits: {} }), reached()].map((other) =>
      [other, undefined] as const
    ),
    ...[1e300, NaN, Infinity].map((none) => [reached(none), undefined] as const),
  ];
  for (const [report, until, longestMs = Infinity] of rows) {
    assertEquals(resetOf(report, { longestMs, now: NOW }), until, Deno.inspect(report));
  }
});

Deno.test("after a limit the session continues with its cost", () => {
  const order = {
    ...PLAIN_ORDER,
    sessionId: ID,
    forwarded: [`--session-id=${ID}`, "--model=opus"],
    altered: "a character",
  };
  const limited = { ...reportOf({ total_cost_usd: 0.5, duration_api_ms: 7 }), requests: 3 };
  const next = orderPastLimit(order, limited);
  assertEquals([next.requestsMade, next.resume, next.forwarded], [
    ...[3, ID, ["--model=opus", `--resume=${ID}`]],
  ]);
  assertEquals([next.sessionId, next.forkSession, next.altered], [undefined, false, undefined]);
  assertEquals(next.prompt === order.prompt, false);
  const again = orderPastLimit(next, reportOf({ total_cost_usd: 0.25, duration_api_ms: 2 }));
  assertEquals(again.forwarded, next.forwarded);
  assertEquals([next.before, again.before], [
    { results: 0, totalUsd: 0.5, apiDurationMs: 7 },
    { results: 0, totalUsd: 0.75, apiDurationMs: 9 },
  ]);
});

Deno.test("a signal ends the wait for a reset", async () => {
  using signals = new StopSignals({ listen: false });
  await waitUntil(Date.now() - 1, { signals, each: () => {} });
  let rounds = 0;
  const each = () => {
    rounds++;
    signals.raise("SIGTERM");
  };
  const waiting = waitUntil(Date.now() + 3_600_000, { signals, each });
  await assertRejects(() => waiting, StoppedError, "SIGTERM");
  assertEquals(rounds, 1);
});

Deno.test("a failed turn names its unrecorded request once", () => {
  const problems: string[] = [];
  const relay = { problems: () => problems };
  const options = { apiCassette: { folder: "c", onMiss: "fail", allowUpstream: false } } as const;
  const fine = { exitCode: 0, showScreen: false } as Report;
  const failed = { ...fine, exitCode: 1, problem: { message: "503" } } satisfies Report;
  const own = adviseOnMisses({ relay, options });
  const suggested = (report: Report) => own(report)?.problem?.suggestion?.slice(0, 21);
  assertEquals(suggested(failed), undefined);
  problems.push("Nothing is recorded of this");
  assertEquals([suggested(failed), suggested(failed)], ["Ask what was recorded", undefined]);
  problems.push("Nothing is recorded of that");
  assertEquals(suggested(fine), undefined);
  assertEquals(adviseOnMisses({ options })(failed), undefined);
  // A recording that cannot be written does not make a turn fail.
  assertEquals(adviseOnMisses({ relay, options: {} })(failed), undefined);
});

Deno.test("a line of the user's counts with the next input", () => {
  const lines = new LineTracker();
  const lineAfter = (type: string, uuid: string) => {
    const message = { id: "m", model: "m", role: type, content: [{ type: "text", text: "hi" }] };
    const entry = readEntry({ type, uuid, message });
    if (entry !== undefined) lines.observe({ at: 0, type: "transcript", entry });
    return lines.last;
  };
  assertEquals(
    [["user", "1"], ["assistant", "2"], ["user", "3"]].map(([type = "", uuid = ""]) =>
      lineAfter(type, uuid)
    ),
    [undefined, "2", "2"],
  );
  lines.observe({ at: 1, type: "read" });
  assertEquals(lines.last, "3");
});
