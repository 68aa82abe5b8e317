import { warningText } from "../report/report_error.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { createTracer, reportProblem } from "../report/outlets.ts";
import { type HoldRun, type Invocation, returnWhenComplete } from "./invocation.ts";
import { type Caller, StreamCaller } from "../../driver/inputs/callers.ts";
import {
  conversationOrder,
  holdConversation,
  type HoldOptions,
} from "../../library/hold_conversation.ts";
import type { TurnReport } from "../../run/perform_conversation.ts";
import { Teardown } from "../../run/teardown.ts";
import { createOutputWriter, type OutputWriter } from "../../claude/wire/output_writer.ts";
import { CommittedCaller } from "../../driver/inputs/deferring_callers.ts";
import { definedFields } from "../../defined_fields.ts";

interface PrintConversationOptions extends Pick<HoldOptions, "fork"> {
  readonly caller: Caller;
  readonly writer: OutputWriter;
  readonly invocation: Invocation;
  /** Called after each turn, when its problem has been printed. */
  readonly onReport?: (report: TurnReport) => void;
}

/**
 * Holds a conversation and prints its frames on stdout, its warnings and problems on stderr.
 *
 * @returns the exit code
 */
export async function printConversation(
  request: RunRequest,
  { caller, writer, invocation, onReport, fork }: PrintConversationOptions,
): Promise<number> {
  const { outlets, signals, delegation } = invocation;
  const crash = Promise.withResolvers<never>();
  const warn = (text: string) => {
    if (!request.quiet) outlets.notify(warningText(text));
  };
  using teardown = new Teardown({
    warn: (text) => outlets.notifyAlways(warningText(text)),
    ...(delegation === undefined ? { onCrash: crash.reject } : {}),
  });
  const reported: Promise<void>[] = [];
  const hold = delegation?.hold ?? holdConversation;
  const holding = async () => {
    const env = invocation.env();
    const tracer = await createTracer(request, { env, outlets });
    const cwd = invocation.cwd();
    const holdWith: HoldRun = (changing) =>
      hold(request, {
        env,
        cwd,
        caller,
        ...definedFields({ fork, terminal: delegation?.terminal }),
        signals,
        outlets: outlets.all,
        emit: writer.frame,
        onInput: (input) => invocation.onInput?.(input, tracer.trace),
        onReport: async (report) => {
          const reporting = reportProblem(report, {
            label: "",
            quiet: request.quiet,
            outlets,
            loadRedactor: tracer.loadRedactor,
          });
          reported.push(reporting);
          if (report.warning !== undefined) warn(report.warning);
          onReport?.(report);
          await reporting;
        },
        onPrepared: tracer.tracePrepared,
        onLogLine: (line) => outlets.notify(`${line}\n`),
        ...changing,
      });
    return await returnWhenComplete(delegation, {
      hold: holdWith,
      teardown,
      warn,
      trace: tracer.trace,
    });
  };
  try {
    const exitCode = await Promise.race([holding(), crash.promise]);
    await Promise.all(reported);
    writer.end();
    return exitCode;
  } catch (error) {
    const { reportFailure } = await import("../report/report_failure.ts");
    const sessionId = request.sessionId ?? request.resume;
    return reportFailure(error, { writer, sessionId, outlets });
  }
}

/**
 * Holds a conversation on stdin and stdout, as `claude -p --input-format stream-json` does.
 *
 * @returns the exit code
 * @throws {UnsupportedError} for a run that the shim started, before stdin is read
 */
export async function converseOnStdin(
  request: RunRequest,
  invocation: Invocation,
): Promise<number> {
  const { outlets, stdin, isTerminal, delegation } = invocation;
  if (request.isShimmed) {
    const { refuseUnsupported } = await import("../../run/prepare_run.ts");
    await refuseUnsupported(conversationOrder(request, {
      env: invocation.env(),
      cwd: invocation.cwd(),
    }));
  }
  // claude -p ignores a prompt argument when messages come from a pipe or a file.
  const first = isTerminal.stdin ? request.promptArgument : undefined;
  const caller = new StreamCaller(stdin, {
    first: first === undefined ? [] : [{ type: "user", text: first, content: first }],
  });
  return await printConversation(request, {
    invocation,
    writer: createOutputWriter("stream-json", {
      verbose: true,
      write: (text) => outlets.print(text),
    }),
    caller: delegation === undefined ? caller : new CommittedCaller(caller, delegation),
  });
}
