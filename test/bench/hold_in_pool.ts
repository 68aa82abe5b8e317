import { ProgramCaller } from "../../src/driver/inputs/callers.ts";
import { StopSignals } from "../../src/driver/stop_signals.ts";
import { libraryRequest } from "../../src/library/library_request.ts";
import { Teardown } from "../../src/run/teardown.ts";
import type { Pool } from "../../src/server/pool/pool.ts";
import { messageLine } from "../../src/claude/wire/caller_line.ts";
import { PROMPT } from "./prompt.ts";
import type { World } from "./world.ts";

/** Holds a conversation of one message in a pool, and says how long its result and its end took, in milliseconds. */
export async function holdInPool(
  pool: Pick<Pool, "hold">,
  { claude, homes: { claudePrint } }: World,
): Promise<{ readonly result: number; readonly end: number }> {
  const request = await libraryRequest(["--claude-binary", claude], { caller: "converse()" });
  const caller = new ProgramCaller();
  const warn = (text: string) => {
    throw new Error(text);
  };
  using teardown = new Teardown({ warn });
  const begunAt = performance.now();
  let result = NaN;
  caller.say(messageLine(PROMPT, { ticket: "1" }));
  caller.close();
  await pool.hold(request, {
    env: claudePrint.env,
    cwd: claudePrint.project,
    teardown,
    caller,
    signals: new StopSignals({ listen: false }),
    onReport: ({ problem }) => {
      if (problem !== undefined) throw new Error(problem.message);
      result = performance.now() - begunAt;
    },
    warn,
    trace: () => {},
  });
  return { result, end: performance.now() - begunAt };
}
