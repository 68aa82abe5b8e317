import { z } from "zod/mini";
import { type Fields, LIMITS, sideSchema } from "./header_schema.ts";
import type { LineSummary, RecordedInput } from "../recorded_input.ts";
import { DEADLINE_NAMES, type Input, type Subagent } from "../../../conversation/control/input.ts";
import type { LateTerms } from "../../../conversation/control/session_options.ts";
import type {
  AskedCommand,
  CarriedOut,
  NotedChanges,
  Prompt,
} from "../../../conversation/control/message.ts";
import { STOP_SIGNALS, type StopSignal } from "../../../claude/wire/stop_signal.ts";

const SIGNALS = Object.keys(STOP_SIGNALS) as readonly StopSignal[];

const place = z.object({ row: z.number(), col: z.number() });
const exit = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("exited"), code: z.number() }),
  z.object({
    kind: z.literal("signaled"),
    signal: z.number(),
    name: z.exactOptional(z.string()),
  }),
]);

const LINE_SUMMARY = {
  type: z.string(),
  subtype: z.exactOptional(z.string()),
  prompt: z.boolean(),
  text: z.exactOptional(z.string()),
  end: z.exactOptional(z.enum(["completed", "interrupted"])),
  version: z.exactOptional(z.string()),
  shellLimitMs: z.exactOptional(z.number()),
  called: z.exactOptional(z.array(z.string())),
  returned: z.exactOptional(z.array(z.string())),
} satisfies Fields<LineSummary>;

/** The fields of an input, without its time. */
type FieldsOf<Type extends Input["type"]> = Omit<Extract<Input, { readonly type: Type }>, "at">;

const line = z.record(z.string(), z.unknown());
const subagent = z.object(
  {
    agentId: z.string(),
    toolUseId: z.exactOptional(z.string()),
    background: z.exactOptional(z.literal(true)),
    type: z.string(),
    description: z.string(),
  } satisfies Fields<Subagent>,
);
const fault = z.object({
  attempt: z.number(),
  maxRetries: z.number(),
  status: z.nullable(z.number()),
});
const retry = z.extend(fault, { delayMs: z.number() });
const limits = z.object({
  rate_limits: z.exactOptional(z.record(
    z.string(),
    z.object({ used_percentage: z.number(), resets_at: z.exactOptional(z.number()) }),
  )),
  context_window: z.exactOptional(line),
});
const changedLines = z.object({ added: z.number(), removed: z.number() });
const remains = z.object({
  cost: z.exactOptional(z.object({
    totalUsd: z.number(),
    apiDurationMs: z.number(),
    modelUsage: z.record(z.string(), line),
    // JSON has no undefined.
    hasUnknownPrice: z.pipe(z.optional(z.boolean()), z.transform((value) => value)),
  })),
  version: z.exactOptional(z.string()),
});

const fields = {
  text: z.string(),
  uuid: z.exactOptional(z.string()),
  ticket: z.exactOptional(z.string()),
  priority: z.exactOptional(z.enum(["now", "next", "later"])),
  human: z.exactOptional(z.literal(true)),
  synthetic: z.exactOptional(z.literal(true)),
  stopped: z.exactOptional(z.literal(true)),
  unread: z.exactOptional(z.literal(true)),
  timeLeftMs: z.exactOptional(z.number()),
  content: z.exactOptional(z.unknown()),
  hasContext: z.exactOptional(z.literal(true)),
  namesake: z.exactOptional(z.literal(true)),
  repeated: z.exactOptional(z.union([z.literal(true), z.literal("before")])),
};
const message = z.union([
  z.object(
    {
      ...fields,
      way: z.enum(["stdin", "paste", "rendezvous"]),
      command: z.exactOptional(z.string()),
      altered: z.exactOptional(z.string()),
      images: z.exactOptional(z.literal(true)),
    } satisfies Fields<Prompt>,
  ),
  z.object({
    ...fields,
    settled: z.discriminatedUnion("kind", [
      z.object({
        kind: z.literal("local"),
        text: z.string(),
        version: z.string(),
        blank: z.exactOptional(z.literal(true)),
        carried: z.exactOptional(z.object(
          {
            name: z.exactOptional(z.string()),
            words: z.exactOptional(z.string()),
            fields: z.exactOptional(line),
            begun: z.exactOptional(z.string()),
            title: z.exactOptional(z.string()),
            commands: z.exactOptional(z.array(z.unknown())),
            changes: z.exactOptional(z.object(
              {
                model: z.exactOptional(z.string()),
                chosenModel: z.exactOptional(z.string()),
                effort: z.exactOptional(z.nullable(z.string())),
                flagSettings: z.exactOptional(line),
              } satisfies Fields<NotedChanges>,
            )),
          } satisfies Fields<CarriedOut>,
        )),
      }),
      z.object(
        {
          kind: z.literal("asked"),
          version: z.string(),
          clears: z.exactOptional(z.literal(true)),
          notes: z.exactOptional(z.literal(true)),
          alone: z.exactOptional(z.literal(true)),
          unavailable: z.exactOptional(z.literal(true)),
        } satisfies Fields<AskedCommand>,
      ),
      z.object({
        kind: z.literal("refused"),
        message: z.string(),
        suggestion: z.string(),
        malformed: z.exactOptional(z.literal(true)),
      }),
      z.object({ kind: z.literal("unaffordable") }),
    ]),
  }),
]);

const terms = z.object(
  {
    ...LIMITS,
    replayMessages: z.exactOptional(z.boolean()),
    subagentText: z.exactOptional(z.boolean()),
    hookEvents: z.exactOptional(z.boolean()),
    trace: z.boolean(),
    initializedBy: z.exactOptional(z.string()),
  } satisfies Fields<LateTerms>,
);

const streamedPart = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("request"),
    offer: z.exactOptional(z.object({ tools: z.array(z.string()), fast: z.boolean() })),
  }),
  z.object({
    kind: z.literal("limits"),
    limits: z.exactOptional(
      z.object({ headers: z.record(z.string(), z.string()), now: z.number() }),
    ),
  }),
  z.object({ kind: z.literal("event"), event: line }),
  z.object({ kind: z.literal("end") }),
]);

/** Parses a recorded input. */
export const inputSchema: z.ZodMiniType<RecordedInput> = z.union([
  z.object({ type: z.literal("transcript"), line }),
  z.object({ type: z.literal("transcript"), entry: z.object(LINE_SUMMARY) }),
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("spawned") }),
    z.object({ type: z.literal("terms"), terms }),
    z.object({ type: z.literal("message"), message }),
    z.object({
      type: z.literal("control"),
      // The oldest recordings hold only the names of a request's other fields, and no `body`.
      request: z.object({
        id: z.string(),
        given: z.exactOptional(z.object({ request_id: z.exactOptional(z.unknown()) })),
        subtype: z.string(),
        body: z._default(line, {}),
        ahead: z.exactOptional(z.literal(true)),
      }),
    }),
    z.object(
      {
        type: z.literal("consulted"),
        id: z.string(),
        said: z.union([
          z.object({
            response: line,
            init: z.exactOptional(line),
            isUndescribed: z.exactOptional(z.literal(true)),
          }),
          z.object({
            error: z.string(),
            errorCode: z.exactOptional(z.string()),
            model: z.exactOptional(z.string()),
          }),
          z.object({ failure: z.string() }),
        ]),
      } satisfies Fields<FieldsOf<"consulted">>,
    ),
    z.object(
      {
        type: z.literal("mcp-message"),
        server: z.string(),
        message: line,
        problems: z.exactOptional(
          z.array(z.object({ text: z.string(), found: z.exactOptional(z.string()) })),
        ),
      } satisfies Fields<FieldsOf<"mcp-message">>,
    ),
    z.object({
      type: z.literal("answer"),
      answer: z.union([
        z.object({ id: z.string(), error: z.string() }),
        z.object({ id: z.string(), response: z.unknown() }),
      ]),
    }),
    z.object({ type: z.literal("unreadable"), reason: z.string() }),
    z.object({ type: z.literal("closed") }),
    z.object(
      {
        type: z.literal("cost"),
        totalUsd: z.number(),
        apiDurationMs: z.number(),
        lines: z.exactOptional(changedLines),
        limits: z.exactOptional(limits),
        ranAt: z.exactOptional(z.number()),
      } satisfies Fields<FieldsOf<"cost">>,
    ),
    z.object(
      {
        type: z.literal("hook"),
        event: z.string(),
        payload: z.record(z.string(), z.unknown()),
        id: z.exactOptional(z.string()),
        callback: z.exactOptional(z.number()),
        ranAt: z.exactOptional(z.number()),
      } satisfies Fields<FieldsOf<"hook">>,
    ),
    z.object(
      {
        type: z.literal("mcp"),
        begun: z.number(),
        done: z.number(),
        settled: z.exactOptional(z.record(z.string(), z.enum(["connected", "failed"]))),
      } satisfies Fields<FieldsOf<"mcp">>,
    ),
    z.object({ type: z.literal("unheard") }),
    z.object({ type: z.literal("reachable") }),
    z.object(
      {
        type: z.literal("status"),
        status: z.string(),
        waitingFor: z.exactOptional(z.string()),
        updatedAt: z.exactOptional(z.number()),
        version: z.exactOptional(z.string()),
      } satisfies Fields<FieldsOf<"status">>,
    ),
    z.object({ type: z.literal("earlier"), lines: z.array(line) }),
    z.object({ type: z.literal("subagent"), subagent, line }),
    z.object(
      { type: z.literal("subagent-note"), agentId: z.string(), note: line } satisfies Fields<
        FieldsOf<"subagent-note">
      >,
    ),
    z.object({ type: z.literal("read") }),
    z.object({ type: z.literal("log"), line: z.string() }),
    z.object({ type: z.literal("fault"), fault }),
    z.object({ type: z.literal("retry"), retry }),
    z.object({ type: z.literal("stream"), request: z.number(), part: streamedPart }),
    z.object({
      type: z.literal("shells"),
      ids: z.array(z.string()),
      startedAt: z.exactOptional(z.array(z.number())),
      unused: z.exactOptional(z.literal(true)),
    }),
    z.object(
      {
        type: z.literal("shell"),
        id: z.string(),
        command: z.exactOptional(z.string()),
        running: z.boolean(),
      } satisfies Fields<FieldsOf<"shell">>,
    ),
    z.object(
      {
        type: z.literal("shell-output"),
        id: z.string(),
        text: z.string(),
        stream: z.exactOptional(z.enum(["stdout", "stderr"])),
      } satisfies Fields<FieldsOf<"shell-output">>,
    ),
    z.object(
      {
        type: z.literal("shell-over"),
        id: z.string(),
        cut: z.exactOptional(z.literal(true)),
      } satisfies Fields<FieldsOf<"shell-over">>,
    ),
    z.object({
      type: z.literal("screen"),
      screen: z.object({ lines: z.array(z.string()), cursor: place }),
    }),
    z.object({ type: z.literal("suspended"), ms: z.number() }),
    z.object({ type: z.literal("signal"), signal: z.enum(SIGNALS) }),
    z.object({
      type: z.literal("resized"),
      size: z.object({ rows: sideSchema, cols: sideSchema }),
    }),
    z.object({ type: z.literal("deadline"), name: z.enum(DEADLINE_NAMES) }),
    z.object(
      { type: z.literal("exit"), exit, remains: z.exactOptional(remains) } satisfies Fields<
        FieldsOf<"exit">
      >,
    ),
  ]),
]);
