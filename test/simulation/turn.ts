import { type Child, decisionIn, type HookAnswer, isJoinable, type TurnRecord } from "./child.ts";
import {
  agentFields,
  answerFields,
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
import type { Block, CallMove, Move } from "./moves.ts";
import type { Process, Running, Wait } from "./schedule.ts";
import { isJsonObject, type JsonObject } from "../../src/json_object.ts";
import type { News } from "./world.ts";
import type { StreamedPart } from "../../src/conversation/control/input.ts";
import type { Screen } from "../../src/conversation/terminal/screen.ts";
import type { Entry } from "../../src/claude/transcript/entry.ts";

/** What a turn is about: prompts of the caller, the end of a task, or the time for which the model has had itself woken. */
export type TurnKind = "prompt" | "task" | "wakeup";

/** A turn that can be interrupted. */
export interface Turn {
  readonly process: Process;
  /** Writes down that it was interrupted, once its process has been ended. */
  readonly interrupt: () => void;
  /** Whether its assistant is done, and the hooks of that are called. */
  readonly isStopping: () => boolean;
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
  /** Writes lines about its requests. */
  readonly note: (entries: readonly Entry[]) => void;
  /** What it does, where that is not chosen. */
  readonly moves?: readonly Move[];
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

/**
 * Starts a turn of what the record says.
 *
 * @param noted how many of its prompts the transcript has had in the queue
 */
export function runTurn(child: Child, record: TurnRecord, noted: number): Turn {
  const { world, lines } = child;
  const { choices } = world;
  let isWritten = false;
  let isStopping = false;
  let partial: { readonly id: string; readonly text: string } | undefined;
  const agents: Running[] = [];
  const line = (fields: JsonObject, at = world.clock) => child.write(lines.line(at, fields));
  const main: Speaker = {
    ...{ kind: "turn", line, about: {}, open: new Map(), text: "" },
    note: (entries) => child.writeNotes(entries),
  };

  function* process(): Process {
    child.setStatus("busy");
    yield* child.waitForStart();
    // In all recordings the line of a prompt has a time before that of its hook, by 2 to 168 ms.
    const takenAt = world.clock;
    yield 2;
    // For the ends of tasks too: 2.1.332 calls the hook with the notification, before it writes that down.
    let isBlocked = false;
    for (const prompt of record.prompts) {
      const answer = yield* child.callHook("UserPromptSubmit", { prompt });
      // The caller's own "block" is not followed yet.
      isBlocked ||= record.kind === "prompt" && answer?.veto === true;
    }
    child.writeLines(
      Array.from({ length: noted }, () => lines.note(queueFields("dequeue", world.clock))),
    );
    if (isBlocked) return block();
    if (record.kind === "wakeup") line({ type: "system", subtype: "scheduled_task_fire" });
    const origin = record.kind === "task" ? "task-notification" : "human";
    for (const prompt of record.prompts) {
      line({
        ...promptFields(prompt.startsWith("/") ? commandText(prompt) : prompt, origin),
        ...(record.kind === "wakeup" ? { isMeta: true, wakeupSource: "loop_wakeup" } : {}),
      }, takenAt);
      // What a command stands for (the recording `command`).
      if (prompt.startsWith("/")) line({ ...promptFields(`Do ${prompt}.`), isMeta: true });
    }
    isWritten = true;
    yield world.takes("turnStart");
    record.end = yield* makeRequests(main);
  }

  /** Ends the turn without a request (`fixtures/recordings/sdk/typescript/every-hook-and-some-that-decide`). */
  function block(): void {
    record.end = "blocked";
    line({
      ...{ type: "system", subtype: "informational", level: "warning", preventContinuation: true },
      content: "UserPromptSubmit operation blocked by hook:\nNo.",
    });
  }

  /** Makes requests until the model has nothing more to do. */
  function* makeRequests(speaker: Speaker): Generator<Wait, End, void> {
    for (let requests = 0;; requests++) {
      if (speaker === main && child.options.compacts && choices.happens(30)) yield* compact();
      const move = speaker.moves?.[requests] ?? child.moves.next(requests, speaker.kind);
      const number = ++child.requests;
      const id = `msg-${number}`;
      noteRequest(speaker, number);
      if (move.kind === "retry") {
        yield* retry();
        // The recording `retry`.
        noteRequest(speaker, number);
      }
      yield world.takes("answer");
      child.totalUsd += 0.01;
      child.apiDurationMs += 10;
      child.change();
      if (move.kind === "hang") {
        child.isFaulty = true;
        if (speaker === main && move.isSilent === undefined) {
          partial = { id, text: `half ${number}` };
        }
        for (;;) yield 36_000_000;
      }
      if (move.kind === "failure") {
        yield* meetFaults(speaker, number, move.faults ?? 0);
        yield* say(speaker, number, move.says ?? [], "end_turn");
        return yield* fail(speaker, id);
      }
      if (move.kind === "refusal") {
        yield* say(speaker, number, ["text"], "refusal");
        line({ type: "system", subtype: "informational", content: "Stopped." });
        line({ ...promptFields("Your response above was stopped"), isMeta: true });
        continue;
      }
      if (move.kind !== "calls") {
        const says = move.kind === "text" ? move.says : undefined;
        stream(speaker, number, says ?? ["text"]);
        yield* say(speaker, number, says ?? ["text"], "end_turn");
        child.draw(speaker.text);
        if (speaker !== main || (yield* stop())) return "answered";
        continue;
      }
      stream(speaker, number, [...move.says ?? [], ...move.calls.map(() => "call" as const)]);
      yield* say(speaker, number, move.says ?? [], "tool_use");
      const end = yield* useTools(speaker, number, move.calls);
      if (end !== undefined) return end;
      if (speaker === main) join();
    }
  }

  /** Writes the blocks of an answer that are no calls. */
  function* say(
    speaker: Speaker,
    request: number,
    blocks: readonly Block[],
    stopReason: string,
  ): Process {
    const id = `msg-${request}`;
    for (const [place, block] of blocks.entries()) {
      if (block === "thinking") {
        speaker.line(
          answerFields(id, { type: "thinking", thinking: "hm", signature: "s" }, stopReason),
        );
        continue;
      }
      const number = `${request}${place + 1 < blocks.length ? `.${place}` : ""}`;
      const pieces = block === "lines" ? [`answer\n`, number] : [`answer ${number}`];
      speaker.text = pieces.join("");
      for (const [index, delta] of speaker === main ? pieces.entries() : []) {
        yield* child.callHook("MessageDisplay", {
          ...{ turn_id: `turn-${child.turns.length}`, message_id: `${id}.${place}` },
          ...{ index, final: index + 1 === pieces.length, delta },
        });
      }
      speaker.line(answerFields(id, { type: "text", text: speaker.text }, stopReason));
      if (speaker === main) record.text = speaker.text;
    }
  }

  /** Streams an answer of the API, where that is seen (the recording `exact-stream`). */
  function stream(speaker: Speaker, request: number, blocks: readonly (Block | "call")[]): void {
    if (child.options.isStreamed === undefined || speaker !== main) return;
    const send = (part: StreamedPart) => world.send("driver", 0, { type: "stream", request, part });
    const event = (type: string) => send({ kind: "event", event: { type } });
    send({ kind: "request" });
    send({ kind: "limits" });
    event("message_start");
    event("ping");
    for (const _ of blocks) {
      event("content_block_start");
      event("content_block_delta");
      event("content_block_stop");
    }
    event("message_delta");
    event("message_stop");
    send({ kind: "end" });
  }

  /** Has what was said before summed up (`fixtures/recordings/parity/2.1.332/rows/compact-before.cast`). */
  function* compact(): Process {
    const trigger = "auto";
    yield* child.callHook("PreCompact", { trigger, custom_instructions: null });
    yield world.takes("answer");
    yield* child.callHook("SessionStart", { source: "compact", model: MODEL });
    yield* child.callHook("PostCompact", { trigger, compact_summary: "The short of it." });
    line({
      ...{ type: "system", subtype: "compact_boundary", content: "Conversation compacted" },
      ...{ parentUuid: null, logicalParentUuid: lines.last },
      compactMetadata: { trigger, preTokens: 24_832, postTokens: 15_537, durationMs: 638 },
    });
    line({ ...promptFields("The short of it."), isCompactSummary: true });
    child.compactions++;
  }

  function noteRequest(speaker: Speaker, number: number): void {
    const note = (fields: JsonObject) =>
      lines.note({ sessionId: SESSION, version: VERSION, ...fields });
    const shape = { tools: [{ name: "Bash" }] };
    speaker.note([
      ...(number === 1 ? [note({ type: "api-request-shape", shapeHash: "h", shape })] : []),
      note({
        ...{ type: "api-request", id: `r${number}`, querySource: "repl_main_thread" },
        ...{ shapeHash: "h", params: { model: MODEL } },
      }),
    ]);
  }

  /** The API refuses the request, and others in its place, for good (the recording `bad-request`). */
  function* meetFaults(speaker: Speaker, number: number, faults: number): Process {
    for (let met = 0; met < faults; met++) {
      if (met > 0) noteRequest(speaker, number);
      const fault = { attempt: 1, maxRetries: 0, status: 529 };
      world.send("status", 0, { type: "fault", fault });
      yield world.takes("answer");
    }
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
    request: number,
    moves: readonly CallMove[],
  ): Generator<Wait, End | undefined, void> {
    const calls = moves.map((move, at): Call => ({
      ...move,
      id: `toolu-${request}-${at}`,
      input: inputOf(move, `${request}.${at}`),
    }));
    // Subagents in the background start as soon as their call is complete (the recording `background-subagents`).
    const isLaunched = ({ tool, isBackground }: Call) => tool === "Agent" && isBackground === true;
    for (const call of calls) {
      const { id: callId, tool, input } = call;
      speaker.line(
        answerFields(
          `msg-${request}`,
          { type: "tool_use", id: callId, name: tool, input },
          "tool_use",
        ),
      );
      speaker.open.set(callId, call);
      const end = isLaunched(call) ? yield* carryOut(speaker, call) : undefined;
      if (end !== undefined) return end;
    }
    for (const call of calls) {
      const end = isLaunched(call) ? undefined : yield* carryOut(speaker, call);
      if (end !== undefined) return end;
    }
    const batch = yield* child.callHook("PostToolBatch", {
      ...speaker.about,
      tool_calls: calls.map(({ id, tool, input }) => ({
        ...{ tool_name: tool, tool_input: input, tool_use_id: id, tool_response: "done" },
      })),
    });
    if (batch?.reply?.["continue"] !== false) return undefined;
    // The recording `max-turns`.
    speaker.line({ type: "attachment", attachment: { type: "hook_success" } });
    return halt(speaker);
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
    if (tool === "Bash" && !call.isBackground) yield* runShell(call);
    else yield world.takes("tool");
    if (tool === "Agent") {
      if ((yield* runAgent(speaker, call)) === "interrupted") {
        finish(speaker, call, REJECTED, { isError: true });
        speaker.line(interruptedFields(true));
        return "interrupted";
      }
    } else if (tool === "ScheduleWakeup") scheduleWakeup(speaker, call);
    else if (call.isBackground) launchShell(speaker, call);
    else finish(speaker, call, outputOf(call), call.fails ? { isError: true } : {});
    yield* child.callHook("PostToolUse", { ...told, tool_use_id: id, tool_response: "done" });
    return undefined;
  }

  /** Runs a command, of which is seen what it writes where that is looked at (the recording `shell-output`). */
  function* runShell({ id, input, outputs = 0 }: Call): Process {
    const shell = { id: `b${id}` };
    const tell = (...news: readonly News[]) => {
      if (child.options.isHeard) world.send("driver", 0, ...news);
    };
    tell({ type: "shell", ...shell, command: `${input["command"]}`, running: true });
    yield world.takes("tool");
    for (let piece = 0; piece < outputs; piece++) {
      tell({ type: "shell-output", ...shell, text: `${piece}\n` });
      yield world.takes("tool");
    }
    tell({ type: "shell-over", ...shell });
  }

  /** Asks a person for a permission, who can only refuse it (the recordings `dialog-permission…` and `dialog-auto-…`). */
  function* askPerson({ dialogs = 1 }: Call): Process {
    yield world.takes("dialog");
    for (let dialog = 0; dialog < dialogs; dialog++) {
      child.setStatus("waiting", "permission prompt");
      if (dialogs > 1) line({ type: "system", subtype: "informational", content: "Auto mode." });
      yield* child.showDialog(PERMISSION);
    }
    child.setStatus("busy");
  }

  /** Asks for a permission, with a dialog on the screen as long as nobody has decided. */
  function* askPermission(
    speaker: Speaker,
    call: Call,
    told: JsonObject,
  ): Generator<Wait, JsonObject, void> {
    if (!child.options.hooks.includes("PermissionRequest")) {
      yield* askPerson(call);
      return {};
    }
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
    // The recordings `asked` and `denied-tool`.
    speaker.line({ type: "attachment", attachment: { type: "hook_permission_decision" } });
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
    const end = () => child.endTask(task, taskNotification(task, call.id));
    if (call.end === undefined) world.schedule.after(choices.between([10, 3000]), end);
    else call.end.wait(end);
  }

  /**
   * Runs a subagent, whose end is waited for unless it runs in the background: it has the turn's abort controller then, so
   * that a denial with `interrupt` ends both (read in 2.1.332). Returns how it has ended, if it is waited for.
   */
  function* runAgent(speaker: Speaker, call: Call): Generator<Wait, End | undefined, void> {
    let end: End | undefined;
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
          maker.line(world.clock, { ...fields, isSidechain: true, agentId }),
        ),
      note: (entries) => entries.forEach((entry) => child.writeAgent(subagent, entry)),
      about: { agent_id: agentId, agent_type: "general-purpose" },
      open: new Map(),
      text: "",
      ...(call.moves === undefined ? {} : { moves: call.moves }),
    };
    function* work(): Process {
      yield* child.callHook("SubagentStart", agent.about);
      const { origin: _, ...prompt } = promptFields("Look.");
      agent.line(prompt);
      end = yield* makeRequests(agent);
      if (call.end !== undefined) yield call.end;
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
      return undefined;
    }
    const running = world.schedule.start(work(), () => child.wake());
    agents.push(running);
    while (!running.isOver) yield child.gate;
    if (end === "interrupted") return end;
    finish(speaker, call, [{ type: "text", text: agent.text }], {
      toolUseResult: agentFields(agentId, agent.text),
    });
    return end;
  }

  /** Has the model woken after a minute or more; a later call takes the place of an earlier one. */
  function scheduleWakeup(speaker: Speaker, call: Call): void {
    const scheduledFor = world.clock + WAKEUP_MS;
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
    for (let [joined] = child.queue; joined && isJoinable(joined); [joined] = child.queue) {
      child.queue.shift();
      record.prompts.push(joined.text);
      child.writeLines([lines.note(queueFields("remove", world.clock, joined.text))]);
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
    isStopping = true;
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
      // The recording `structured`.
      line({ type: "attachment", attachment: { type: "hook_blocking_error" } });
    }
    line({
      ...{ type: "system", subtype: "stop_hook_summary", hookCount: 1 },
      ...{ hookErrors: isBlocked ? ["No."] : [], failedHookErrorIndexes: [] },
      preventedContinuation: answer?.reply?.["continue"] === false,
    });
    if (isBlocked) {
      isStopping = false;
      // One that goes makes no more requests.
      return child.isLeaving;
    }
    line({ type: "system", subtype: "turn_duration", durationMs: 1 });
    return true;
  }

  return {
    process: process(),
    isStopping: () => isStopping,
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

/** What a call has written in the end. */
function outputOf({ outputs = 0 }: Call): string {
  return Array.from({ length: outputs }, (_, piece) => `${piece}`).join("\n") || "done";
}

/** How the line of a prompt tells a command (the recording `command`). */
function commandText(prompt: string): string {
  const [name = "", ...args] = prompt.split(" ");
  return `<command-message>${name.slice(1)}</command-message>\n` +
    `<command-name>${name}</command-name>\n<command-args>${args.join(" ")}</command-args>`;
}

/** What a call is made with, which differs from that of every other call. */
function inputOf({ tool, isBackground }: CallMove, number: string): JsonObject {
  const background = isBackground ? { run_in_background: true } : {};
  if (tool !== "Agent" && tool !== "ScheduleWakeup") {
    return { command: `run ${number}`, ...background };
  }
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
