import { makeFifo } from "../../ffi/descriptors/pipe.ts";
import { DEFAULT_WINDOW_SIZE } from "../../ffi/terminal/pty.ts";
import { ChildTerminal } from "../../src/driver/child_terminal.ts";
import { runSession } from "../../src/driver/run_session.ts";
import { startChild } from "../../src/driver/start_child.ts";
import { StopSignals } from "../../src/driver/stop_signals.ts";
import { type BareSession, runBareSessions } from "./bare_tui.ts";
import { median } from "./median.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";
import { conversationOptions } from "../conversation/output/conversation_options.ts";

const MIN_MB_PER_S = 50;
const MAX_DELAY_MS = 20;

/** Two floods: nothing but text, and a colour change after every few bytes, far denser than any real screen. */
const FLOODS = {
  text: "head -c 200000000 /dev/zero | tr '\\0' x",
  escapes: "yes \"$(printf '\\033[31mred\\033[0m and \\033[1mbold\\033[22m')\" | head -c 100000000",
} as const;

/** How often the timer is due that shows whether the event loop is blocked. */
const TICK_MS = 5;

/** Measures how fast a terminal is read through the driver, and how long the event loop is blocked meanwhile. */
export async function measurePty(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const [name, script] of Object.entries(FLOODS)) {
    const session = {
      binary: "/bin/sh",
      args: ["-c", script],
      env: { PATH: "/usr/bin:/bin" },
      cwd: world.homes.bareTui.project,
      stdin: "/dev/null",
    };
    const ours: Timed<number>[] = [];
    const bare: Timed<number>[] = [];
    for (let round = 0; round <= options.runs; round++) {
      options.onRound(`terminal flooded with ${name}, round ${round} of ${options.runs}`);
      const a = await watchTimer(() => floodDriver(session, world));
      const b = await watchTimer(() => floodBare(session));
      if (round === 0) continue;
      ours.push(a);
      bare.push(b);
    }
    const [speed, bareSpeed] = [ours, bare].map((runs) => median(runs.map(({ value }) => value)));
    const [delay, idle] = [ours, bare].map((runs) => median(runs.map(({ delayMs }) => delayMs)));
    if (!speed || !bareSpeed || !delay || !idle) throw new Error("The flood was not measured");
    rows.push({
      what: `terminal read, ${name}`,
      value: `${speed.toFixed(0)} MB/s`,
      against: `bare loop, ${bareSpeed.toFixed(0)} MB/s`,
      ratio: speed / bareSpeed,
      ...(name === "text"
        ? { target: { text: `>= ${MIN_MB_PER_S} MB/s`, ok: speed >= MIN_MB_PER_S } }
        : {}),
    }, {
      what: "  worst delay of a 5 ms timer",
      value: `${delay.toFixed(1)} ms`,
      against: `idle meanwhile, ${idle.toFixed(1)} ms`,
      ratio: delay / idle,
      target: { text: `<= ${MAX_DELAY_MS} ms`, ok: delay <= MAX_DELAY_MS },
    });
  }
  return rows;
}

interface Timed<T> {
  readonly value: T;
  /** The worst delay of a timer meanwhile, in milliseconds. */
  readonly delayMs: number;
}

/** Does something and watches whether a timer of this process rings in time meanwhile. */
async function watchTimer<T>(work: () => Promise<T>): Promise<Timed<T>> {
  let delayMs = 0;
  let last = performance.now();
  const tick = setInterval(() => {
    const now = performance.now();
    delayMs = Math.max(delayMs, now - last - TICK_MS);
    last = now;
  }, TICK_MS);
  try {
    return { value: await work(), delayMs };
  } finally {
    clearInterval(tick);
  }
}

/** Reads a flood through the driver and its session machine, as a run does, in MB/s. */
async function floodDriver(session: BareSession, world: World): Promise<number> {
  const folder = await Deno.makeTempDir({ dir: world.homes.bareTui.tmp });
  try {
    const fifoPath = `${folder}/fifo`;
    makeFifo(fifoPath);
    let bytes = 0;
    using signals = new StopSignals();
    let endedAfterMs = 0;
    let ending = "";
    using child = startChild({
      binary: session.binary,
      args: session.args,
      env: session.env,
      cwd: session.cwd,
      size: DEFAULT_WINDOW_SIZE,
      sandbox: {
        configDir: folder,
        helperDir: `${folder}/helper`,
        fifoPath,
        payloadDir: folder,
        secret: "",
        stdinPath: session.stdin,
      },
    });
    await runSession({
      child,
      childTerminal: new ChildTerminal(child.pty, DEFAULT_WINDOW_SIZE),
      begin: [{ type: "message", message: { text: "", way: "stdin" } }, { type: "closed" }],
      binary: session.binary,
      env: session.env,
      cwd: session.cwd,
      conversation: conversationOptions({ size: DEFAULT_WINDOW_SIZE }),
      earlier: [],
      frames: false,
      sessionId: "",
      sandbox: {
        configDir: folder,
        tempDir: folder,
        streamsDir: folder,
        bridges: [],
        resumed: new Map(),
        recordGivenId: () => {},
      },
      signals,
      onInput: (input) => {
        if (input.type === "terminal") bytes += input.bytes.length;
        if (input.type === "exit") endedAfterMs = input.at;
      },
      onEffect: (effect) => {
        if (effect.type === "end") ending = effect.ending.kind;
      },
    });
    if (ending !== "exited") throw new Error(`The flood ended with "${ending}"`);
    return bytes / 1000 / endedAfterMs;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Reads a flood with a loop of poll and read, in MB/s. */
async function floodBare(session: BareSession): Promise<number> {
  const [outcome] = await runBareSessions([session]);
  if (outcome === undefined) throw new Error("The bare loop told nothing");
  return outcome.bytes / 1000 / outcome.exited;
}
