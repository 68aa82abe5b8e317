import * as z from "zod/mini";
import { STOP_SIGNALS, type StopSignal } from "../../claude/wire/stop_signal.ts";

const STOP_NAMES = Object.keys(STOP_SIGNALS) as [StopSignal, ...StopSignal[]];

/** The run that a client hands over. */
const RunMessage = z.strictObject({
  type: z.literal("run"),
  /** Its command line, which it has read without finding anything wrong. */
  argv: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  cwd: z.string().check(z.startsWith("/")),
  /** How long ago it was started, in milliseconds: no time of a calendar, which may be set meanwhile. */
  age: z.number(),
  /** The prompt; absent for a conversation, whose words are on fd 0. */
  prompt: z.optional(z.string()),
});

/** What a client says. */
const ClientMessage = z.discriminatedUnion("type", [
  /** The first of all: which program it is. */
  z.object({ type: z.literal("hello"), program: z.string() }),
  RunMessage,
  /** With it come its fds 0, 1 and 2. */
  z.strictObject({ type: z.literal("streams") }),
  /** It does not carry the run out itself any more, whatever happens. */
  z.strictObject({ type: z.literal("go") }),
  z.strictObject({ type: z.literal("signal"), signal: z.enum([...STOP_NAMES, "SIGQUIT"]) }),
  /** Its terminal may have another size. */
  z.strictObject({ type: z.literal("resized") }),
  /** It is stopped, as by Ctrl-Z, and goes on. */
  z.strictObject({ type: z.literal("stopped") }),
  z.strictObject({ type: z.literal("continued") }),
]);

export type ClientMessage = z.infer<typeof ClientMessage>;
export type RunMessage = z.infer<typeof RunMessage>;

/** Reads what a client says; undefined for what none of this version would say. */
export function parseClientMessage(said: unknown): ClientMessage | undefined {
  return z.safeParse(ClientMessage, said).data;
}
