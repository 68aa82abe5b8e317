import type { ControlRequest } from "../../../wire/control.ts";
import type { Effect } from "../../effect.ts";
import type { SessionState } from "../../session_state.ts";
import { isNew, refuse, respond } from "../answering.ts";

/** Why a request that `claude -p` answers cannot be answered here. */
const REASONS: Readonly<Record<string, readonly string[]>> = {
  "the interactive Claude Code does it on its screen alone": [
    ...["set_cwd", "remote_control", "mcp_authenticate", "mcp_clear_auth"],
    ...["mcp_oauth_callback_url", "claude_authenticate", "claude_oauth_callback"],
    ...["claude_oauth_wait_for_completion", "ultrareview_launch"],
  ],
  "it would ask the model outside of the session": ["side_question", "generate_session_title"],
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
  "only programs of Anthropic's own have a use for it": [
    ...["channel_enable", "claim_session", "message_rated", "register_repo_root", "mcp_call"],
    ...["submit_feedback", "submit_survey_feedback", "get_plan", "get_memory_dialog"],
    ...["get_sandbox_dialog", "get_skills_dialog", "get_chrome_dialog", "get_chrome_browsers"],
    ...["select_chrome_browser", "set_chrome_browser_hints"],
  ],
};

/** Why a request cannot be carried out that `claude -p` knows; undefined for one that it does not know. */
export function whyImpossible(subtype: string): string | undefined {
  const reason = Object.keys(REASONS).find((each) => REASONS[each]?.includes(subtype));
  return reason === undefined
    ? undefined
    : `claude-print cannot carry out the request "${subtype}": ${reason}`;
}

/** Requests that change nothing here, and the field that they need, with what it may be. */
const WITHOUT_EFFECT: Readonly<Record<string, readonly [string, readonly unknown[]] | undefined>> =
  {
    // What streams is held back for nobody.
    set_has_subscribers: ["has_subscribers", [true, false, null]],
    // There are no suggestions.
    set_prompt_suggestions_paused: ["paused", [true, false]],
    prompt_draft_activity: undefined,
  };

/** The answer to a request that changes nothing here; since 2.1.330. */
export function withoutEffect(
  state: SessionState,
  request: ControlRequest,
): Effect | undefined {
  const { subtype, body } = request;
  if (!isNew(state) || !Object.hasOwn(WITHOUT_EFFECT, subtype)) return undefined;
  const [field = "", values = []] = WITHOUT_EFFECT[subtype] ?? [];
  return field === "" || values.includes(body[field]) ? respond(request) : refuse(request, {
    error: `Invalid ${subtype}: ${field} must be ${values.map(String).join(", ")}`
      .replace(/, (?=[^,]*$)/u, " or "),
  });
}
