import { assert, assertEquals, assertMatch } from "@std/assert";
import { STOP_SIGNALS } from "../../src/wire/stop_signal.ts";
import type { Run } from "./run.ts";

/** Exit codes of the subtypes that are not `success`. */
const CODES: Readonly<Record<string, readonly number[]>> = {
  assistant_error: [1],
  error_max_turns: [1],
  refused: [1],
  internal_error: [2],
  start_timeout: [2],
  delivery_timeout: [2],
  drain_timeout: [2],
  exit_timeout: [2],
  timeout: [124],
  idle_timeout: [124],
  interrupted: Object.values(STOP_SIGNALS).map((number) => 128 + number),
};

/** Checks what holds for the output of every run, however it ended. */
export function checkOutput(
  run: Run,
  { warns, wakes }: { readonly warns: boolean; readonly wakes: boolean },
): void {
  const { code, stdout, stderr, format, frames, result } = run;
  const isSuccess = code === 0;
  if (isSuccess && !warns) assertEquals(stderr, "", "a success has nothing to say on stderr");
  if (!isSuccess) {
    assertMatch(
      stderr,
      /^claude-print: (?:[A-Z].*[^.\n]|(?:line \d+: )?Error: .*\.|-.*)\n/,
      "stderr names a cause",
    );
  }
  assert(!/^ +at .+:\d+/m.test(stderr), `a stack trace: ${stderr}`);
  assert(!/(?!\n)\p{Cc}/u.test(stderr), `control characters: ${JSON.stringify(stderr)}`);
  if (format === "text") {
    // The limit of turns is told as in `claude -p`, which leaves the line open.
    const isOpen = /^Error: Reached max turns \(\d+\)$/.test(stdout);
    assert(stdout === "" || isOpen || stdout.endsWith("\n"), "text ends with a new line");
    // A turn that is cut short prints its text so far.
    if (code !== 2) assert(!isSuccess || stdout !== "", "an answer is printed");
    else assertEquals(stdout, "", "a failure of the program prints nothing");
    return;
  }
  // The turn of a woken model has one of its own, behind which is told that it is over.
  const results = frames.filter(({ type }) => type === "result").length;
  assert(results === 1 || (wakes && results > 1), `${results} results`);
  assertEquals(result["type"], "result", "the result comes last");
  assertEquals(result["is_error"], !isSuccess);
  const subtype = String(result["subtype"]);
  assert((CODES[subtype] ?? [0, 1, 75]).includes(code), `${subtype} with exit code ${code}`);
}
