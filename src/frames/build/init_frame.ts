import type { InitFrame } from "../../wire/frame.ts";
import { onlyWireKeys } from "../../wire/wire_keys.ts";

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
  /** Whether requests go to Anthropic's own host. */
  readonly servedByAnthropic?: boolean;
}

/**
 * Builds the `system/init` frame with the keys of the version.
 *
 * What a TUI does not tell is not made up: lists are empty (`tools` before 2.1.330, `agents` in
 * 2.1.168, `plugins`, `terminal_slash_commands`, and `capabilities`, which are those of a control
 * protocol), and `messaging_socket_path`, `per_turn_effort_active`, `ultrathink_available` and
 * `ultrathink_typed_raises` are left out. `fast_mode_state` and its reason are what `claude -p` prints
 * unless an SDK asks for fast mode.
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
    terminal_slash_commands: [],
    apiKeySource: facts.apiKeySource ?? "none",
    claude_code_version: facts.version,
    output_style: facts.outputStyle ?? "default",
    agents: facts.agents ?? [],
    skills,
    plugins: facts.plugins ?? [],
    capabilities: [],
    analytics_disabled: facts.analyticsDisabled,
    product_feedback_disabled: facts.productFeedbackDisabled,
    served_by_anthropic: facts.servedByAnthropic,
    uuid: facts.uuid,
    memory_paths: facts.memoryPath === undefined ? undefined : { auto: facts.memoryPath },
    original_cwd: facts.cwd,
    additional_directories: facts.additionalDirectories ?? [],
    fast_mode_state: "off",
    fast_mode_disabled_reason: "sdk_opt_in_required",
    view_mode: "default",
  };
  return {
    type: "system",
    subtype: "init",
    ...onlyWireKeys("init", fields, facts),
    session_id: facts.sessionId,
  };
}
