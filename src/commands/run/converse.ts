import type { RunRequest } from "../../cli/run_request.ts";
import type { Outlets } from "../report/outlets.ts";
import { tellProblem } from "../report/report_error.ts";
import { createTracer } from "./tracer.ts";
import { CallerSource } from "../../driver/sources/caller/caller_source.ts";
import type { StopSignals } from "../../driver/stop_signals.ts";
import { holdConversation } from "../../library/hold_conversation.ts";
import { currentFolder } from "../../run/facts/current_folder.ts";
import { Teardown } from "../../run/teardown.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { createOutputWriter } from "../../wire/output_writer.ts";

/** The fd on which the caller speaks. */
const STDIN = 0;

/**
 * A conversation on stdin and stdout, as `claude -p --input-format stream-json` holds it.
 *
 * @returns the exit code
 */
export async function converseOnStdin(
  request: RunRequest,
  options: {
    readonly write: (text: string) => void;
    readonly outlets: Outlets;
    readonly signals: StopSignals;
  },
): Promise<number> {
  const { outlets, signals } = options;
  const writer = createOutputWriter("stream-json", { verbose: true, write: options.write });
  const crash = Promise.withResolvers<never>();
  const warn = (text: string) => outlets.tell(`claude-print: Warning: ${text}\n`);
  using teardown = new Teardown({ warn, onCrash: crash.reject });
  const env = callerEnvironment();
  const told: Promise<void>[] = [];
  const holding = async () => {
    const tracer = await createTracer(request, { env, tell: (text) => outlets.tell(text) });
    const { promptArgument: first } = request;
    return await holdConversation(request, {
      env,
      cwd: currentFolder(),
      teardown,
      caller: new CallerSource(STDIN, {
        first: first === undefined ? [] : [{ type: "user", text: first, content: first }],
      }),
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
