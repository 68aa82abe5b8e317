import type { Entry } from "./entry.ts";
import { isJsonObject, type JsonObject } from "../json_object.ts";

/** What a transcript tells about the session itself: what the model was offered, and its limits. */
export interface SessionListing {
  /**
   * Names of the tools, as the API sees them, sorted. Only Claude Code 2.1.330 writes them down
   * (`api-request-shape` and `deferred_tools_delta` lines); empty for 2.1.168 and 2.1.197.
   */
  readonly tools: readonly string[];
  /** Those of them that the model loads later, which are on offer beside what a request names. */
  readonly deferred: readonly string[];
  /** Kinds of subagent (`agent_listing_delta`); empty for 2.1.168. */
  readonly agents: readonly string[];
  /** Skills that the model may start by itself (`skill_listing`), which are not all there are. */
  readonly skills: readonly string[];
  /** Extra directories (`environment`); empty before 2.1.330. */
  readonly additionalDirectories: readonly string[];
  /** MCP servers that have tools or are named as pending or failed. Tools only since 2.1.330. */
  readonly mcpServers: readonly { readonly name: string; readonly status: string }[];
  readonly permissionMode: string | undefined;
  /** The model id of the `model` attachment, and without one that of this run's first request; undefined before 2.1.330. */
  readonly model: string | undefined;
  /** Whether this run's first request asks for fast mode (`api-request`); false before 2.1.330. */
  readonly asksFastMode: boolean;
  /** `max_tokens` of the requests by model (`api-request`); empty before 2.1.330. */
  readonly maxOutputTokens: ReadonlyMap<string, number>;
}

/** Stands in the request for tools that the model loads later; not a tool. */
export const PLACEHOLDER = "DeferredToolPlaceholder";

/**
 * Collects what the lines of a session say about it. Later lines overrule earlier ones, but the tools
 * are those of the first request after `start`.
 *
 * The lines of an earlier run of a resumed session belong in, because the child does not repeat what
 * has not changed.
 *
 * @param start the index of the first entry of this run
 */
export function sessionListingOf(entries: readonly Entry[], start = 0): SessionListing {
  const shapes = new Map<unknown, readonly string[]>();
  let shape: unknown;
  let earlierShape: unknown;
  const deferred = new Set<string>();
  const agents = new Set<string>();
  const skills = new Set<string>();
  const servers = new Map<string, string>();
  const maxOutputTokens = new Map<string, number>();
  let additionalDirectories: readonly string[] = [];
  let permissionMode: string | undefined;
  let model: string | undefined;
  let requested: string | undefined;
  let asksFastMode = false;

  for (const [index, entry] of entries.entries()) {
    if (entry.type === "other") {
      const { line } = entry;
      if (line.type === "permission-mode") permissionMode = text(line.permissionMode);
      if (line.type === "api-request-shape") shapes.set(line.shapeHash, toolsOfShape(line.shape));
      if (isMainRequest(line)) {
        // A retry after an error may offer other tools.
        if (index >= start) {
          shape ??= line.shapeHash;
          asksFastMode ||= isFast(line.params);
        } else earlierShape = line.shapeHash;
        if (isJsonObject(line.params)) {
          const { model, max_tokens } = line.params;
          if (index >= start) requested ??= text(model);
          if (typeof model === "string" && typeof max_tokens === "number") {
            maxOutputTokens.set(model, max_tokens);
          }
        }
      }
      continue;
    }
    if (entry.isSidechain === true || entry.type !== "attachment") continue;
    const { attachment } = entry;
    switch (attachment.type) {
      case "deferred_tools_delta":
        for (const name of texts(attachment.addedNames)) deferred.add(name);
        for (const name of texts(attachment.removedNames)) deferred.delete(name);
        for (const name of texts(attachment.pendingMcpServers)) servers.set(name, "pending");
        for (const name of texts(attachment.failedMcpServers)) servers.set(name, "failed");
        break;
      case "agent_listing_delta":
        for (const name of texts(attachment.addedTypes)) agents.add(name);
        for (const name of texts(attachment.removedTypes)) agents.delete(name);
        break;
      case "skill_listing":
        for (const name of texts(attachment.names)) skills.add(name);
        break;
      case "environment":
        if (isJsonObject(attachment.snapshot)) {
          additionalDirectories = texts(attachment.snapshot.additionalWorkingDirectories);
        }
        break;
      case "model":
        if (isJsonObject(attachment.identity)) {
          model = text(attachment.identity.modelId) ?? model;
        }
        break;
    }
  }

  // Until this run has made a request, what was on offer last is what is known.
  const offered = shapes.get(shape ?? earlierShape);
  const tools = new Set([...(offered ?? []), ...deferred]);
  tools.delete(PLACEHOLDER);
  for (const tool of tools) {
    const server = /^mcp__(.+?)__/.exec(tool)?.[1];
    if (server !== undefined) servers.set(server, "connected");
  }
  return {
    // The deferred ones alone would pass for the whole list.
    tools: offered === undefined ? [] : [...tools].sort(),
    deferred: [...deferred],
    agents: [...agents],
    skills: [...skills],
    additionalDirectories,
    mcpServers: [...servers].map(([name, status]) => ({ name, status })),
    permissionMode,
    model: model ?? requested,
    asksFastMode,
    maxOutputTokens,
  };
}

function isFast(params: unknown): boolean {
  return isJsonObject(params) && texts(params.betas).some((beta) => beta.startsWith("fast-mode-"));
}

/** Whether a line tells of a request in the session's own name, with which the tools on offer are known (2.1.330). */
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

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
