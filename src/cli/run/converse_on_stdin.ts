import type { RunRequest } from "../arguments/run_request.ts";
import { converseAloud } from "./converse_aloud.ts";
import type { Invocation } from "./invocation.ts";
import { CallerSource } from "../../driver/inputs/caller/caller_source.ts";
import { CommittedCaller } from "../../driver/inputs/caller/committed_caller.ts";
import { conversationOrder } from "../../library/hold_conversation.ts";
import { createOutputWriter } from "../../claude/wire/output_writer.ts";

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
