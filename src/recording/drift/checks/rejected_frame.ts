import { z } from "zod/mini";
import type { JsonObject } from "../../../json_object.ts";
import type { Found } from "../finding.ts";
import { kindOf } from "../piece.ts";

const block = z.looseObject({ type: z.string() });
const session = { session_id: z.string() };
const parent = { parent_tool_use_id: z.exactOptional(z.nullable(z.string())) };

/** What whoever reads frames relies on, by their type. */
const SCHEMAS: Readonly<Record<string, z.ZodMiniType>> = {
  system: z.looseObject({ subtype: z.string(), ...session }),
  assistant: z.looseObject({
    message: z.looseObject({
      id: z.string(),
      model: z.string(),
      content: z.array(block),
      usage: z.exactOptional(z.nullable(z.looseObject({}))),
    }),
    ...parent,
    ...session,
  }),
  user: z.looseObject({
    message: z.looseObject({ content: z.union([z.string(), z.array(block)]) }),
    ...parent,
  }),
  result: z.looseObject({
    subtype: z.string(),
    is_error: z.boolean(),
    num_turns: z.number(),
    result: z.exactOptional(z.string()),
    errors: z.exactOptional(z.array(z.string())),
    total_cost_usd: z.exactOptional(z.number()),
    usage: z.exactOptional(z.looseObject({})),
    modelUsage: z.exactOptional(z.record(z.string(), z.looseObject({}))),
    permission_denials: z.exactOptional(z.array(z.looseObject({}))),
    ...session,
  }),
  stream_event: z.looseObject({ event: block, ...parent, ...session }),
  rate_limit_event: z.looseObject({ rate_limit_info: z.looseObject({}), ...session }),
  control_response: z.looseObject({
    response: z.discriminatedUnion("subtype", [
      // It has the id of its request, whatever that is.
      z.looseObject({ subtype: z.literal("success") }),
      z.looseObject({ subtype: z.literal("error"), error: z.string() }),
    ]),
  }),
  control_request: z.looseObject({
    request_id: z.string(),
    request: z.looseObject({ subtype: z.string() }),
  }),
  control_cancel_request: z.looseObject({ request_id: z.string() }),
  command_lifecycle: z.looseObject({ command_uuid: z.string(), state: z.string() }),
  transcript_mirror: z.looseObject({
    filePath: z.string(),
    entries: z.array(z.looseObject({})),
  }),
};

/** Whether a frame is of a known type and does not look as one of these has to. */
export function rejectedFrame(frame: JsonObject): readonly Found[] {
  const { type } = frame;
  const schema = typeof type === "string" && Object.hasOwn(SCHEMAS, type)
    ? SCHEMAS[type]
    : undefined;
  const issue = schema?.safeParse(frame).error?.issues[0];
  if (issue === undefined) return [];
  const what = `${issue.path.map(String).join(".")}: ${issue.message}`;
  return [{ check: "frame rejected", where: `frame ${kindOf(frame)}`, what }];
}
