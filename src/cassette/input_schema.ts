import { z } from "zod/mini";
import { DEADLINE_NAMES } from "../session/deadline_names.ts";
import type { Input, TranscriptSign } from "../session/input.ts";
import { STOP_SIGNALS, type StopSignal } from "../wire/stop_signal.ts";
import { sideSchema } from "./side_schema.ts";

// deno-lint-ignore no-explicit-any
type Untimed<Kind> = Kind extends any ? Omit<Kind, "at"> : never;

/** An input of the session machine as an event of a cast holds it: without its time, and never the terminal's bytes. */
export type RecordedInput = Untimed<Exclude<Input, { readonly type: "terminal" }>>;

const SIGNALS = Object.keys(STOP_SIGNALS) as readonly StopSignal[];

const place = z.object({ row: z.number(), col: z.number() });
const exit = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("exited"), code: z.number() }),
  z.object({ kind: z.literal("signaled"), signal: z.number() }),
]);

/** Every field has to be here: one that is not would reach the session unchecked. */
const TRANSCRIPT_SIGN = {
  type: z.string(),
  subtype: z.exactOptional(z.string()),
  prompt: z.boolean(),
  text: z.exactOptional(z.string()),
  end: z.exactOptional(z.enum(["completed", "interrupted"])),
  version: z.exactOptional(z.string()),
  shellLimitMs: z.exactOptional(z.number()),
  called: z.exactOptional(z.array(z.string())),
  returned: z.exactOptional(z.array(z.string())),
} satisfies Record<keyof TranscriptSign, z.ZodMiniType>;

/** Any of them. */
export const inputSchema: z.ZodMiniType<RecordedInput> = z.discriminatedUnion("type", [
  z.object({ type: z.literal("spawned") }),
  z.object({
    type: z.literal("hook"),
    event: z.string(),
    payload: z.record(z.string(), z.unknown()),
  }),
  z.object({ type: z.literal("unheard") }),
  z.object({ type: z.literal("reachable") }),
  z.object({
    type: z.literal("status"),
    status: z.string(),
    waitingFor: z.exactOptional(z.string()),
  }),
  z.object({
    type: z.literal("transcript"),
    entry: z.object(TRANSCRIPT_SIGN),
  }),
  z.object({
    type: z.literal("screen"),
    screen: z.object({ lines: z.array(z.string()), cursor: place }),
  }),
  z.object({ type: z.literal("signal"), signal: z.enum(SIGNALS) }),
  z.object({
    type: z.literal("resized"),
    size: z.object({ rows: sideSchema, cols: sideSchema }),
  }),
  z.object({ type: z.literal("deadline"), name: z.enum(DEADLINE_NAMES) }),
  z.object({ type: z.literal("exit"), exit }),
]);
