import {
  backgroundTasksOf,
  backgroundWaitMs,
  DEFAULT_BACKGROUND_CEILING_MS,
  isShellsOnly,
} from "./background_wait.ts";
import { began } from "./beginning.ts";
import { claudeCommands } from "./claude_commands.ts";
import { awaitRest, end, overOnRecord, overWhenCarriedOut } from "./ending.ts";
import type { Entry } from "../transcript/entry.ts";
import { type TranscriptSign, transcriptSign } from "./transcript_sign.ts";
import { slashWord } from "./slash_word.ts";
import type { SessionState } from "./session_state.ts";
import { act, deadline, stay, type Step } from "./step.ts";
import { overWhenIdle } from "./waits.ts";

/** A line of the transcript: what runs, what is on record, and whether the turn is over. */
export function onTranscript(before: SessionState, line: Entry): Step {
  const entry = transcriptSign(line);
  const version = before.version ?? (line.type === "other" ? undefined : line.version);
  const state: SessionState = {
    ...before,
    ...(version === undefined ? {} : { version }),
    tools: toolsAfter(before.tools, entry),
    answered: (before.answered && !entry.prompt) || line.type === "assistant",
    recorded: before.recorded || entry.prompt,
    answer: entry.text ?? before.answer,
    completed: entry.end === "completed" || (before.completed && entry.isSystem),
    ...(entry.carriedOut && isTold(before) ? { carriedOut: true } : {}),
    ...(entry.shellLimitMs === undefined
      ? {}
      : { shellLimitMs: Math.max(entry.shellLimitMs, before.shellLimitMs ?? 0) }),
  };
  if (state.phase === "ending") return stay(state);
  if (state.phase === "reading") return awaitRest(state);
  if (state.phase === "interrupting") {
    return entry.end === undefined ? stay(state) : end(state, state.ending);
  }
  if (entry.end === "completed" && state.background) {
    return awaitBackground(state, line.type === "other" ? "" : line.version ?? "");
  }
  if (state.phase === "settling") return overOnRecord(state) ?? stay(state);
  if (!entry.prompt) return overWhenCarriedOut(state) ?? stay(state);
  const next = began({ ...state, prompted: true });
  // A child that stays idle with the prompt in its transcript carried it out by itself, without the model.
  const idle = state.status?.status === "idle" ? [overWhenIdle()] : [];
  // The end of a task starts a turn; the first prompt may be written late, by 2.1.168 and 2.1.197.
  const turn = before.recorded ? [deadline("background")] : [];
  return act(next.state, [...next.effects, ...idle, ...turn]);
}

/** Whether the prompt is a command whose output ends the turn. */
function isTold({ options: { prompt }, version = "" }: SessionState): boolean {
  const name = slashWord(prompt)?.name ?? "";
  return claudeCommands(version).kinds.get(name) === "told";
}

/**
 * Bounds the wait for background tasks once the transcript says that the turn is over: the order of its lines tells a
 * turn's own prompt from the next one, which the time of the Stop hook does not.
 */
function awaitBackground(state: SessionState, version: string): Step {
  const { backgroundStop = {}, shellsOnlySince: since, ...rest } = state;
  const tasks = backgroundTasksOf(backgroundStop);
  const shellsOnlySince = isShellsOnly(tasks) ? since ?? state.lifeAt : undefined;
  const waitMs = backgroundWaitMs({
    tasks,
    version,
    ceilingMs: state.options.backgroundCeilingMs ?? DEFAULT_BACKGROUND_CEILING_MS,
    shellLimitMs: state.shellLimitMs,
    shellsOnlyMs: shellsOnlySince === undefined ? 0 : state.lifeAt - shellsOnlySince,
  });
  return act({
    ...rest,
    backgroundStop,
    ...(shellsOnlySince === undefined ? {} : { shellsOnlySince }),
  }, [deadline("background", waitMs)]);
}

/** The tools that run after a line of the transcript: most lines neither call one nor hold a result. */
function toolsAfter(
  tools: ReadonlySet<string>,
  { called, returned }: TranscriptSign,
): ReadonlySet<string> {
  if (called.length === 0 && returned.length === 0) return tools;
  return new Set([...tools, ...called]).difference(new Set(returned));
}
