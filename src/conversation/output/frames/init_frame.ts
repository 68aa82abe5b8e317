import { OUTPUT_TOOL } from "../../../claude/transcript/structured_output_tool.ts";
import type { InitFrame } from "../../../claude/wire/system_frames.ts";
import { asText, type JsonObject } from "../../../json_object.ts";
import { pickWireKeys } from "../../../claude/wire/json_text.ts";

/**
 * The facts from which `system/init` is made.
 *
 * `tools`, `agents`, `skills`, `mcpServers` and `additionalDirectories` come from the transcript (`SessionListing`), if
 * this version writes them to it. `model` comes from the SessionStart hook, with its `[1m]` suffix.
 */
export interface InitFacts {
  readonly version: string;
  readonly sessionId: string;
  readonly uuid: string;
  /** The child's working directory. */
  readonly cwd: string;
  readonly model?: string | undefined;
  readonly fastMode?: FastModeAsked | undefined;
  /** Whether the first request asked for fast mode, if known. */
  readonly asksFastMode?: boolean;
  readonly permissionMode?: string | undefined;
  /** Names as in requests. `Agent` is printed as `Task`. */
  readonly tools?: readonly string[];
  readonly mcpServers?: readonly { readonly name: string; readonly status: string }[];
  readonly agents?: readonly string[];
  readonly skills?: readonly string[];
  /** Default: the skills. Every skill is a command, but there are more commands. */
  readonly slashCommands?: readonly string[];
  readonly plugins?: readonly { readonly name: string; readonly path: string }[];
  /** `ANTHROPIC_API_KEY` or `apiKeyHelper`; `none` for every kind of token. */
  readonly apiKeySource?: string;
  readonly outputStyle?: string;
  /** The folder of the automatic memory. Without it there is no `memory_paths`, as with `--bare`. */
  readonly memoryPath?: string;
  readonly additionalDirectories?: readonly string[];
  /** Whether the environment turns telemetry off. */
  readonly analyticsDisabled?: boolean;
  readonly productFeedbackDisabled?: boolean;
  /** The `system/init` of the headless helper, if there is one. */
  readonly described?: JsonObject | undefined;
  /** The MCP servers that Claude Code leaves out, with the reasons. */
  readonly faultyServers?: readonly JsonObject[] | undefined;
  /** The messages with which the turn begins. */
  readonly messages?: readonly { readonly uuid?: string }[];
  /** Set if the caller wants structured answers: by a flag, or in its `initialize` request. */
  readonly output?: true | "initialized" | undefined;
  /** Whether requests go to Anthropic's own host. */
  readonly servedByAnthropic?: boolean;
  /** The headers that the user has added to requests. */
  readonly betas?: readonly string[] | undefined;
  /** Whether commands run in Claude Code's sandbox. */
  readonly sandboxed?: boolean;
}

/**
 * Builds the `system/init` frame with the keys of the version.
 *
 * Keys without a source, such as `capabilities`, have the constant value of the version's profile. `plugins` is empty
 * without a headless helper. `messaging_socket_path` is left out: the interactive child has no such socket.
 */
export function initFrame(facts: InitFacts): InitFrame {
  const skills = facts.skills ?? [];
  const fields = {
    cwd: facts.cwd,
    session_id: facts.sessionId,
    tools: [...facts.tools ?? []].sort().map((tool) => tool === "Agent" ? "Task" : tool),
    mcp_servers: facts.mcpServers ?? [],
    model: facts.model,
    permissionMode: facts.permissionMode ?? "default",
    slash_commands: facts.slashCommands ?? skills,
    apiKeySource: facts.apiKeySource ?? "none",
    claude_code_version: facts.version,
    output_style: facts.outputStyle ?? "default",
    agents: facts.agents ?? [],
    skills,
    plugins: facts.plugins ?? [],
    mcp_server_errors: facts.faultyServers,
    analytics_disabled: facts.analyticsDisabled,
    product_feedback_disabled: facts.productFeedbackDisabled,
    served_by_anthropic: facts.servedByAnthropic,
    betas: facts.betas,
    uuid: facts.uuid,
    sandbox_enabled: facts.sandboxed,
    memory_paths: facts.memoryPath === undefined ? undefined : { auto: facts.memoryPath },
    original_cwd: facts.cwd,
    additional_directories: facts.additionalDirectories ?? [],
    ...fastModeOf(facts.fastMode, facts.asksFastMode === true),
    view_mode: "default",
    user_message_uuids: facts.messages?.some(({ uuid }) => uuid !== undefined)
      ? facts.messages.flatMap(({ uuid }) => uuid ?? [])
      : undefined,
  };
  return {
    type: "system",
    subtype: "init",
    ...pickWireKeys("init", { ...fields, ...describedBy(facts) }, facts),
    session_id: facts.sessionId,
  };
}

/**
 * The keys whose values the headless helper and the child have in common. Keys about MCP servers and about the process
 * itself differ.
 */
const DESCRIBED = [
  ...["slash_commands", "terminal_slash_commands", "agents", "skills", "plugins", "output_style"],
  "plugin_errors",
  ...["apiKeySource", "additional_directories", "fast_mode_state", "fast_mode_disabled_reason"],
  ...["per_turn_effort_active", "ultrathink_available", "ultrathink_typed_raises", "view_mode"],
  ...["analytics_disabled", "product_feedback_disabled", "served_by_anthropic", "sandbox_enabled"],
];

/**
 * Adds the tool for structured answers to the helper's tools. The helper's tools are sorted, except that the first is
 * sorted by another name than the printed one. With an `initialize` request, Claude Code adds the tool at the end.
 */
function withOutputTool(
  tools: readonly unknown[],
  output: true | "initialized",
): readonly unknown[] {
  const next = output === true
    ? tools.findIndex((tool, place) => place > 0 && asText(tool) > OUTPUT_TOOL)
    : -1;
  return tools.toSpliced(next < 0 ? tools.length : next, 0, OUTPUT_TOOL);
}

function describedBy(
  { described = {}, tools: known = [], output }: InitFacts,
): JsonObject {
  const { tools } = described;
  return {
    ...Object.fromEntries(
      DESCRIBED.flatMap((name) => name in described ? [[name, described[name]]] : []),
    ),
    ...(Array.isArray(tools)
      ? {
        tools: [
          ...output === undefined ? tools : withOutputTool(tools, output),
          ...known.filter((tool) => tool.startsWith("mcp__")),
        ],
      }
      : {}),
  };
}

/** The caller's setting of fast mode. */
export type FastModeAsked = "on" | "disabled_by_env";

/** The fields about fast mode. */
export interface FastMode {
  readonly fast_mode_state: "on" | "off";
  readonly fast_mode_disabled_reason?: string;
}

/** The fields about fast mode: it is on if the caller's flags or `--settings` ask for it and the model supports it. */
export function fastModeOf(asked: FastModeAsked | undefined, isFast: boolean): FastMode {
  switch (asked) {
    case "on":
      return { fast_mode_state: isFast ? "on" : "off" };
    case "disabled_by_env":
      return { fast_mode_state: "off", fast_mode_disabled_reason: asked };
    case undefined:
      return { fast_mode_state: "off", fast_mode_disabled_reason: "sdk_opt_in_required" };
  }
}
