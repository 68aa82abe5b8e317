import * as z from "zod/mini";
import { conversationOrder } from "../../library/hold_conversation.ts";
import type { Pool } from "../../server/pool/pool.ts";
import { parseJson } from "../../claude/wire/json_text.ts";
import { parseArguments } from "../arguments/parse_arguments.ts";
import { warmRequest, whyNotWarm } from "./warm_prompt.ts";

/** A run for which a server prepares a child. */
const EXPECTED_RUN = z.strictObject({
  argv: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  cwd: z.string().check(z.startsWith("/")),
  /** The body of the caller's `initialize` request. */
  initialize: z.optional(z.looseObject({})),
});

export type ExpectedRun = z.infer<typeof EXPECTED_RUN>;

/** A prompt that any warm child takes. */
const ANY_PROMPT = "Hello";

/**
 * Starts a warm child for runs like one that another process has described as JSON. Ignores an incomplete text, and a
 * run that no warm child can carry out.
 *
 * @throws {CliError} when the child cannot be prepared
 */
export async function prewarmExpectedRun(text: string, pool: Pool): Promise<void> {
  const { data } = EXPECTED_RUN.safeParse(parseJson(text));
  if (data === undefined) return;
  const { argv, env, cwd, initialize } = data;
  const command = await parseArguments(argv);
  if (command.kind !== "run") return;
  const { request } = command;
  if (request.inputFormat === "stream-json") {
    await pool.prewarm(request, { env, cwd, initialize, isKept: false });
    return;
  }
  const order = { ...conversationOrder(request, { env, cwd }), prompt: ANY_PROMPT };
  if (await whyNotWarm(request, order) !== undefined) return;
  await pool.prewarm(warmRequest(request), { env, cwd, isKept: false });
}
