import type { RunRequest } from "../../cli/run_request.ts";
import type { Outlets } from "../report/outlets.ts";
import { tellProblem } from "../report/report_error.ts";
import { createTracer } from "./tracer.ts";
import type { Caller } from "../../driver/sources/caller/caller.ts";
import type { StopSignals } from "../../driver/stop_signals.ts";
import { holdConversation, type HoldOptions } from "../../library/hold_conversation.ts";
import type { TurnReport } from "../../run/converse.ts";
import { currentFolder } from "../../run/facts/current_folder.ts";
import { Teardown } from "../../run/teardown.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import type { OutputWriter } from "../../wire/output_writer.ts";

/** Who speaks in a conversation, and where what is said is printed. */
export interface AloudOptions extends Pick<HoldOptions, "fork"> {
  readonly caller: Caller;
  readonly writer: OutputWriter;
  readonly outlets: Outlets;
  readonly signals: StopSignals;
  /** Takes what became of each turn, after it has been told. */
  readonly onReport?: (report: TurnReport) => void;
}

/**
 * A conversation that is printed as it goes, with what is to be told of it on stderr.
 *
 * @returns the exit code
 */
export async function converseAloud(request: RunRequest, options: AloudOptions): Promise<number> {
  const { caller, writer, outlets, signals, onReport, fork } = options;
  const crash = Promise.withResolvers<never>();
  const warn = (text: string) => outlets.tell(`claude-print: Warning: ${text}\n`);
  using teardown = new Teardown({ warn, onCrash: crash.reject });
  const env = callerEnvironment();
  const told: Promise<void>[] = [];
  const holding = async () => {
    const tracer = await createTracer(request, { env, tell: (text) => outlets.tell(text) });
    return await holdConversation(request, {
      env,
      cwd: currentFolder(),
      teardown,
      caller,
      ...(fork === undefined ? {} : { fork }),
      signals,
      outlets: outlets.all,
      emit: writer.frame,
      onReport: async (report) => {
        const telling = tellProblem(report, {
          label: "",
          quiet: request.quiet,
          outlets,
          loadRedactor: tracer.loadRedactor,
        });
        told.push(telling);
        if (report.warning !== undefined && !request.quiet) warn(report.warning);
        onReport?.(report);
        await telling;
      },
      onPrepared: tracer.prepared,
      warn: request.quiet ? () => {} : warn,
      trace: tracer.trace,
      onLogLine: (line) => outlets.tell(`${line}\n`),
    });
  };
  try {
    const exitCode = await Promise.race([holding(), crash.promise]);
    await Promise.all(told);
    writer.end();
    return exitCode;
  } catch (error) {
    const { reportFailure } = await import("../report/report_failure.ts");
    return reportFailure(error, {
      writer,
      sessionId: request.sessionId,
      label: undefined,
      tell: (text) => outlets.tell(text),
    });
  }
}
