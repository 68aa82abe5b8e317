import type { AssistantEntry, AttachmentEntry, Entry } from "./entry.ts";
import { asString, isJsonObject, type JsonObject, jsonStrings } from "../../json_object.ts";

/** What a transcript tells about the session: what the model was offered, and its limits. */
export interface SessionListing {
  /**
   * Names of the tools in API requests, sorted (`api-request-shape` and `deferred_tools_delta` lines); empty for versions
   * that do not write them.
   */
  readonly tools: readonly string[];
  /** The tools that the model can load later. A request does not name them. */
  readonly deferred: readonly string[];
  /** Kinds of subagent (`agent_listing_delta`). */
  readonly agents: readonly string[];
  /** Skills that the model may start (`skill_listing`); there can be others. */
  readonly skills: readonly string[];
  /** Extra directories (`environment`). */
  readonly additionalDirectories: readonly string[];
  /** MCP servers that have tools, are pending or have failed. */
  readonly mcpServers: readonly { readonly name: string; readonly status: string }[];
  readonly permissionMode: string | undefined;
  /** The model of the `model` attachment, or else of this run's first request; undefined before 2.1.330. */
  readonly model: string | undefined;
  /** Whether this run's first request asks for fast mode (`api-request`); false before 2.1.330. */
  readonly asksFastMode: boolean;
  /** `max_tokens` of this run's requests by model (`api-request`); empty before 2.1.330. */
  readonly maxOutputTokens: ReadonlyMap<string, number>;
}

/** The name in requests that replaces tools which the model can load later. It is no tool. */
export const PLACEHOLDER = "DeferredToolPlaceholder";

/** What has been read of the session's lines so far. */
export interface SessionNotes {
  /** The names of the tools in a request, by the hash of the request's shape. */
  readonly shapes: ReadonlyMap<unknown, readonly string[]>;
  /** The shape of this run's first request, and of the last one of earlier runs. */
  readonly shape: unknown;
  readonly earlierShape: unknown;
  readonly deferred: ReadonlySet<string>;
  readonly agents: ReadonlySet<string>;
  readonly skills: ReadonlySet<string>;
  /** Lines that describe skills to the model. */
  readonly skillListings: readonly AttachmentEntry[];
  /** Statuses of MCP servers, by their names. */
  readonly servers: ReadonlyMap<string, string>;
  readonly additionalDirectories: readonly string[];
  readonly permissionMode: string | undefined;
  /** The model of the `model` attachment. */
  readonly model: string | undefined;
  readonly requested: string | undefined;
  /** The model of this run's first answer, or else of the last answer of earlier runs. */
  readonly answering: string | undefined;
  /** The model of this run's last answer. */
  readonly answered: string | undefined;
  readonly asksFastMode: boolean;
  readonly maxOutputTokens: ReadonlyMap<string, number>;
}

export const NO_NOTES: SessionNotes = {
  shapes: new Map(),
  shape: undefined,
  earlierShape: undefined,
  deferred: new Set(),
  agents: new Set(),
  skills: new Set(),
  skillListings: [],
  servers: new Map(),
  additionalDirectories: [],
  permissionMode: undefined,
  model: undefined,
  requested: undefined,
  answering: undefined,
  answered: undefined,
  asksFastMode: false,
  maxOutputTokens: new Map(),
};

/**
 * Adds the facts of a line about the session. Later lines replace earlier ones, but the tools are those of this run's
 * first request.
 *
 * Lines of earlier runs also count, because the child does not repeat unchanged facts.
 *
 * @param options.earlier whether an earlier run has written the line
 */
export function addToNotes(
  notes: SessionNotes,
  entry: Entry,
  { earlier = false }: { readonly earlier?: boolean } = {},
): SessionNotes {
  switch (entry.type) {
    case "other":
      return addLine(notes, entry.line, earlier);
    case "assistant":
      return addAnswer(notes, entry, earlier);
    case "attachment":
      return entry.isSidechain === true ? notes : addAttachment(notes, entry);
    default:
      return notes;
  }
}

function addLine(notes: SessionNotes, line: JsonObject, earlier: boolean): SessionNotes {
  if (line.type === "permission-mode") {
    const permissionMode = asString(line.permissionMode);
    return permissionMode === notes.permissionMode ? notes : { ...notes, permissionMode };
  }
  if (line.type === "api-request-shape") {
    const shapes = new Map(notes.shapes).set(line.shapeHash, toolsOfShape(line.shape));
    return { ...notes, shapes };
  }
  if (!isMainRequest(line)) return notes;
  if (earlier) return { ...notes, earlierShape: line.shapeHash };
  const { model, max_tokens: most } = isJsonObject(line.params) ? line.params : {};
  const { maxOutputTokens } = notes;
  // A retry after an error may offer other tools.
  const shape = notes.shape ?? line.shapeHash;
  const requested = notes.requested ?? asString(model);
  const asksFastMode = notes.asksFastMode || isFast(line.params);
  const isLimitKnown = typeof model !== "string" || typeof most !== "number" ||
    maxOutputTokens.get(model) === most;
  const isKnown = isLimitKnown && shape === notes.shape && requested === notes.requested &&
    asksFastMode === notes.asksFastMode;
  return isKnown ? notes : {
    ...notes,
    shape,
    requested,
    asksFastMode,
    maxOutputTokens: isLimitKnown ? maxOutputTokens : new Map(maxOutputTokens).set(model, most),
  };
}

function addAnswer(
  notes: SessionNotes,
  { message: { model } }: AssistantEntry,
  earlier: boolean,
): SessionNotes {
  if (model === "<synthetic>" || model === notes.answered) return notes;
  if (earlier) return { ...notes, answering: model };
  const { answering = model } = notes.answered === undefined ? {} : notes;
  return { ...notes, answering, answered: model };
}

function addAttachment(notes: SessionNotes, entry: AttachmentEntry): SessionNotes {
  const { attachment } = entry;
  switch (attachment.type) {
    case "deferred_tools_delta": {
      const servers = new Map(notes.servers);
      for (const name of jsonStrings(attachment.pendingMcpServers)) servers.set(name, "pending");
      for (const name of jsonStrings(attachment.failedMcpServers)) servers.set(name, "failed");
      const { addedNames, removedNames } = attachment;
      return { ...notes, deferred: changed(notes.deferred, addedNames, removedNames), servers };
    }
    case "agent_listing_delta": {
      const { addedTypes, removedTypes } = attachment;
      return { ...notes, agents: changed(notes.agents, addedTypes, removedTypes) };
    }
    case "skill_listing":
      return {
        ...notes,
        skills: changed(notes.skills, attachment.names, []),
        skillListings: [...notes.skillListings, entry],
      };
    case "environment":
      return isJsonObject(attachment.snapshot)
        ? {
          ...notes,
          additionalDirectories: jsonStrings(attachment.snapshot.additionalWorkingDirectories),
        }
        : notes;
    case "model":
      return isJsonObject(attachment.identity)
        ? { ...notes, model: asString(attachment.identity.modelId) ?? notes.model }
        : notes;
    default:
      return notes;
  }
}

function changed(
  names: ReadonlySet<string>,
  more: unknown,
  less: unknown,
): ReadonlySet<string> {
  const after = new Set([...names, ...jsonStrings(more)]);
  for (const name of jsonStrings(less)) after.delete(name);
  return after;
}

/** Returns what is known of the session by its lines. */
export function buildListing(notes: SessionNotes): SessionListing {
  const { deferred, agents, skills, additionalDirectories, permissionMode } = notes;
  // Until this run has made a request, the tools are those of the last request of an earlier run.
  const offered = notes.shapes.get(notes.shape ?? notes.earlierShape);
  const tools = new Set([...(offered ?? []), ...deferred]);
  tools.delete(PLACEHOLDER);
  const servers = new Map(notes.servers);
  for (const tool of tools) {
    const server = /^mcp__(.+?)__/.exec(tool)?.[1];
    if (server !== undefined) servers.set(server, "connected");
  }
  return {
    // The deferred tools alone are not the list.
    tools: offered === undefined ? [] : [...tools].sort(),
    deferred: [...deferred],
    agents: [...agents],
    skills: [...skills],
    additionalDirectories,
    mcpServers: [...servers].map(([name, status]) => ({ name, status })),
    permissionMode,
    model: notes.model ?? notes.requested,
    asksFastMode: notes.asksFastMode,
    maxOutputTokens: notes.maxOutputTokens,
  };
}

function isFast(params: unknown): boolean {
  return isJsonObject(params) &&
    jsonStrings(params.betas).some((beta) => beta.startsWith("fast-mode-"));
}

/** Whether a line is a request of the session itself, not of a subagent or helper (2.1.330). */
export function isMainRequest(line: JsonObject): boolean {
  return line.type === "api-request" && typeof line.querySource === "string" &&
    line.querySource.startsWith("repl_main_thread");
}

function toolsOfShape(shape: unknown): readonly string[] {
  if (!isJsonObject(shape) || !Array.isArray(shape.tools)) return [];
  return shape.tools.flatMap((tool) =>
    isJsonObject(tool) && typeof tool.name === "string" ? [tool.name] : []
  );
}
