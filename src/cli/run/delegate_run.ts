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

/** How much longer than all limits of a run its end is waited for, in milliseconds. */
const GRACE_MS = 60_000;

/**
 * Has a server carry out a run of one prompt, or of a conversation on stdin; what no server does is done here.
 *
 * @returns the exit code
 */
export async function runThere(
  request: RunRequest,
  { argv, places, ...invocation }: Pick<Invocation, "outlets" | "signals"> & {
    readonly argv: readonly string[];
    readonly places: ServerPlaces;
  },
): Promise<number> {
  const { outlets, signals } = invocation;
  const here = async (why: string | undefined, prompt?: Promise<string>) => {
    if (request.trace && why !== undefined) outlets.tell(`[     0 ms] without a server: ${why}\n`);
    // Whoever is told of it has to be there already.
    prompt?.catch(() => {});
    const { runHere } = await import("./run_locally.ts");
    return await runHere(request, { ...invocation, prompt });
  };
  const server = connectToServer(places);
  if (typeof server === "string") return await here(server);
  const isConversation = request.inputFormat === "stream-json";
  let prompt: string | undefined;
  let cwd: string;
  try {
    cwd = currentFolder();
    prompt = isConversation ? undefined : await readPrompt(
      request,
      denoPromptIo({
        inTime: (wait, what) =>
          inTime(wait, { what, startedAt: 0, timeoutMs: request.timeoutMs, signals }),
        warn: (text) => {
          if (!request.quiet) outlets.tell(`claude-print: Warning: ${text}\n`);
        },
      }),
    );
  } catch (error) {
    server.close();
    // It is told where and how it is told without a server.
    return await here(undefined, Promise.reject(error));
  }
  const { timeoutMs, drainTimeoutMs, exitTimeoutMs, waitForLimitMs } = request;
  const handed = delegateRun({
    argv,
    env: callerEnvironment(),
    cwd,
    ...(prompt === undefined ? {} : { prompt }),
    ...(isConversation || waitForLimitMs !== undefined
      ? {}
      : { deadline: timeoutMs + drainTimeoutMs + exitTimeoutMs + GRACE_MS }),
  }, { server, signals });
  // It may have been the server's already: what is told of a run that is lost goes for it too.
  const end = await handed.catch((error: unknown): DelegationResult => ({
    kind: "lost",
    why: error instanceof Error ? error.message : `${error}`,
  }));
  switch (end.kind) {
    case "exited":
      return end.code;
    case "refused":
      return await here(end.reason, prompt === undefined ? undefined : Promise.resolve(prompt));
    case "lost": {
      const { reportFailure } = await import("../report/report_failure.ts");
      const { why, code = 2 } = end;
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
        tell: (text) => outlets.tell(text),
      });
    }
  }
}
