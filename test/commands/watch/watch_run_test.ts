import { assertEquals, assertRejects } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { watchRun } from "../../../src/commands/watch/watch_run.ts";

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

Deno.test("a person who waits for text or json at a terminal gets a live line", async () => {
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
    ["where the answer appears", { streamText: true }, {}],
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
