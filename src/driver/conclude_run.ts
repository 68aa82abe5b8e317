import { DENIAL_MESSAGE } from "../sandbox/hooks.ts";
import { slashWord } from "../session/slash_word.ts";
import { permissionDenialsOf } from "../transcript/permission_denials.ts";
import type { Turn } from "../transcript/turn.ts";
import { exitCodeOf, type Outcome } from "../wire/outcome.ts";
import { resultFrame } from "../wire/result_frame.ts";
import { subagentStats } from "../wire/subagent_stats.ts";
import { claudeVersion } from "./claude_version.ts";
import { readFinalTurn } from "./final_turn.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { printedResults } from "./printed_results.ts";
import type { RunReport } from "./run_report.ts";
import type { SessionRun } from "./run_session.ts";
import { unfinishedProblem } from "./unfinished_problem.ts";
import { type Verdict, verdictOf } from "./verdict.ts";

/**
 * Judges a session that has ended: reads what the child left, and builds the results.
 *
 * @param options.printed how many results were printed as their turns ended
 */
export async function concludeRun(
  prepared: PreparedRun,
  options: {
    readonly session: SessionRun;
    readonly altered: string | undefined;
    readonly printed: number;
  },
): Promise<RunReport> {
  const { session } = options;
  const { sandbox, binary, env } = prepared;
  const { stop, unfinished = [] } = session.ending.kind === "answered" ? session.ending : {};
  const { turns, cost, maxOutputTokens } = await readFinalTurn({
    configDir: sandbox.configDir,
    sessionId: prepared.sessionId,
    transcriptPath: session.transcriptPath,
    known: prepared.known,
    stop,
    cut: stop === undefined || unfinished.length > 0,
  });
  const turn = turns.at(-1);
  const version = turn?.version ?? await claudeVersion(binary, env);
  const verdict = checked(
    verdictOf(session.ending, {
      command: prepared.gated.expands
        ? `/${slashWord(prepared.options.prompt)?.name ?? ""}`
        : undefined,
      limits: prepared.options,
      binary,
      isClaude: version !== undefined,
      turn,
      altered: options.altered,
      credential: prepared.login.kind === "variable" ? prepared.login.name : undefined,
      maxTurns: prepared.options.maxTurns,
      record: prepared.options.record,
    }),
    {
      turns,
      prompt: prepared.options.prompt,
      expands: prepared.gated.expands,
      announced: stop?.["last_assistant_message"],
      ended: session.exit !== undefined,
    },
  );
  const { outcome } = verdict;
  const announced = stop?.["last_assistant_message"];
  const { printed } = options;
  const stopped = unfinished.filter(({ type }) => type === "subagent").length;
  const facts = {
    version: version ?? "unknown",
    sessionId: prepared.sessionId,
    cost,
    maxOutputTokens,
    subagents: subagentStats(turns, { stopped }),
  };
  // Results that had to wait tell the cost of the end, as those of `claude -p` do.
  const sinceLast = (index: number) =>
    !prepared.options.frames || index === printed && printed > 0
      ? undefined
      : index === 0
      ? "everything" as const
      : "nothing" as const;
  const earlier = turns.slice(printed, -1).map((each, offset) =>
    resultFrame({
      ...facts,
      uuid: crypto.randomUUID(),
      outcome: { kind: "answered" },
      turns: turns.slice(0, printed + offset + 1),
      permissionDenials: permissionDenialsOf(each, [DENIAL_MESSAGE]),
      sinceLast: sinceLast(printed + offset),
    })
  );
  const result = resultFrame({
    ...facts,
    uuid: crypto.randomUUID(),
    outcome,
    turns,
    permissionDenials: turn === undefined ? [] : permissionDenialsOf(turn, [DENIAL_MESSAGE]),
    ...(typeof announced === "string" ? { lastAssistantMessage: announced } : {}),
    ...(verdict.isForeign === undefined ? {} : { isForeign: verdict.isForeign }),
    ...(outcome.kind === "answered" || outcome.kind === "error_max_turns"
      ? {}
      : { durationMs: Math.round(session.endingAfterMs) }),
    sinceLast: sinceLast(Math.max(0, turns.length - 1)),
  });
  const { suggestion } = verdict;
  const message = verdict.message ?? ("message" in outcome ? outcome.message : undefined);
  const told = outcome.kind === "answered" && turns.length > 0 && printed >= turns.length;
  return {
    result,
    unprinted: told ? [] : printedResults([...earlier, result], facts.version),
    exitCode: exitCodeOf(outcome, turn?.error !== undefined),
    ...(message === undefined
      ? {}
      : { problem: { message, ...(suggestion === undefined ? {} : { suggestion }) } }),
    ...(message === undefined && unfinished.length > 0
      ? { problem: unfinishedProblem(unfinished, facts.version) }
      : {}),
    ...(outcome.kind === "answered" && wasKilled(session)
      ? {
        warning: `Claude Code did not end within ${
          prepared.session.exitTimeoutMs / 1000
        } s of its answer and was killed, so the cost is not known`,
      }
      : {}),
    ...(verdict.showScreen || (message !== undefined && prepared.options.trace)
      ? { screen: (await session.lastScreen()).lines }
      : {}),
  };
}

const SIGKILL = 9;

function wasKilled({ exit }: SessionRun): boolean {
  return exit?.kind === "signaled" && exit.signal === SIGKILL;
}

/** Takes an answer back that belongs to no prompt of ours, cannot be read at all, or whose giver never ends. */
function checked(
  verdict: Verdict,
  facts: {
    readonly turns: readonly Turn[];
    readonly prompt: string;
    readonly expands: boolean;
    readonly announced: unknown;
    readonly ended: boolean;
  },
): Verdict {
  if (verdict.outcome.kind !== "answered") return verdict;
  const fail = (outcome: Outcome, suggestion: string): Verdict => ({
    outcome,
    suggestion,
    showScreen: false,
  });
  if (!facts.ended) {
    return fail({
      kind: "exit_timeout",
      message: "Claude Code does not end, not even by SIGKILL: it hangs in the kernel",
    }, "Look for a file system or a device that does not answer");
  }
  const [turn] = facts.turns;
  if (turn === undefined && typeof facts.announced !== "string") {
    return fail({
      kind: "drain_timeout",
      message:
        "Cannot read the answer: Claude Code wrote no transcript and its Stop hook names no text",
    }, "Run again with --trace to see what the child did");
  }
  const sent = turn?.prompt?.message.content;
  if (typeof sent === "string" && !facts.expands && sent !== facts.prompt) {
    const failed = fail({
      kind: "internal_error",
      message: "The prompt did not reach Claude as it is: Claude Code changed it",
    }, "Compare it with the user line of the session's transcript");
    return { ...failed, isForeign: true };
  }
  return verdict;
}
