import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { Effect } from "../../control/effect.ts";
import type { SessionState } from "../../control/session_state.ts";
import { errorCode, refuse, respond } from "../answers.ts";

/** The requests that `claude -p` carries out and claude-print cannot, by the reason. */
const REASONS: Readonly<Record<string, readonly string[]>> = {
  "the interactive Claude Code does it on its screen alone": [
    ...["set_cwd", "remote_control", "mcp_authenticate", "mcp_clear_auth"],
    ...["mcp_oauth_callback_url", "claude_authenticate", "claude_oauth_callback"],
    ...["claude_oauth_wait_for_completion", "ultrareview_launch"],
  ],
  "it would ask the model outside of the session": ["side_question"],
  [
    "the interactive Claude Code takes a file for read once its Read tool has read it; have the " +
    "model read it again"
  ]: ["seed_read_state"],
  [
    "the interactive Claude Code has one permission mode for all servers; rules such as " +
    '"mcp__server" in permissions.ask, by apply_flag_settings, have it ask'
  ]: ["set_mcp_permission_mode_override"],
  "get_usage tells the same in numbers": ["get_session_cost"],
  [
    "another Claude Code would tell of itself; system/init, get_settings and mcp_status tell most " +
    "of it"
  ]: ["get_status"],
  "the interactive Claude Code decides by itself on messages of its peers": [
    ...["decide_held_peer_message", "set_peer_delivery"],
  ],
  "only programs of Anthropic's own have a use for it": [
    ...["channel_enable", "claim_session", "message_rated", "register_repo_root", "mcp_call"],
    ...["submit_feedback", "submit_survey_feedback", "get_plan", "get_memory_dialog"],
    ...["get_sandbox_dialog", "get_skills_dialog", "get_chrome_dialog", "get_chrome_browsers"],
    ...["select_chrome_browser", "set_chrome_browser_hints"],
  ],
  "apply_flag_settings with permissions.additionalDirectories adds one": ["add_directory"],
  "the interactive Claude Code goes back on its screen alone; --resume-session-at goes on from an answer":
    ["rewind_conversation"],
  "what mods draw is drawn on the screen of the interactive Claude Code alone": [
    ...["ui_attach", "ui_client_fault", "ui_client_module", "ui_client_press", "ui_close"],
    ...["ui_detach", "ui_focus", "ui_input", "ui_message", "ui_pane_focus", "ui_pane_show"],
    ...["ui_panes", "ui_press", "ui_prompt_autocomplete", "ui_prompt_edit", "ui_render"],
    ...["ui_scroll", "ui_select"],
  ],
  "the Claude Code of a run asks for nothing but what a turn needs, and so for no cloud sessions": [
    ...["list_cloud_sessions", "get_cloud_session", "get_cloud_session_transcript"],
    "update_cloud_session",
  ],
  "the interactive Claude Code reads the list of connectors at its start alone": [
    "reload_connectors",
  ],
};

/** Refuses a request that claude-print cannot carry out, or that `claude -p` does not support either. */
export function refuseUnsupported(state: SessionState, request: ControlRequest): Effect {
  const { subtype } = request;
  const reason = Object.keys(REASONS).find((each) => REASONS[each]?.includes(subtype));
  return reason === undefined
    ? refuse(request, {
      error: `Unsupported control request subtype: ${subtype}`,
      ...errorCode(state, "unsupported_request"),
    })
    : refuse(request, {
      error: `claude-print cannot carry out the request "${subtype}": ${reason}`,
    });
}

/** The answers of `claude -p` to requests that only have an effect in programs of Anthropic's own; a text is an error. */
const ANTHROPIC_ONLY: Readonly<Record<string, JsonObject | string>> = {
  fork_conversation: { forked: false, error: "unsupported", reason: "unsupported" },
  log_host_events: { status: "unavailable", reason: "wrong_caller" },
  poll_event: "poll-event delivery is not enabled for this session",
  register_device_hooks: "hook_forwarding_disabled: not_managed_cloud_worker",
  stage_file: "CLAUDE_CODE_REMOTE_SESSION_ID unset",
  remote_tools_announce: "remote_tools_disabled: not_managed_cloud_worker",
  turn_handoff: "turn_handoff_disabled: not_managed_cloud_worker",
  upload_device_hook_template: "hook_forwarding_disabled: not_managed_cloud_worker",
};

/** Requests that have no effect, each with a function that returns the error of an invalid request. */
const WITHOUT_EFFECT: Readonly<Record<string, (body: JsonObject) => string | undefined>> = {
  // Frames are always printed.
  set_has_subscribers: ({ has_subscribers: has }) =>
    has === null || typeof has === "boolean"
      ? undefined
      : "Invalid set_has_subscribers: has_subscribers must be true, false or null",
  // claude-print prints no suggestions.
  set_prompt_suggestions_paused: ({ paused }) =>
    typeof paused === "boolean"
      ? undefined
      : "Invalid set_prompt_suggestions_paused: Invalid input: expected boolean, received " +
        kindOf(paused),
  prompt_draft_activity: () => undefined,
  mcp_tasks_changed: () => undefined,
  // Only a program of Anthropic itself uses it.
  set_message_waiting: ({ waiting }) =>
    typeof waiting === "boolean"
      ? undefined
      : "Invalid set_message_waiting: waiting must be true or false",
  // An `initialize` that asks for levels is refused.
  set_proactivity_level: ({ level }) =>
    `Cannot set proactivity: ${
      LEVELS.includes(level)
        ? "levels are not enabled for this session (the host must send proactivity: true on " +
          "initialize, with no kill switch set)"
        : `unrecognized level ${typeof level === "string" ? level : JSON.stringify(level)} ` +
          `(expected one of ${LEVELS.join(", ")})`
    }`,
};

const LEVELS: readonly unknown[] = ["ask", "default", "proactive"];

/** The answer of `claude -p` to a request that changes nothing; undefined for any other request. */
export function fixedAnswer(request: ControlRequest): Effect | undefined {
  const { subtype, body } = request;
  if (Object.hasOwn(ANTHROPIC_ONLY, subtype)) {
    const answer = ANTHROPIC_ONLY[subtype];
    return isJsonObject(answer)
      ? respond(request, { response: answer })
      : refuse(request, { error: answer ?? "" });
  }
  if (!Object.hasOwn(WITHOUT_EFFECT, subtype)) return undefined;
  const error = WITHOUT_EFFECT[subtype]?.(body);
  return error === undefined ? respond(request) : refuse(request, { error });
}

/** The type of a value, as Claude Code names it in errors. */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
