import { onDrawn } from "../turn/aborting.ts";
import type { Effect } from "../effect.ts";
import { seePasted } from "../turn/handing_over.ts";
import { withWritten } from "../../terminal/plain_output.ts";
import { answerProbes, PROBE_FINAL } from "../../terminal/probes.ts";
import type { Input } from "../input.ts";
import type { SessionState } from "../session_state.ts";
import { act, deadline, type Step, write } from "../step.ts";
import { scanTerminal } from "../../terminal/terminal_scanner.ts";
import { lookAtStart, overWhenIdle } from "../turn/waits.ts";

/** What the child wrote: its probes are answered, and the echo of a paste is seen. */
export function onTerminal(
  state: SessionState,
  { bytes, at }: Extract<Input, { readonly type: "terminal" }>,
): Step {
  // Unless a paste is to be seen, nothing but probes matters.
  const only = state.phase === "pasted" ? undefined : PROBE_FINAL;
  const { state: scanner, tokens } = scanTerminal(state.scanner, bytes, { only });
  const effects: Effect[] = [];
  const replies = answerProbes(tokens);
  if (replies !== "") effects.push(write(replies));
  const { heardAt = at } = state;
  if (state.heardAt === undefined && !state.ready) {
    effects.push(deadline("start", state.options.startTimeoutMs));
  }
  // A child that draws goes on with its prompt, though where the machine is busy it may take seconds to say so.
  if (state.phase === "working" && state.recorded && state.status?.status === "idle") {
    effects.push(overWhenIdle());
  }
  let next: SessionState = heardAt === state.heardAt && scanner === state.scanner
    ? state
    : { ...state, scanner, heardAt };
  if (next.phase === "starting") {
    if (next.status === undefined) {
      next = { ...next, written: withWritten(next.written, bytes) };
      effects.push(lookAtStart(next));
    }
  } else if (next.phase === "pasted") {
    for (const token of tokens) {
      if (token.kind !== "text" || next.phase !== "pasted") continue;
      const seen = seePasted(next, { visible: token.bytes, echo: next.echo });
      next = seen.next?.state ?? { ...next, echo: seen.echo };
      effects.push(...seen.next?.effects ?? []);
    }
  }
  const drawn = onDrawn(next);
  return act(drawn.state, [...effects, ...drawn.effects]);
}
