import { z } from "zod/mini";
import type { CastHeader } from "./cast.ts";
import { sideSchema } from "./side_schema.ts";

const milliseconds = z.number();

/** The first line of a cast that this program recorded. */
export const headerSchema: z.ZodMiniType<CastHeader> = z.object({
  version: z.literal(2),
  width: sideSchema,
  height: sideSchema,
  timestamp: z.number(),
  env: z.object({ TERM: z.string() }),
  claude_print: z.object({
    version: z.string(),
    claude_version: z.exactOptional(z.string()),
    session: z.object({
      inject: z.enum(["stdin", "paste", "rendezvous"]),
      prompt: z.string(),
      size: z.object({ rows: sideSchema, cols: sideSchema }),
      timeoutMs: milliseconds,
      startTimeoutMs: milliseconds,
      deliveryTimeoutMs: milliseconds,
      idleTimeoutMs: z.exactOptional(milliseconds),
      drainTimeoutMs: milliseconds,
      exitTimeoutMs: milliseconds,
      backgroundCeilingMs: z.exactOptional(milliseconds),
      otherStopHooks: z.boolean(),
    }),
  }),
});
