import type { waitFor } from "../../ffi/processes/process.ts";
import { signalName } from "../../ffi/processes/signals.ts";
import { claudeVersion } from "../claude/program/claude_version.ts";
import type { Resources } from "./resources.ts";
import type { RunSessionOptions } from "./run_session_options.ts";
import { waitForReaders } from "./wait_once.ts";
import { readJsonObject } from "../sandbox/read_json_object.ts";
import type { ChildRemains, Exit, Input, Untimed } from "../conversation/control/input.ts";
import { costOfClaudeJson } from "../claude/transcript/turn/cost.ts";
import { STOP_SIGNALS } from "../claude/wire/stop_signal.ts";

/** Signals that whoever ends a job may send to all its processes, and how much later than the child this one may get it. */
const MEANT_FOR_ALL: readonly number[] = Object.values(STOP_SIGNALS);
const SIGNALLED_MS = 200;

/** Takes what is heard. */
export interface Hearing {
  /** The time, in milliseconds on the clock of inputs. */
  readonly now: () => number;
  readonly tell: (news: Iterable<Untimed<Input>> | undefined) => void;
  readonly onBytes: (bytes: Uint8Array<ArrayBuffer>) => void;
  /** Tells what the API has streamed. */
  readonly readStream: () => void;
}

/** Hears everything that a child which is gone has said before its end. */
export async function hearRest(
  options: RunSessionOptions,
  resources: Resources,
  { now, tell, onBytes, readStream }: Hearing,
): Promise<void> {
  const { child, outlets = [] } = options;
  const { terminal, written, shells } = resources;
  terminal.readRest(onBytes);
  tell(written.heard());
  const look = { at: now(), child: child.pid };
  tell(shells?.readAll(look));
  readStream();
  // Whoever takes the frames slowly is waited for, but not who takes none.
  let isTaken = true;
  for (tell(written.read()); written.isBehind; tell(written.readTranscript())) {
    if (isTaken) isTaken = await waitForReaders(outlets, resources);
  }
  tell(shells?.readAll(look));
  tell(toldLog(options));
}

/** What the child's debug log tells, where that is to be told. */
export function toldLog({ toldLines }: RunSessionOptions): readonly Untimed<Input>[] {
  return toldLines?.().map((line) => ({ type: "log", line })) ?? [];
}

/** How a child has ended. */
export function exitOf(waited: NonNullable<ReturnType<typeof waitFor>>): Exit {
  return waited.kind === "exited" ? waited : { ...waited, name: signalName(waited.signal) };
}

/** Whether the signal that has ended a child may have been sent to this program too, which by then has heard it. */
export async function mayBeMeantForAll(exit: Exit): Promise<boolean> {
  if (exit.kind !== "signaled" || !MEANT_FOR_ALL.includes(exit.signal)) return false;
  await new Promise((heard) => setTimeout(heard, SIGNALLED_MS));
  return true;
}

/** What a child has left; its executable is asked for its version only where no transcript names it. */
export async function remainsOf(
  { sandbox, sessionId, binary, env, cwd }: RunSessionOptions,
  told: string | undefined,
): Promise<ChildRemains> {
  const cost = costOfClaudeJson(
    readJsonObject(`${sandbox.configDir}/.claude.json`),
    sessionId,
  );
  const version = told === undefined
    ? await claudeVersion(binary, env, { cwd }).catch(() => undefined)
    : undefined;
  return {
    ...(cost === undefined ? {} : { cost }),
    ...(version === undefined ? {} : { version }),
  };
}
