import { DENIAL_MESSAGE } from "../sandbox/hooks.ts";
import { permissionDenialsOf } from "../transcript/permission_denials.ts";
import type { Turn } from "../transcript/turn.ts";
import { exitCodeOf, type Outcome } from "../wire/outcome.ts";
import { resultFrame } from "../wire/result_frame.ts";
import { claudeVersion } from "./claude_version.ts";
import { readFinalTurn } from "./final_turn.ts";
import type { PreparedRun } from "./prepare_run.ts";
import type { RunReport } from "./run_report.ts";
import type { SessionRun } from "./run_session.ts";
import { type Verdict, verdictOf } from "./verdict.ts";

/** Judges a session that has ended: reads what the child left, and builds the result. */
export async function concludeRun(
  prepared: PreparedRun,
  options: { readonly session: SessionRun; readonly altered: string | undefined },
): Promise<RunReport> {
  const { session } = options;
  const { sandbox, binary, env } = prepared;
  const stop = session.ending.kind === "answered" ? session.ending.stop : undefined;
  const { turns, cost, maxOutputTokens } = await readFinalTurn({
    configDir: sandbox.configDir,
    sessionId: prepared.sessionId,
    transcriptPath: session.transcriptPath,
    known: prepared.known,
    stop,
  });
  const turn = turns.at(-1);
  const version = turn?.version ?? await claudeVersion(binary, env);
  const verdict = checked(
    verdictOf(session.ending, {
      prompt: prepared.options.prompt,
      timeoutMs: prepared.options.timeoutMs,
      startTimeoutMs: prepared.options.startTimeoutMs,
      binary,
      isClaude: version !== undefined,
      turn,
      altered: options.altered,
    }),
    { turns, prompt: prepared.options.prompt, announced: stop?.["last_assistant_message"] },
  );
  const { outcome } = verdict;
  const announced = stop?.["last_assistant_message"];
  const result = resultFrame({
    version: version ?? "unknown",
    sessionId: prepared.sessionId,
    uuid: crypto.randomUUID(),
    outcome,
    turns,
    cost,
    permissionDenials: turn === undefined ? [] : permissionDenialsOf(turn, [DENIAL_MESSAGE]),
    ...(typeof announced === "string" ? { lastAssistantMessage: announced } : {}),
    ...(outcome.kind === "answered" ? {} : { durationMs: Math.round(session.endingAfterMs) }),
    maxOutputTokens,
    streaming: prepared.options.frames,
  });
  const { suggestion } = verdict;
  return {
    result,
    exitCode: exitCodeOf(outcome, turn?.error !== undefined),
    ...("message" in outcome
      ? {
        problem: { message: outcome.message, ...(suggestion === undefined ? {} : { suggestion }) },
      }
      : {}),
    ...(verdict.showScreen ? { screen: (await session.lastScreen()).lines } : {}),
  };
}

/** Takes an answer back that belongs to no prompt of ours, or cannot be read at all. */
function checked(
  verdict: Verdict,
  facts: { readonly turns: readonly Turn[]; readonly prompt: string; readonly announced: unknown },
): Verdict {
  if (verdict.outcome.kind !== "answered") return verdict;
  const fail = (outcome: Outcome, suggestion: string): Verdict => ({
    outcome,
    suggestion,
    showScreen: false,
  });
  const [turn] = facts.turns;
  if (turn === undefined && typeof facts.announced !== "string") {
    return fail({
      kind: "assistant_error",
      message:
        "Cannot read the answer: Claude Code wrote no transcript and its Stop hook names no text",
    }, "Run again with --trace to see what the child did");
  }
  const sent = turn?.prompt?.message.content;
  const isCommand = facts.prompt.trimStart().startsWith("/");
  if (typeof sent === "string" && !isCommand && sent !== facts.prompt) {
    return fail({
      kind: "internal_error",
      message: "The prompt did not reach Claude as it is: Claude Code changed it",
    }, "Compare it with the user line of the session's transcript");
  }
  return verdict;
}
