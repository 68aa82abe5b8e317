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
