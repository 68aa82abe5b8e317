/** The calls of subagents in a recording, and what each is called: by these their words are known where no call is near. */
export interface SubagentCalls {
  /** Takes a JSON value in which there may be some. */
  readonly learn: (value: unknown) => void;
  /** The tools that were called, by the ids of the calls: those whose results hold what subagents say. */
  readonly tools: ReadonlyMap<string, string>;
  /** What subagents are for in a few words, as the model has said when it called them. */
  readonly labels: ReadonlySet<string>;
}

/** Tools that begin a subagent. */
const BEGINNING: ReadonlySet<unknown> = new Set(["Agent", "Task"]);
/** Tools whose results hold what a subagent says. */
const REPORTING: ReadonlySet<unknown> = new Set([
  ...BEGINNING,
  ...["Skill", "TaskOutput", "AgentOutputTool"],
]);

/** More of a kind is not remembered. */
const MOST = 10_000;
/** Levels of a JSON value that are gone through. */
const MOST_DEPTH = 1000;

export function createSubagentCalls(): SubagentCalls {
  const tools = new Map<string, string>();
  const labels = new Set<string>();
  const learn = (value: unknown, depth: number): void => {
    if (typeof value !== "object" || value === null || depth > MOST_DEPTH) return;
    const fields = value as Readonly<Record<string, unknown>>;
    const call = Array.isArray(value) ? undefined : toolCall(fields);
    if (call !== undefined && REPORTING.has(call.tool)) {
      if (call.id !== undefined && tools.size < MOST) tools.set(call.id, call.tool);
      const { description } = Object(call.input) as { readonly description?: unknown };
      if (BEGINNING.has(call.tool) && typeof description === "string" && description !== "") {
        if (labels.size < MOST) labels.add(description);
      }
    }
    for (const held of Object.values(value)) learn(held, depth + 1);
  };
  return { learn: (value) => learn(value, 0), tools, labels };
}

/** A call of a tool, as an answer, a hook or a question to the caller has it. */
export interface SaidCall {
  readonly tool: string;
  /** The field with what the tool is given. */
  readonly field: "input" | "tool_input";
  readonly input: unknown;
  readonly id?: string;
}

/** The call that an object is, if it is one. */
export function toolCall(fields: Readonly<Record<string, unknown>>): SaidCall | undefined {
  const { type, name, id, tool_name: named, tool_use_id: usedBy } = fields;
  const tool = type === "tool_use" ? name : named;
  if (typeof tool !== "string") return undefined;
  const field = Object.hasOwn(fields, "tool_input") ? "tool_input" : "input";
  const own = type === "tool_use" ? id : usedBy;
  return { tool, field, input: fields[field], ...(typeof own === "string" ? { id: own } : {}) };
}
