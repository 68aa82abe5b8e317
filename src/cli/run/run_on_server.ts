import { warningText } from "../report/report_error.ts";
import { denoPromptIo, readPrompt } from "../arguments/read_prompt.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { CliError } from "../../cli_error.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { inTime } from "../../run/waits.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import {
  connectToServer,
  delegateRun,
  type DelegationResult,
} from "../../server/delegation/delegation_client.ts";
import type { ServerPlaces } from "../../server/server_places.ts";
import { createOutputWriter } from "../../claude/wire/output_writer.ts";
import type { Invocation } from "./invocation.ts";

/**
 * The additional time that the client waits for the end of a run, after the sum of the run's time limits, in
 * milliseconds.
 */
const GRACE_MS = 60_000;

/**
 * Delegates a run of one prompt, or of a conversation on stdin, to the server. Runs it locally if the server refuses.
 *
 * @returns the exit code
 */
export async function runOnServer(
  request: RunRequest,
  { argv, places, startsServer, ...invocation }: Pick<Invocation, "outlets" | "signals"> & {
    readonly argv: readonly string[];
    readonly places: ServerPlaces;
    /** Whether to start a server if none listens. */
    readonly startsServer: boolean;
  },
): Promise<number> {
  const { outlets, signals } = invocation;
  const runInstead = async (
    why: string | undefined,
    { prompt, serverArgv }: {
      readonly prompt?: Promise<string> | undefined;
      readonly serverArgv?: readonly string[] | undefined;
    } = {},
  ) => {
    if (request.trace && why !== undefined) {
      outlets.notify(`[     0 ms] without a server: ${why}\n`);
    }
    // The run awaits the prompt later. Until then, Deno must not report its rejection as unhandled.
    prompt?.catch(() => {});
    const { runLocally } = await import("./run_locally.ts");
    return await runLocally(request, { ...invocation, prompt, serverArgv });
  };
  const server = connectToServer(places);
  if (typeof server === "string") {
    return await runInstead(server, { serverArgv: startsServer ? argv : undefined });
  }
  const isConversation = request.inputFormat === "stream-json";
  let prompt: string | undefined;
  let cwd: string;
  try {
    cwd = currentFolder();
    prompt = isConversation ? undefined : await readPromptInTime(request, invocation);
  } catch (error) {
    server.close();
    // The local run reports the error in the right format.
    return await runInstead(undefined, { prompt: Promise.reject(error) });
  }
  const { timeoutMs, drainTimeoutMs, exitTimeoutMs, waitForLimitMs } = request;
  const isUnlimited = isConversation || waitForLimitMs !== undefined;
  const ended = delegateRun({
    argv,
    env: callerEnvironment(),
    cwd,
    ...(prompt === undefined ? {} : { prompt }),
    ...(isUnlimited ? {} : { deadline: timeoutMs + drainTimeoutMs + exitTimeoutMs + GRACE_MS }),
  }, { server, signals });
  // After an error, the server may have already accepted the run. Running it again could do everything twice.
  const end = await ended.catch((error: unknown): DelegationResult => ({
    kind: "lost",
    why: error instanceof Error ? error.message : `${error}`,
  }));
  switch (end.kind) {
    case "exited":
      return end.code;
    case "refused":
      return await runInstead(end.reason, {
        prompt: prompt === undefined ? undefined : Promise.resolve(prompt),
      });
    case "lost":
      return await reportLostRun(end, { request, outlets });
  }
}

async function readPromptInTime(
  request: RunRequest,
  { outlets, signals }: Pick<Invocation, "outlets" | "signals">,
): Promise<string> {
  const { timeoutMs, quiet } = request;
  return await readPrompt(
    request,
    denoPromptIo({
      inTime: (wait, what) => inTime(wait, { what, startedAt: 0, timeoutMs, signals }),
      warn: (text) => {
        if (!quiet) outlets.notify(warningText(text));
      },
    }),
  );
}

async function reportLostRun(
  { why, code = 2 }: Extract<DelegationResult, { readonly kind: "lost" }>,
  { request, outlets }: { readonly request: RunRequest; readonly outlets: Invocation["outlets"] },
): Promise<number> {
  const { reportFailure } = await import("../report/report_failure.ts");
  const error = new CliError(`Cannot tell how the run ended: ${why}`, {
    suggestion: "What it has done by then is in its session; --cold runs without a server",
    exitCode: code,
  });
  return reportFailure(error, {
    writer: createOutputWriter(request.outputFormat, {
      verbose: request.verbose,
      write: (text) => outlets.print(text),
    }),
    sessionId: request.sessionId ?? request.resume,
    outlets,
  });
}
