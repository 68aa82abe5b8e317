import type { ConversationEffect } from "../../src/conversation/output/conversation.ts";
import { isJsonObject, type JsonObject } from "../../src/json_object.ts";
import type { Input } from "../../src/conversation/control/input.ts";
import { type AssistantEntry, lineOf } from "../../src/claude/transcript/entry.ts";
import type { ChildOptions } from "./child.ts";
import type { Block, CallMove, Move, Moves } from "./moves.ts";
import { Gate } from "./schedule.ts";

/** An input of a recorded run, and what the program did because of it to the child. */
export interface RecordedStep {
  readonly input: Input;
  readonly effects: readonly ConversationEffect[];
}

/** How a simulated Claude Code is started for a recorded run, and what its model does. */
export interface Script {
  readonly options: ChildOptions;
  readonly moves: Moves;
  /** What ends tasks in the background, by the ids of their calls in the recording. */
  readonly ends: ReadonlyMap<unknown, Gate>;
}

/** A model that does what it is told, whichever turn asks. */
class ScriptedMoves implements Moves {
  readonly #moves: Iterator<Move>;

  constructor(moves: readonly Move[]) {
    this.#moves = moves.values();
  }

  next(): Move {
    const { done, value } = this.#moves.next();
    if (done) throw new Error("the model makes more requests than are recorded");
    return value;
  }
}

/** Hooks of ours that always exist. */
const HOOKS = ["SessionStart", "Stop", "StopFailure", "SessionEnd"];

/** A dialog before the input box. What it says is not compared. */
const DIALOG = { words: ["Go on?"], choices: ["Yes", "Surely"], selected: 0 };

/** Reads what is needed to repeat a recorded run: how the child was started and what its model did, and nothing that follows from those. */
export function readScript(steps: readonly RecordedStep[]): Script {
  const inputs = steps.map(({ input }) => input);
  const ends = new Map<unknown, Gate>();
  const hooks = inputs.filter((input) => input.type === "hook");
  const asking = hooks.flatMap(({ event, id }) => id === undefined ? [] : [event]);
  const { text, way } = inputs.find((input) => input.type === "message")?.message ?? {};
  const moves = new MoveReader(inputs, ends);
  return {
    options: {
      hooks: [
        ...HOOKS,
        ...(moves.asksPerson ? [] : ["PermissionRequest"]),
        ...(way === "stdin" ? [] : ["UserPromptSubmit"]),
        ...hooks.map(({ event }) => event),
      ],
      asking,
      ...{ callbacks: [], otherStopHooks: false, decides: false },
      ...(way === "stdin" && text !== undefined ? { stdin: text } : {}),
      ...startOf(steps),
      ...(inputs.some(({ type }) => type === "shell") ? { isHeard: true } : {}),
      ...(inputs.some(({ type }) => type === "stream") ? { isStreamed: true } : {}),
    },
    moves: new ScriptedMoves(moves.read()),
    ends,
  };
}

/** What comes before the input box. */
function startOf(steps: readonly RecordedStep[]): Pick<ChildOptions, "dialogs" | "startFault"> {
  const start = steps.findIndex(({ input }) => input.type === "status");
  const before = start < 0 ? steps : steps.slice(0, start);
  const closed = before.flatMap(({ effects }) => effects).filter((effect) =>
    effect.type === "write" && new TextDecoder().decode(effect.bytes) === "\r"
  );
  const isLeft = start < 0 && steps.some(({ input }) => input.type === "screen");
  const dialogs = Array.from({ length: closed.length + (isLeft ? 1 : 0) }, () => DIALOG);
  const last = steps.at(-1)?.input;
  if (start >= 0 || last?.type !== "exit") return { dialogs };
  if (!isLeft) return { dialogs, startFault: "offline" };
  return last.exit.kind === "signaled" ? { dialogs, startFault: "configuration" } : { dialogs };
}

/** Reads what a model did from the inputs of a recorded run. */
class MoveReader {
  readonly #inputs: readonly Input[];
  readonly #ends: Map<unknown, Gate>;

  constructor(inputs: readonly Input[], ends: Map<unknown, Gate>) {
    this.#inputs = inputs;
    this.#ends = ends;
  }

  /** Whether a person is asked for permissions, and no hook. */
  get asksPerson(): boolean {
    return this.#dialogs > 0 && this.#permissions.length === 0;
  }

  /** The moves of the session itself. */
  read(): Move[] {
    const count = (type: Input["type"]) => this.#inputs.filter((each) => each.type === type).length;
    const lines = this.#inputs.flatMap((input) =>
      input.type === "transcript" ? [lineOf(input.entry) as JsonObject] : []
    );
    const moves = this.#movesIn(lines);
    // A retry is a fault as well.
    const [retries, faults] = [count("retry"), count("fault") - count("retry")];
    return moves.map((move, place): Move =>
      move.kind === "failure"
        ? { ...move, faults }
        : retries > place && move.kind === "text"
        ? { kind: "retry" }
        : move
    );
  }

  get #permissions(): string[] {
    return this.#inputs.flatMap((input) =>
      input.type === "hook" && input.event === "PermissionRequest"
        ? JSON.stringify(input.payload["tool_input"])
        : []
    );
  }

  /** How many dialogs have asked for something during turns. */
  get #dialogs(): number {
    return this.#inputs.filter((input) => input.type === "status" && input.status === "waiting")
      .length;
  }

  /** What a model did whose transcript has these lines: an answer a request, as far as there are any. */
  #movesIn(lines: readonly JsonObject[]): Move[] {
    const answers = [
      ...Map.groupBy(lines.filter(isAnswer), ({ message }) => message.id).values(),
    ];
    const requests = lines.filter(({ type }) => type === "api-request").length;
    const moves: Move[] = [];
    for (const answer of answers) {
      const [first] = answer;
      const says = answer.flatMap((line) => this.#blockIn(line) ?? []);
      const calls = answer.flatMap((line) => this.#callIn(line, lines) ?? []);
      const reason = first?.message.stop_reason;
      if (first?.isApiErrorMessage) {
        // An answer of the same request came first (the recording `broken-stream`).
        const broken = answers.length > requests ? moves.pop() : undefined;
        const half = broken?.kind === "text" ? broken.says : undefined;
        moves.push({ kind: "failure", ...(half === undefined ? {} : { says: half }) });
      } else if (calls.length > 0) moves.push({ kind: "calls", calls, says });
      else if (reason === "refusal") moves.push({ kind: "refusal" });
      else if (reason === null) moves.push({ kind: "hang" });
      else moves.push({ kind: "text", says });
    }
    const isFailed = moves.some(({ kind }) => kind === "failure");
    const isRetried = this.#inputs.some(({ type }) => type === "retry");
    if (!isFailed && !isRetried && requests > moves.length) {
      moves.push({ kind: "hang", isSilent: true });
    }
    return moves;
  }

  #blockIn({ message: { content: [block] } }: AssistantEntry): Block | undefined {
    if (block?.type === "thinking") return "thinking";
    if (block?.type !== "text") return undefined;
    const isInPieces = this.#inputs.some((input) =>
      input.type === "hook" && input.payload["final"] === false &&
      `${block["text"]}`.startsWith(`${input.payload["delta"]}`)
    );
    return isInPieces ? "lines" : "text";
  }

  #callIn(
    { message: { content: [block] } }: AssistantEntry,
    lines: readonly JsonObject[],
  ): CallMove | undefined {
    if (block?.type !== "tool_use") return undefined;
    const { id, name: tool, input } = block;
    const result = lines.flatMap(resultsIn).find((each) => each["tool_use_id"] === id);
    const isAsked = this.asksPerson || this.#permissions.includes(JSON.stringify(input));
    const isBackground = isJsonObject(input) && input["run_in_background"] === true;
    const outputs = this.#inputs.filter(({ type }) => type === "shell-output").length;
    if (isBackground) this.#ends.set(id, new Gate());
    const end = this.#ends.get(id);
    const own = this.#inputs.flatMap((each) =>
      each.type === "subagent" && each.line.subagent.toolUseId === id
        ? [lineOf(each.line.entry) as JsonObject]
        : []
    );
    return {
      tool: `${tool}`,
      ...(isAsked ? { needsPermission: true } : {}),
      ...(isAsked && this.#dialogs > 1 ? { dialogs: this.#dialogs } : {}),
      ...(isBackground ? { isBackground: true } : {}),
      ...(end === undefined ? {} : { end }),
      ...(!isAsked && result?.["is_error"] === true ? { fails: true } : {}),
      ...(outputs > 0 ? { outputs } : {}),
      ...(own.length > 0 ? { moves: this.#movesIn(own) } : {}),
    };
  }
}

function isAnswer(line: JsonObject): line is AssistantEntry {
  return line["type"] === "assistant";
}

/** The results of calls in a line. */
function resultsIn({ message }: JsonObject): readonly JsonObject[] {
  const content = isJsonObject(message) ? message["content"] : undefined;
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}
