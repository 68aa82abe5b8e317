import { z } from "zod/mini";

/** An effect of the session machine as an event of a cast holds it. */
export const effectSchema: z.ZodMiniType<
  { readonly type: "look" | "answer" | "deliver" | "kill" | "list-shells" | "report" | "end" }
> = z
  .discriminatedUnion("type", [
    z.looseObject({ type: z.literal("look") }),
    z.looseObject({ type: z.literal("answer"), id: z.string() }),
    z.looseObject({ type: z.literal("deliver"), prompt: z.string() }),
    z.looseObject({ type: z.literal("kill"), signal: z.string(), tree: z.boolean() }),
    z.looseObject({ type: z.literal("list-shells") }),
    z.looseObject({
      type: z.literal("report"),
      report: z.looseObject({ exitCode: z.number() }),
    }),
    z.looseObject({ type: z.literal("end"), ending: z.looseObject({ kind: z.string() }) }),
  ]);
