import { assertEquals, assertRejects } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { ScreenMirror, watchRun } from "../../../src/cli/watch/watch_run.ts";

const REQUEST = {
  show: false,
  quiet: false,
  trace: false,
  outputFormat: "text",
  streamText: false,
} as const;
const HERE = {
  env: { TERM: "xterm-256color" },
  cwd: "/",
  isTerminal: { stdout: true, stderr: true },
};

Deno.test("text and json at a terminal have a live line", async () => {
  for (const outputFormat of ["text", "json"] as const) {
    using watcher = await watchRun({ ...REQUEST, outputFormat }, HERE);
    assertEquals(typeof watcher?.observe, "function");
  }
});

for (
  const [why, request, here] of [
    ["with --quiet", { quiet: true }, {}],
    ["with --trace", { trace: true }, {}],
    ["with stream-json", { outputFormat: "stream-json" }, {}],
    ["without a terminal", {}, { isTerminal: { stdout: true, stderr: false } }],
    ["on a dumb terminal", {}, { env: { TERM: "dumb" } }],
    ["on a terminal that nobody names", {}, { env: {} }],
  ] as const
) {
  Deno.test(`there is no live line ${why}`, async () => {
    assertEquals(await watchRun({ ...REQUEST, ...request }, { ...HERE, ...here }), undefined);
  });
}

for (
  const [message, request, here] of [
    ["stderr is not a terminal", {}, { isTerminal: { stdout: true, stderr: false } }],
    ["the terminal's TERM is dumb", {}, { env: { TERM: "dumb" } }],
    ["--trace writes to the same terminal", { trace: true }, {}],
    ["stream-json goes to the same terminal", { outputFormat: "stream-json" }, {}],
    ["--stream-text goes to the same terminal", { streamText: true }, {}],
  ] as const
) {
  Deno.test(`--show is refused: ${message}`, async () => {
    const error = await assertRejects(
      () => watchRun({ ...REQUEST, show: true, ...request }, { ...HERE, ...here }),
      CliError,
      `Cannot show Claude Code's screen: ${message}`,
    );
    assertEquals(error.exitCode, 2);
  });
}

const SPAWNED = { at: 0, type: "spawned" } as const;
const ENTER = "\x1b[?1049h\x1b[0m\x1b[2J\x1b[H";
const LEAVE = "\x18\x1b[?2026l\x1b[?6l\x1b[?7h\x1b[4l\x1b[r\x1b[0m\x1b[?25h\x1b[?1049l";

/** A mirror on a terminal that takes everything, or nothing. */
function mirrorOn(terminal: { takes: boolean }) {
  let shown = "";
  let pending = "";
  const steps: string[] = [];
  const flush = () => {
    if (!terminal.takes) return;
    shown += pending;
    pending = "";
  };
  const mirror = new ScreenMirror({
    output: {
      get pending() {
        return pending.length;
      },
      write: (text) => {
        pending += text;
        flush();
      },
      flush,
      drop: () => pending = "",
    },
    begin: () => {
      steps.push("begin");
      return { [Symbol.dispose]: () => void steps.push("end") };
    },
  });
  const draw = (text: string) =>
    mirror.observe({ at: 0, type: "terminal", bytes: new TextEncoder().encode(text) });
  return { mirror, draw, steps, shown: () => shown };
}

Deno.test("a mirror draws on the other screen and restores", () => {
  const { mirror, draw, steps, shown } = mirrorOn({ takes: true });
  mirror.observe(SPAWNED);
  draw("\x1b[31mhi\x1b[c");
  draw("\x1b[?10");
  draw("00h there");
  mirror.observe({ at: 0, type: "status", status: "busy" });
  mirror[Symbol.dispose]();
  mirror[Symbol.dispose]();
  assertEquals(shown(), `${ENTER}\x1b[31mhi there${LEAVE}`);
  assertEquals(steps, ["begin", "end"]);
});

Deno.test("a mirror of no run leaves the terminal alone", () => {
  const { mirror, steps, shown } = mirrorOn({ takes: true });
  mirror[Symbol.dispose]();
  assertEquals([shown(), steps], ["", []]);
});

Deno.test("a slow terminal is cleared and catches up", () => {
  const terminal = { takes: true };
  const { mirror, draw, shown } = mirrorOn(terminal);
  mirror.observe(SPAWNED);
  terminal.takes = false;
  for (let at = 0; at < 5; at++) draw("flood ".repeat(200_000));
  terminal.takes = true;
  draw("lost");
  mirror[Symbol.dispose]();
  assertEquals(shown(), `${ENTER}${LEAVE}`);
});

Deno.test("pending output is written as soon as possible", async () => {
  const terminal = { takes: false };
  const { mirror, draw, shown } = mirrorOn(terminal);
  mirror.observe(SPAWNED);
  draw("hello");
  terminal.takes = true;
  while (shown() === "") await new Promise((done) => setTimeout(done, 1));
  assertEquals(shown(), `${ENTER}hello`);
  mirror[Symbol.dispose]();
});
