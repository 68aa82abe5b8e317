import type { RunOrder } from "../run_order.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { inToolNames, toolPrefix } from "../../../claude/transcript/tool_prefix.ts";
import { isCallers } from "../../../claude/wire/control.ts";

/** On what terms the MCP servers in the caller's own process are used. */
export interface ServerTerms {
  /** How long a call of a tool may take, in milliseconds, by the name of the server. */
  readonly timeouts: Readonly<Record<string, number>>;
  /** Rules for tools that are never to be called, and for those about which the caller is asked each time. */
  readonly deny: readonly string[];
  readonly ask: readonly string[];
}

/**
 * The terms that a caller has named with its servers, those that it has set last or begun with. What is allowed is not
 * said by them, as in `claude -p`, and who is of two minds is asked (2.1.330).
 */
export function serverTerms({ initialized, setServers }: RunOrder): ServerTerms {
  const configs = Object.entries(setServers ?? initialized?.serverConfigs ?? {})
    .flatMap(([name, config]): (readonly [string, JsonObject])[] =>
      isJsonObject(config) && (setServers === undefined || isCallers(config))
        ? [[name, config]]
        : []
    );
  const policies = configs.flatMap(([server, { tools }]) =>
    (Array.isArray(tools) ? tools.filter(isJsonObject) : []).flatMap((
      { name, permission_policy: policy },
    ) =>
      typeof name === "string" && policy !== undefined && policy !== "always_allow"
        ? [{ rule: `${toolPrefix(server)}${inToolNames(name)}`, policy }]
        : []
    )
  );
  const rules = (isDenied: boolean) =>
    policies.filter(({ policy }) => (policy === "always_deny") === isDenied)
      .map(({ rule }) => rule);
  return {
    timeouts: Object.fromEntries(
      configs.flatMap(([name, { timeout }]) =>
        // At any other Claude Code leaves the server out.
        Number.isSafeInteger(timeout) && Number(timeout) > 0 ? [[name, Number(timeout)]] : []
      ),
    ),
    deny: rules(true),
    ask: rules(false),
  };
}
