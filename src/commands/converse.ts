import { CallerSource } from "../driver/sources/caller_source.ts";
import type { StopSignals } from "../driver/stop_signals.ts";
import type { RunRequest } from "../cli/run_request.ts";
import { converse } from "../run/converse.ts";
import { currentFolder } from "../run/current_folder.ts";
import { Teardown } from "../run/teardown.ts";
import { callerEnvironment } from "../sandbox/child/caller_environment.ts";
import { createOutputWriter } from "../wire/output_writer.ts";
import type { Outlets } from "./outlets.ts";
import { tellProblem } from "./tell_problem.ts";

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
  const begunAt = performance.now();
  const writer = createOutputWriter("stream-json", { verbose: true, write: options.write });
  const crash = Promise.withResolvers<never>();
  const warn = (text: string) => outlets.tell(`claude-print: Warning: ${text}\n`);
  using teardown = new Teardown({ warn, onCrash: crash.reject });
  const env = callerEnvironment();
  const loadRedactor = async () => {
    const { createRedactor } = await import("../redaction/redact.ts");
    return createRedactor({
      env,
      args: [...request.forwarded, `--settings=${request.settings ?? ""}`],
    });
  };
  const redactor = request.trace ? await loadRedactor() : undefined;
  const trace = (text: string) => {
    if (redactor === undefined) return;
    const at = (performance.now() - begunAt).toFixed(0).padStart(6);
    outlets.tell(`[${at} ms] ${redactor.text(text)}\n`);
  };
  const told: Promise<void>[] = [];
  const holding = async () => {
    const recorder = request.record === undefined
      ? undefined
      : (await import("../library/record_run.ts")).recordRun(request.record, { env, request });
    if (recorder !== undefined) teardown.keep(recorder.save);
    const { promptArgument: first } = request;
    return await converse({
      ...request,
      prompt: undefined,
      replayMessages: request.replayMessages,
      cwd: currentFolder(),
      env,
      frames: true,
      retries: true,
    }, {
      caller: new CallerSource(STDIN, {
        first: first === undefined ? [] : [{ type: "user", text: first, content: first }],
      }),
      signals,
      outlets: outlets.all,
      emit: writer.frame,
      onInput: (input) => recorder?.input(input),
      onEffect: (effect) => recorder?.effect(effect),
      onReport: async (report) => {
        const telling = tellProblem(report, {
          label: "",
          quiet: request.quiet,
          outlets,
          loadRedactor,
        });
        told.push(telling);
        if (report.warning !== undefined && !request.quiet) warn(report.warning);
        await telling;
      },
      onPrepared: (prepared) => {
        teardown.own(prepared.sandbox);
        recorder?.begin(prepared);
        trace(`sandbox ${prepared.sandbox.path}`);
        if (redactor !== undefined) {
          trace(`${prepared.binary} ${redactor.commandLine(prepared.args)}`);
        }
      },
      onChildEnded: () => {
        teardown.childEnded();
        teardown.run();
      },
      warn,
      trace,
    });
  };
  try {
    const exitCode = await Promise.race([holding(), crash.promise]);
    await Promise.all(told);
    return exitCode;
  } catch (error) {
    const { reportFailure } = await import("./report_failure.ts");
    return reportFailure(error, {
      writer,
      sessionId: request.sessionId,
      label: undefined,
      tell: (text) => outlets.tell(text),
    });
  }
}
