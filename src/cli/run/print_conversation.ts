import type { RunRequest } from "../arguments/run_request.ts";
import { createTracer, tellProblem } from "../report/outlets.ts";
import { type HoldRun, type Invocation, lettingGo } from "./invocation.ts";
import type { Caller } from "../../driver/inputs/caller/caller.ts";
import {
  conversationOrder,
  holdConversation,
  type HoldOptions,
} from "../../library/hold_conversation.ts";
import type { TurnReport } from "../../run/perform_conversation.ts";
import { Teardown } from "../../run/teardown.ts";
import { createOutputWriter, type OutputWriter } from "../../claude/wire/output_writer.ts";
import { CallerSource } from "../../driver/inputs/caller/caller_source.ts";
import { CommittedCaller } from "../../driver/inputs/caller/committed_caller.ts";

/** Who speaks in a conversation, and where what is said is printed. */
interface AloudOptions extends Pick<HoldOptions, "fork"> {
  readonly caller: Caller;
  readonly writer: OutputWriter;
  readonly invocation: Invocation;
  /** Takes what became of each turn, after it has been told. */
  readonly onReport?: (report: TurnReport) => void;
}

/**
 * A conversation that is printed as it goes, with what is to be told of it on stderr.
 *
 * @returns the exit code
 */
export async function converseAloud(request: RunRequest, options: AloudOptions): Promise<number> {
  const { caller, writer, invocation, onReport, fork } = options;
  const { outlets, signals, handedOver } = invocation;
  const crash = Promise.withResolvers<never>();
  const warning = (text: string) => `claude-print: Warning: ${text}\n`;
  const warn = (text: string) => outlets.tell(warning(text));
  using teardown = new Teardown({
    warn: (text) => outlets.tellLeft(warning(text)),
    ...(handedOver === undefined ? { onCrash: crash.reject } : {}),
  });
  const told: Promise<void>[] = [];
  const hold = handedOver?.hold ?? holdConversation;
  const holding = async () => {
    const env = invocation.env();
    const tracer = await createTracer(request, { env, tell: (text) => outlets.tell(text) });
    const cwd = invocation.cwd();
    const holdWith: HoldRun = (waitedFor) =>
      hold(request, {
        env,
        cwd,
        caller,
        ...(fork === undefined ? {} : { fork }),
        signals,
        ...(handedOver === undefined ? {} : { terminal: handedOver.terminal }),
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
        onLogLine: (line) => outlets.tell(`${line}\n`),
        ...waitedFor,
      });
    return await lettingGo(handedOver, {
      hold: holdWith,
      teardown,
      warn: request.quiet ? () => {} : warn,
      trace: tracer.trace,
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
      sessionId: request.sessionId ?? request.resume,
      label: undefined,
      tell: (text) => outlets.tell(text),
    });
  }
}

/**
 * A conversation on stdin and stdout, as `claude -p --input-format stream-json` holds it.
 *
 * @returns the exit code
 * @throws {UnsupportedError} for a run that the shim has sent here, before anything is read of stdin
 */
export async function converseOnStdin(
  request: RunRequest,
  invocation: Invocation,
): Promise<number> {
  const { outlets, stdin, isTerminal, handedOver } = invocation;
  if (request.handsOn) {
    const { refuseUnsupported } = await import("../../run/prepare_run.ts");
    await refuseUnsupported(conversationOrder(request, {
      env: invocation.env(),
      cwd: invocation.cwd(),
    }));
  }
  // claude -p leaves a prompt on the command line out where messages come from a pipe or a file.
  const first = isTerminal.stdin ? request.promptArgument : undefined;
  const caller = new CallerSource(stdin, {
    first: first === undefined ? [] : [{ type: "user", text: first, content: first }],
  });
  return await converseAloud(request, {
    invocation,
    writer: createOutputWriter("stream-json", {
      verbose: true,
      write: (text) => outlets.print(text),
    }),
    caller: handedOver === undefined ? caller : new CommittedCaller(caller, handedOver),
  });
}
