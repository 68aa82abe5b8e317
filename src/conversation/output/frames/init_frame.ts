import { OUTPUT_TOOL } from "../../../claude/transcript/structured_output_tool.ts";
import type { InitFrame } from "../../../claude/wire/system_frames.ts";
import { asText, type JsonObject } from "../../../json_object.ts";
import { onlyWireKeys } from "../../../claude/wire/json_text.ts";

/**
 * What is known of a session when its first frame is printed.
 *
 * `SessionListing` of the transcript has `tools`, `agents`, `skills`, `mcpServers` and
 * `additionalDirectories`, where the version writes them down; the SessionStart hook has `model` with
 * its `[1m]` suffix.
 */
export interface InitFacts {
  readonly version: string;
  readonly sessionId: string;
  readonly uuid: string;
  /** The child's working directory. */
  readonly cwd: string;
  readonly model?: string | undefined;
  readonly fastMode?: FastModeAsked | undefined;
  /** Whether the first request asked for fast mode, where the transcript has it. */
  readonly asksFastMode?: boolean;
  readonly permissionMode?: string | undefined;
  /** As the API names them; printed with `Agent` as `Task`. Empty if unknown. */
  readonly tools?: readonly string[];
  readonly mcpServers?: readonly { readonly name: string; readonly status: string }[];
  readonly agents?: readonly string[];
  readonly skills?: readonly string[];
  /** Left out, the skills: every skill is a command, but there are more commands. */
  readonly slashCommands?: readonly string[];
  readonly plugins?: readonly { readonly name: string; readonly path: string }[];
  /** `ANTHROPIC_API_KEY` or `apiKeyHelper`; `none` for every kind of token. */
  readonly apiKeySource?: string;
  readonly outputStyle?: string;
  /** The folder of the automatic memory; without it there is no `memory_paths`, as with `--bare`. */
  readonly memoryPath?: string;
  readonly additionalDirectories?: readonly string[];
  /** Whether the environment turns telemetry off. */
  readonly analyticsDisabled?: boolean;
  readonly productFeedbackDisabled?: boolean;
  /** The same frame of a headless Claude Code that was started like the child, where one was asked. */
  readonly described?: JsonObject | undefined;
  /** The MCP servers that are left out, and why. */
  readonly faultyServers?: readonly JsonObject[] | undefined;
  /** The messages with which the turn begins. */
  readonly messages?: readonly { readonly uuid?: string }[];
  /** Who wants structured answers, for which there is a tool that it does not know of. */
  readonly output?: true | "initialized" | undefined;
  /** Whether requests go to Anthropic's own host. */
  readonly servedByAnthropic?: boolean;
  /** The headers that the user has added to requests. */
  readonly betas?: readonly string[] | undefined;
  /** Whether commands are carried out in Claude Code's own sandbox. */
  readonly sandboxed?: boolean;
}

/**
 * Builds the `system/init` frame with the keys of the version.
 *
 * Keys that no input tells have the constant value of the version's profile, such as `capabilities`. `plugins` is empty
 * unless a headless Claude Code was asked. `messaging_socket_path` is left out: the interactive child has no such socket.
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
    ...onlyWireKeys("init", { ...fields, ...describedBy(facts) }, facts),
    session_id: facts.sessionId,
  };
}

/** What of a session a headless Claude Code tells as the child would. Of MCP servers, and of itself, it does not. */
const DESCRIBED = [
  ...["slash_commands", "terminal_slash_commands", "agents", "skills", "plugins", "output_style"],
  "plugin_errors",
  ...["apiKeySource", "additional_directories", "fast_mode_state", "fast_mode_disabled_reason"],
  ...["per_turn_effort_active", "ultrathink_available", "ultrathink_typed_raises", "view_mode"],
  ...["analytics_disabled", "product_feedback_disabled", "served_by_anthropic", "sandbox_enabled"],
];

/**
 * The tool for structured answers in its place among others, of which the first alone has another name than it is sorted
 * by. An initialization is too late for that.
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

/** What a run asks of fast mode; absent where nobody asks for it. */
export type FastModeAsked = "on" | "disabled_by_env";

/** How frames tell of fast mode. */
export interface FastMode {
  readonly fast_mode_state: "on" | "off";
  readonly fast_mode_disabled_reason?: string;
}

/**
 * What `claude -p` says of fast mode: it is on where the caller's settings or flags ask for it and
 * the model has it. Settings files do not count.
 */
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
