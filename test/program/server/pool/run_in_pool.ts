import type { RunRequest } from "../../../../src/cli/arguments/run_request.ts";
import { ProgramCaller } from "../../../../src/driver/inputs/callers.ts";
import { StopSignals } from "../../../../src/driver/stop_signals.ts";
import type { HoldOptions } from "../../../../src/library/hold_conversation.ts";
import { libraryRequest } from "../../../../src/library/library_request.ts";
import { Teardown } from "../../../../src/run/teardown.ts";
import type { Pool } from "../../../../src/server/pool/pool.ts";
import { messageLine } from "../../../../src/claude/wire/caller_line.ts";
import type { Frame } from "../../../../src/claude/wire/frame.ts";
import type { ThrowawayHome } from "../../../../fixtures/throwaway_home.ts";

/** What became of a conversation. */
export interface PoolRun {
  readonly exitCode: number;
  readonly results: readonly unknown[];
  readonly frames: readonly Frame[];
  readonly warnings: readonly string[];
  readonly traces: readonly string[];
}

/** What is unusual about one of them. */
export interface PoolRunOptions extends Partial<HoldOptions> {
  readonly args?: readonly string[];
  /** What is asked for beside that, as only the command line can. */
  readonly request?: Partial<RunRequest>;
  /** Says something in the place of one message. */
  readonly speak?: (caller: ProgramCaller) => void;
}

/** Holds a conversation of one message in a pool, and closes it. */
export async function runInPool(
  pool: Pick<Pool, "hold">,
  claude: { readonly binary: string; readonly home: ThrowawayHome },
  { args = [], request: asked, speak, ...options }: PoolRunOptions = {},
): Promise<PoolRun> {
  const request = await libraryRequest(["--claude-binary", claude.binary, ...args], {
    caller: "converse()",
  });
  const frames: Frame[] = [];
  const warnings: string[] = [];
  const traces: string[] = [];
  const results: unknown[] = [];
  const caller = new ProgramCaller();
  const warn = (text: string) => void warnings.push(text);
  using teardown = new Teardown({ warn });
  if (speak === undefined) {
    caller.say(messageLine("Hi", { ticket: "1" }));
    caller.close();
  } else speak(caller);
  const exitCode = await pool.hold({ ...request, ...asked }, {
    env: claude.home.env,
    cwd: claude.home.project,
    teardown,
    caller,
    signals: new StopSignals({ listen: false }),
    emit: (frame) => void frames.push(frame),
    onReport: ({ result }) => void results.push(result["result"]),
    warn,
    trace: (text) => void traces.push(text),
    ...options,
  });
  return { exitCode, results, frames, warnings, traces };
}
