import { z } from "zod/mini";
import { factsSchema } from "../../../claude/versions/facts_schema.ts";
import type { CastHeader } from "../cassette_format.ts";
import type { ConversationOptions } from "../../../conversation/output/conversation.ts";
import type { EarlierOutput, OutputOptions } from "../../../conversation/output/output_options.ts";
import type { ReportOptions } from "../../../conversation/output/result/verdict.ts";
import type { SubagentStats } from "../../../conversation/output/result/turn_totals.ts";
import type { CallerOptions } from "../../../conversation/protocol/caller_options.ts";
import type { Limits, SessionOptions } from "../../../conversation/control/session_options.ts";
import { LARGEST_SIDE } from "../../../conversation/terminal/screen.ts";
import { definedFields } from "../../../defined_fields.ts";

/** A schema for each field of a type, including optional fields. Parsing drops fields without a schema. */
export type Fields<Value> = { readonly [Key in keyof Required<Value>]: z.ZodMiniType };

/** The version of asciicast that a cast is in. */
export const CAST_VERSION = 2;

export const sideSchema: z.ZodMiniType<number> = z.int().check(
  z.positive(),
  z.maximum(LARGEST_SIDE, `a terminal has at most ${LARGEST_SIDE}`),
);

const milliseconds = z.number();

export const LIMITS = {
  timeoutMs: milliseconds,
  startTimeoutMs: milliseconds,
  deliveryTimeoutMs: milliseconds,
  idleTimeoutMs: z.exactOptional(milliseconds),
  drainTimeoutMs: milliseconds,
  exitTimeoutMs: milliseconds,
} satisfies Fields<Limits>;

const CALLER = {
  idPrefix: z.string(),
  permissions: z.exactOptional(z.literal(true)),
  isAbsent: z.exactOptional(z.literal(true)),
  promptTool: z.exactOptional(
    z.object({
      name: z.string(),
      server: z.exactOptional(z.string()),
      tool: z.string(),
      ownServer: z.exactOptional(z.string()),
    }),
  ),
  mayBypass: z.exactOptional(z.literal(true)),
  permissionMode: z.exactOptional(z.string()),
  watchesModels: z.exactOptional(z.literal(true)),
  servers: z.exactOptional(z.array(z.string())),
  setServers: z.exactOptional(z.record(z.string(), z.unknown())),
  switched: z.exactOptional(z.record(z.string(), z.boolean())),
  callbacks: z.array(z.object({
    event: z.string(),
    matcher: z.exactOptional(z.string()),
    id: z.string(),
    timeoutS: z.exactOptional(z.number()),
    blocks: z.exactOptional(z.literal(true)),
  })),
  initialized: z.exactOptional(
    z.object({ id: z.string(), error: z.exactOptional(z.string()) }),
  ),
} satisfies Fields<CallerOptions>;

const session = z.object(
  {
    conversation: z.exactOptional(z.literal(true)),
    version: z.exactOptional(z.string()),
    size: z.object({ rows: sideSchema, cols: sideSchema }),
    ...LIMITS,
    backgroundCeilingMs: z.exactOptional(milliseconds),
    maxTurns: z.exactOptional(z.number()),
    requestsMade: z.exactOptional(z.number()),
    loose: z.exactOptional(z.literal(true)),
    skills: z.exactOptional(z.array(z.string())),
    maxBudgetUsd: z.exactOptional(z.number()),
    output: z.exactOptional(
      z.object({ schema: z.record(z.string(), z.unknown()), maxTries: z.number() }),
    ),
    hookless: z.exactOptional(z.literal(true)),
    mcpServers: z.exactOptional(z.number()),
    paidUsd: z.exactOptional(z.number()),
    imagesDir: z.exactOptional(z.string()),
    asksStatus: z.exactOptional(z.literal(true)),
    bridged: z.exactOptional(z.array(z.string())),
    awaited: z.exactOptional(z.array(z.string())),
    unattended: z.exactOptional(z.literal(true)),
    caller: z.exactOptional(z.object(CALLER)),
    hasOnStdin: z.exactOptional(z.literal(true)),
    readsNoMentions: z.exactOptional(z.literal(true)),
    needsTrust: z.exactOptional(z.literal(true)),
    otherStopHooks: z.boolean(),
    wakeless: z.exactOptional(z.literal(true)),
    keptAtEnd: z.exactOptional(z.literal(true)),
  } satisfies Fields<SessionOptions>,
);

/** How the prompt is stored in the first recordings. */
const way = { inject: z.enum(["stdin", "paste", "rendezvous"]), prompt: z.string() };

const subagents = z.object(
  {
    spawned: z.number(),
    requested: z.object({ background: z.number(), foreground: z.number(), unset: z.number() }),
    started_in_background: z.number(),
    max_depth: z.number(),
    spawned_by_subagents: z.number(),
    completed: z.number(),
    failed: z.number(),
    killed: z.object({ parent: z.number(), user: z.number(), system: z.number() }),
    refused: z.object({
      depth_limit: z.number(),
      concurrency_limit: z.number(),
      budget: z.number(),
    }),
    by_type: z.record(z.string(), z.number()),
  } satisfies Fields<SubagentStats>,
);

const frames = z.object(
  {
    sessionId: z.string(),
    cwd: z.string(),
    home: z.exactOptional(z.string()),
    permissionMode: z.string(),
    apiKeySource: z.string(),
    outputStyle: z.exactOptional(z.string()),
    memoryPath: z.exactOptional(z.string()),
    servedByAnthropic: z.boolean(),
    limitsOutput: z.exactOptional(z.literal(true)),
    denialsUntold: z.exactOptional(z.literal(true)),
    seed: z.string(),
    startedAt: z.number(),
    before: z.exactOptional(
      z.object(
        {
          results: z.number(),
          totalUsd: z.number(),
          apiDurationMs: z.number(),
          lines: z.exactOptional(z.object({ added: z.number(), removed: z.number() })),
          startedAt: z.exactOptional(z.number()),
          subagents: z.exactOptional(subagents),
          safetyStops: z.exactOptional(z.number()),
          modelUsage: z.exactOptional(
            z.record(z.string(), z.record(z.string(), z.unknown())),
          ),
          described: z.exactOptional(z.record(z.string(), z.unknown())),
          commands: z.exactOptional(z.array(z.unknown())),
          queued: z.exactOptional(z.array(z.string())),
          activity: z.exactOptional(z.enum(["running", "requires_action", "idle"])),
        } satisfies Fields<EarlierOutput>,
      ),
    ),
    faultyServers: z.exactOptional(z.array(z.record(z.string(), z.unknown()))),
    replay: z.exactOptional(z.literal(true)),
    mirrorPath: z.exactOptional(z.string()),
    callHooks: z.exactOptional(z.literal(true)),
    subagentsUnread: z.exactOptional(z.literal(true)),
    subagentText: z.exactOptional(z.literal(true)),
    homes: z.exactOptional(z.object({ child: z.string(), user: z.string() })),
    fastMode: z.exactOptional(z.enum(["on", "disabled_by_env"])),
    title: z.exactOptional(z.string()),
    sandboxed: z.exactOptional(z.literal(true)),
    hookEvents: z.exactOptional(z.literal(true)),
    model: z.exactOptional(z.string()),
    partial: z.exactOptional(z.union([z.literal(true), z.literal("exact")])),
    heard: z.exactOptional(z.literal(true)),
    shellOutput: z.exactOptional(z.enum(["joined", "split"])),
    output: z.exactOptional(z.union([z.literal(true), z.literal("initialized")])),
    version: z.exactOptional(z.string()),
    learnt: z.exactOptional(z.record(z.string(), factsSchema)),
    conversation: z.exactOptional(z.literal(true)),
    servers: z.exactOptional(
      z.array(
        z.object({
          name: z.string(),
          source: z.string(),
          disabled: z.boolean(),
          unreached: z.exactOptional(z.literal(true)),
        }),
      ),
    ),
    activity: z.exactOptional(z.literal([true, "shown"])),
    betas: z.exactOptional(z.array(z.string())),
  } satisfies Fields<OutputOptions>,
);

const report = z.object(
  {
    limits: z.object(LIMITS),
    binary: z.string(),
    credential: z.exactOptional(z.string()),
    maxTurns: z.exactOptional(z.number()),
    maxBudgetUsd: z.exactOptional(z.number()),
    outputTries: z.exactOptional(z.number()),
    keptAsleep: z.exactOptional(z.literal(true)),
    record: z.exactOptional(z.string()),
  } satisfies Fields<ReportOptions>,
);

const cast = {
  version: z.literal(CAST_VERSION),
  width: sideSchema,
  height: sideSchema,
  timestamp: z.number(),
  env: z.object({ TERM: z.string() }),
};

const program = {
  version: z.exactOptional(z.string()),
  claude_version: z.exactOptional(z.string()),
};

const output = z.object({
  format: z.enum(["text", "json", "stream-json"]),
  verbose: z.boolean(),
});

/** Parses the first line of a cast of any version of this program. */
export const headerSchema: z.ZodMiniType<CastHeader> = z.union([
  z.pipe(
    z.object({
      ...cast,
      claude_print: z.object({
        ...program,
        output,
        conversation: z.object({
          session: z.extend(session, way),
          frames,
          report: z.extend(report, {
            command: z.exactOptional(z.string()),
            altered: z.exactOptional(z.string()),
          }),
        }),
      }),
    }),
    z.transform(({ claude_print: { conversation, ...program }, ...cast }): CastHeader => {
      const { session: { inject, prompt, ...session }, frames, report } = conversation;
      const { command, altered, ...reporting } = report;
      return {
        ...cast,
        claude_print: {
          ...program,
          conversation: { session, frames, report: reporting },
          first: {
            text: prompt,
            way: inject,
            ...definedFields({ command, altered }),
          },
        },
      };
    }),
  ),
  z.object({
    ...cast,
    claude_print: z.object({
      ...program,
      output,
      conversation: z.object({ session, frames, report }),
    }),
  }),
  z.pipe(
    z.object({
      ...cast,
      claude_print: z.object({ ...program, session: z.extend(session, way) }),
    }),
    z.transform(({ claude_print: { session, ...program }, ...cast }): CastHeader => {
      const { inject, prompt, ...rest } = session;
      return {
        ...cast,
        claude_print: {
          ...program,
          conversation: sessionOnly(rest),
          first: { text: prompt, way: inject },
        },
      };
    }),
  ),
]);

/**
 * Completes the options of the first recordings, which only have those of the session. Their frames are not compared.
 */
function sessionOnly(session: ConversationOptions["session"]): ConversationOptions {
  return {
    session,
    frames: {
      sessionId: "",
      cwd: "",
      permissionMode: "default",
      apiKeySource: "none",
      memoryPath: "",
      servedByAnthropic: false,
      seed: "",
      startedAt: 0,
    },
    report: { limits: session, binary: "" },
  };
}
