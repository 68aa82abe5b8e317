import type { StopSignals } from "../driver/stop_signals.ts";
import {
  COMMAND,
  commandAnswer,
  commandRequest,
} from "../conversation/protocol/requests/asked_command.ts";
import type { Consulted } from "../conversation/control/input.ts";
import type { SettledMessage } from "../conversation/control/message.ts";
import type { JsonObject } from "../json_object.ts";
import { inTime } from "./in_time.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { twinAlone } from "./twin_alone.ts";

/**
 * Has a headless Claude Code carry out the command that is all of a run, as the child of a conversation has it beside it.
 *
 * @returns the message with what came of it, and what the session is like
 * @throws {StoppedError} when the run's time is up, or a signal comes
 */
export async function askAlone(
  prepared: PreparedRun,
  { message, signals }: { readonly message: SettledMessage; readonly signals: StopSignals },
): Promise<{ readonly message: SettledMessage; readonly described?: JsonObject }> {
  const { timeoutMs, startedAt = performance.now() } = prepared.options;
  const { promise, resolve } = Promise.withResolvers<Consulted>();
  await prepared.sandbox.expectTranscripts();
  await using twin = twinAlone(prepared, (twin) => {
    for (const { said } of twin.take()) resolve(said);
  });
  twin.ask(commandRequest(message, COMMAND));
  const what = "a headless Claude Code had not carried out the command";
  const said = await inTime(promise, { what, startedAt, timeoutMs, signals });
  twin.bringNotes();
  const described = "init" in said ? { described: said.init } : {};
  return { message: commandAnswer(message, said), ...described };
}
