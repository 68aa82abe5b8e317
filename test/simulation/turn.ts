import { type Child, decisionIn, type HookAnswer, type TurnRecord } from "./child.ts";
import {
  agentFields,
  answerFields,
  EPOCH,
  interruptedFields,
  LineMaker,
  MODEL,
  promptFields,
  queueFields,
  resultFields,
  SESSION,
  taskNotification,
  VERSION,
} from "./lines.ts";
import type { CallMove } from "./moves.ts";
import type { Process, Running, Wait } from "./schedule.ts";
import { isJsonObject, type JsonObject } from "../../src/json_object.ts";
import type { Screen } from "../../src/session/terminal/screen.ts";

/** What a turn is about: prompts of the caller, the end of a task, or the time for which the model has had itself woken. */
export type TurnKind = "prompt" | "task" | "wakeup";

/** A turn that can be interrupted. */
export interface Turn {
  readonly process: Process;
  /** Writes down that it was interrupted, once its process has been ended. */
  readonly interrupt: () => void;
}

/** A call of a tool that is under way. */
interface Call extends CallMove {
  readonly id: string;
  readonly input: JsonObject;
}

/** Who makes requests: the turn itself, or a subagent. */
interface Speaker {
  readonly kind: "turn" | "agent";
  /** Writes a line of its transcript. */
  readonly line: (fields: JsonObject) => void;
  /** What its hooks tell besides. */
  readonly about: JsonObject;
  /** Its calls that are written down and have no result yet. */
  readonly open: Map<string, Call>;
  /** What it has said last. */
  text: string;
}

/** How a speaker's requests have ended. */
type End = "answered" | "failed" | "interrupted" | "halted";

const REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected";

/** The dialog of a permission, as it stands in `fixtures/recordings/dialogs/permission-bash.jsonl`. */
const PERMISSION: Screen = {
  lines: [
    "Bash command",
    "  true",
    "This command requires approval",
    "Do you want to proceed?",
    "❯ 1. Yes",
    "  2. Yes, and don’t ask again",
    "  3. No",
    "Esc to cancel · Tab to amend",
  ],
  cursor: { row: 5, col: 1 },
};

/** How long a model waits at least until it is woken, in milliseconds. */
const WAKEUP_MS = 60_000;

/** Starts a turn of what the record says. */
export function runTurn(child: Child, record: TurnRecord): Turn {
  const { world, lines } = child;
  const { choices } = world;
  let isWritten = false;
  let partial: { readonly id: string; readonly text: string } | undefined;
  const agents: Running[] = [];
  const line = (fields: JsonObject) => child.write(lines.line(world.now, fields));
  const main: Speaker = { kind: "turn", line, about: {}, open: new Map(), text: "" };

  function* process(): Process {
    child.setStatus("busy");
    // For the ends of tasks too: 2.1.332 calls the hook with the notification, before it writes that down.
    for (const prompt of record.prompts) yield* child.callHook("UserPromptSubmit", { prompt });
    child.writeLines(record.prompts.map(() => lines.note(queueFields("dequeue", world.now))));
    if (record.kind === "wakeup") line({ type: "system", subtype: "scheduled_task_fire" });
    const origin = record.kind === "task" ? "task-notification" : "human";
    for (const prompt of record.prompts) {
      line({
        ...promptFields(prompt, origin),
        ...(record.kind === "wakeup" ? { isMeta: true, wakeupSource: "loop_wakeup" } : {}),
      });
    }
    isWritten = true;
    yield world.takes("turnStart");
    record.end = yield* makeRequests(main);
  }

  /** Makes requests until the model has nothing more to do. */
  function* makeRequests(speaker: Speaker): Generator<Wait, End, void> {
    for (let requests = 0;; requests++) {
      const move = child.moves.next(requests, speaker.kind);
      const number = ++child.requests;
      const id = `msg-${number}`;
      noteRequest(speaker, number);
      if (move.kind === "retry") yield* retry();
      yield world.takes("answer");
      child.totalUsd += 0.01;
      child.apiDurationMs += 10;
      child.change();
      if (move.kind === "hang") {
        child.isFaulty = true;
        if (speaker === main) partial = { id, text: `half ${number}` };
        for (;;) yield 36_000_000;
      }
      if (move.kind === "failure") return yield* fail(speaker, id);
      const say = (stopReason: string) => {
        speaker.text = `answer ${number}`;
        speaker.line(answerFields(id, { type: "text", text: speaker.text }, stopReason));
        if (speaker === main) record.text = speaker.text;
      };
      if (move.kind !== "calls") {
        say("end_turn");
        child.draw(speaker.text);
        if (speaker !== main || (yield* stop())) return "answered";
        continue;
      }
      if (move.isWordy) say("tool_use");
      const end = yield* useTools(speaker, { ...move, id, number });
      if (end !== undefined) return end;
      if (speaker === main) join();
    }
  }

  function noteRequest(speaker: Speaker, number: number): void {
    const note = (fields: JsonObject) => {
      const entry = lines.note({ sessionId: SESSION, version: VERSION, ...fields });
      if (speaker === main) child.write(entry);
    };
    if (number === 1) {
      note({ type: "api-request-shape", shapeHash: "h", shape: { tools: [{ name: "Bash" }] } });
    }
    note({
      ...{ type: "api-request", id: `r${number}`, querySource: "repl_main_thread" },
      ...{ shapeHash: "h", params: { model: MODEL } },
    });
  }

  /** The API fails once, and is asked again. */
  function* retry(): Process {
    const fault = { attempt: 1, maxRetries: 2, status: 529 };
    yield world.takes("answer");
    world.send("status", 0, { type: "fault", fault });
    yield 100;
    world.send("status", 0, { type: "retry", retry: { ...fault, delayMs: 1000 } });
    yield 600;
  }

  /** Makes calls and carries them out; returns how the turn has ended with them, if it has. */
  function* useTools(
    speaker: Speaker,
    { id, number, calls: moves }: {
      readonly id: string;
      /** That of the request: a subagent at the same time makes others. */
      readonly number: number;
      readonly calls: readonly CallMove[];
    },
  ): Generator<Wait, End | undefined, void> {
    const calls = moves.map((move, at): Call => ({
      ...move,
      id: `toolu-${number}-${at}`,
      input: inputOf(move, `${number}.${at}`),
    }));
    for (const { id: callId, tool, input } of calls) {
      speaker.line(
        answerFields(id, { type: "tool_use", id: callId, name: tool, input }, "tool_use"),
      );
    }
    for (const call of calls) speaker.open.set(call.id, call);
    for (const call of calls) {
      const end = yield* carryOut(speaker, call);
      if (end !== undefined) return end;
    }
    const batch = yield* child.callHook("PostToolBatch", {
      ...speaker.about,
      tool_calls: calls.map(({ id, tool, input }) => ({
        ...{ tool_name: tool, tool_input: input, tool_use_id: id, tool_response: "done" },
      })),
    });
    return batch?.reply?.["continue"] === false ? halt(speaker) : undefined;
  }

  /** Carries a call out, if it may be; returns how the turn has ended with it, if it has. */
  function* carryOut(speaker: Speaker, call: Call): Generator<Wait, End | undefined, void> {
    const { id, tool, input } = call;
    const told = { ...speaker.about, tool_name: tool, tool_input: input };
    const before = yield* child.callHook("PreToolUse", { ...told, tool_use_id: id });
    if (isForbidden(before)) {
      finish(speaker, call, "Refused by a hook", { isError: true });
      return before?.reply?.["continue"] === false ? halt(speaker) : undefined;
    }
    if (call.needsPermission) {
      const decision = yield* askPermission(speaker, call, told);
      if (decision["behavior"] !== "allow") {
        finish(speaker, call, decision["message"] ?? REJECTED, { isError: true });
        if (decision["interrupt"] !== true) return undefined;
        speaker.line(interruptedFields(true));
        return "interrupted";
      }
    }
    child.carriedOut.push(call);
    yield world.takes("tool");
    if (tool === "Agent") yield* runAgent(speaker, call);
    else if (tool === "ScheduleWakeup") scheduleWakeup(speaker, call);
    else if (call.isBackground) launchShell(speaker, call);
    else finish(speaker, call, "done");
    yield* child.callHook("PostToolUse", { ...told, tool_use_id: id, tool_response: "done" });
    return undefined;
  }

  /** Asks for a permission, with a dialog on the screen as long as nobody has decided. */
  function* askPermission(
    speaker: Speaker,
    call: Call,
    told: JsonObject,
  ): Generator<Wait, JsonObject, void> {
    let isDecided = false;
    world.schedule.after(world.takes("dialog"), () => {
      if (!speaker.open.has(call.id) || isDecided) return;
      child.dialog = PERMISSION;
      child.setStatus("waiting", "permission prompt");
    });
    const answer = yield* child.callHook("PermissionRequest", {
      ...told,
      permission_suggestions: [],
    });
    isDecided = true;
    child.dialog = undefined;
    child.setStatus("busy");
    return answer?.veto === true ? {} : decisionIn(answer);
  }

  function halt(speaker: Speaker): End {
    speaker.line({ type: "attachment", attachment: { type: "hook_stopped_continuation" } });
    speaker.line({ type: "system", subtype: "turn_duration" });
    return "halted";
  }

  /** Leaves a command running, whose end starts a turn of its own. */
  function launchShell(speaker: Speaker, call: Call): void {
    const task = `b${call.id}`;
    finish(speaker, call, `Command running in background with ID: ${task}.`, {
      toolUseResult: { stdout: "", stderr: "", interrupted: false, backgroundTaskId: task },
    });
    child.addTask(task, { type: "shell", description: "Wait" });
    world.schedule.after(choices.between([10, 3000]), () => {
      child.endTask(task, taskNotification(task, call.id));
    });
  }

  /** Runs a subagent, whose end is waited for unless it runs in the background. */
  function* runAgent(speaker: Speaker, call: Call): Process {
    const agentId = `a${call.id}`;
    const subagent = {
      ...{ agentId, toolUseId: call.id, type: "general-purpose", description: "Look" },
    };
    const maker = new LineMaker(`${agentId}-`);
    const agent: Speaker = {
      kind: "agent",
      line: (fields) =>
        child.writeAgent(
          subagent,
          maker.line(world.now, { ...fields, isSidechain: true, agentId }),
        ),
      about: { agent_id: agentId, agent_type: "general-purpose" },
      open: new Map(),
      text: "",
    };
    function* work(): Process {
      yield* child.callHook("SubagentStart", agent.about);
      agent.line(promptFields("Look."));
      yield* makeRequests(agent);
      yield* child.callHook("SubagentStop", agent.about);
    }
    if (call.isBackground) {
      finish(speaker, call, [{ type: "text", text: "Async agent launched successfully." }], {
        toolUseResult: { isAsync: true, status: "async_launched", agentId, description: "Look" },
      });
      child.addTask(agentId, { type: "subagent", description: "Look" });
      child.runBeside(work(), () => {
        child.endTask(agentId, taskNotification(agentId, call.id, agent.text));
      });
      return;
    }
    const running = world.schedule.start(work(), () => child.wake());
    agents.push(running);
    while (!running.isOver) yield child.gate;
    finish(speaker, call, [{ type: "text", text: agent.text }], {
      toolUseResult: agentFields(agentId, agent.text),
    });
  }

  /** Has the model woken after a minute or more; a later call takes the place of an earlier one. */
  function scheduleWakeup(speaker: Speaker, call: Call): void {
    const scheduledFor = EPOCH + world.now + WAKEUP_MS;
    finish(speaker, call, "Next wakeup scheduled", {
      toolUseResult: { scheduledFor, clampedDelaySeconds: 60, wasClamped: false },
    });
    child.scheduleWakeup(WAKEUP_MS);
  }

  function finish(
    speaker: Speaker,
    { id }: Call,
    content: unknown,
    { isError = false, ...more }: JsonObject = {},
  ): void {
    speaker.line(resultFields(id, content, { isError, ...more }));
    speaker.open.delete(id);
  }

  /** Takes what has come meanwhile into the turn. */
  function join(): void {
    while (child.queue[0]?.kind === "prompt") {
      const joined = child.queue.shift();
      if (joined === undefined) return;
      record.prompts.push(joined.text);
      child.writeLines([lines.note(queueFields("remove", world.now, joined.text))]);
      line({ type: "attachment", attachment: { type: "queued_command", prompt: joined.text } });
    }
  }

  /** Ends the turn, or the subagent, with an error of the API. */
  function* fail(speaker: Speaker, id: string): Generator<Wait, End, void> {
    const text = "API Error: 500 Internal server error";
    speaker.text = text;
    if (speaker === main) record.text = text;
    const said = answerFields(id, { type: "text", text }, "stop_sequence", "<synthetic>");
    speaker.line({
      ...said,
      ...{ isApiErrorMessage: true, error: "server_error", apiErrorStatus: 500 },
    });
    yield* child.callHook("StopFailure", {
      ...speaker.about,
      ...{ error: "server_error", last_assistant_message: text },
    });
    return "failed";
  }

  /** Ends the turn, unless a hook has the assistant go on; returns whether it is over. */
  function* stop(): Generator<Wait, boolean, void> {
    const answer = yield* child.callHook("Stop", {
      stop_hook_active: record.isContinued === true,
      last_assistant_message: record.text,
      background_tasks: [...child.tasks.values()],
      session_crons: child.crons,
    });
    const isBlocked = answer?.reply?.["decision"] === "block";
    if (isBlocked) {
      record.isContinued = true;
      line({ ...promptFields(`Stop hook feedback:\n${answer.reply?.["reason"]}`), isMeta: true });
    }
    line({
      ...{ type: "system", subtype: "stop_hook_summary", hookCount: 1 },
      ...{ hookErrors: isBlocked ? ["No."] : [], failedHookErrorIndexes: [] },
      preventedContinuation: answer?.reply?.["continue"] === false,
    });
    if (isBlocked) return false;
    line({ type: "system", subtype: "turn_duration", durationMs: 1 });
    return true;
  }

  return {
    process: process(),
    interrupt: () => {
      record.end = "interrupted";
      for (const agent of agents) agent.cancel();
      if (!isWritten) return;
      if (partial !== undefined) {
        line(answerFields(partial.id, { type: "text", text: partial.text }, null));
      }
      const isForTool = main.open.size > 0;
      for (const call of main.open.values()) finish(main, call, REJECTED, { isError: true });
      line(interruptedFields(isForTool));
    },
  };
}

/** What a call is made with, which differs from that of every other call. */
function inputOf({ tool, isBackground }: CallMove, number: string): JsonObject {
  const background = isBackground ? { run_in_background: true } : {};
  if (tool === "Bash") return { command: `run ${number}`, ...background };
  if (tool === "ScheduleWakeup") return { delaySeconds: 60, reason: number, prompt: "Look again." };
  return {
    ...{ description: "Look", prompt: `Look. ${number}`, subagent_type: "general-purpose" },
    ...background,
  };
}

/** Whether a hook forbids a call. */
function isForbidden(answer: HookAnswer): boolean {
  if (answer?.veto === true) return true;
  const { hookSpecificOutput: output, decision } = answer?.reply ?? {};
  return decision === "block" ||
    (isJsonObject(output) && output["permissionDecision"] === "deny");
}
