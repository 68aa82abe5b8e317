/** Why a request that `claude -p` answers cannot be answered here. */
const REASONS: Readonly<Record<string, readonly string[]>> = {
  "the interactive Claude Code does it on its screen alone": [
    ...["rename_session", "set_cwd", "reload_plugins"],
    ...["mcp_authenticate", "mcp_clear_auth", "mcp_oauth_callback_url", "remote_control"],
  ],
  "it would ask the model outside of the session": ["side_question", "generate_session_title"],
  "only the request loop of claude -p knows it": [
    ...["get_hooks_listing", "get_session_cost", "get_status", "get_task_output", "get_usage"],
    ...["mcp_read_resource", "seed_read_state"],
  ],
  "only programs of Anthropic's own have a use for it": [
    ...["channel_enable", "claim_session", "message_rated", "register_repo_root"],
    ...["set_mcp_permission_mode_override", "submit_feedback"],
  ],
  "settings of the user's own are never written": ["update_settings"],
};

/** Why a request cannot be carried out that `claude -p` knows; undefined for one that it does not know. */
export function whyImpossible(subtype: string): string | undefined {
  const reason = Object.keys(REASONS).find((each) => REASONS[each]?.includes(subtype));
  return reason === undefined
    ? undefined
    : `claude-print cannot carry out the request "${subtype}": ${reason}`;
}
