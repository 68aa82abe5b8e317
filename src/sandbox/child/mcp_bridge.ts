import type { JsonObject } from "../../transcript/json_object.ts";
import { DOWN_SUFFIX, UP_SUFFIX } from "../folder/bridge_fifos.ts";
import type { FolderParts } from "../folder/folder_parts.ts";

/**
 * The script that the child starts in the place of an MCP server of the caller's. It only carries lines: what the child
 * says goes up, what comes down is said to the child.
 */
export const BRIDGE_SCRIPT = `#!/bin/sh
# usage: mcp-bridge NUMBER, a client of MCP on stdin and stdout
PATH=/usr/bin:/bin\${PATH:+:$PATH}
p=\${0%/*}/mcp/$1
cat < "$p${DOWN_SUFFIX}" &
trap "kill $! 2> /dev/null" EXIT HUP INT TERM
cat > "$p${UP_SUFFIX}"
`;

/** The `--mcp-config` by which the child knows the caller's servers, each by its bridge. */
export function bridgeConfig(
  servers: readonly string[],
  { bridgePath }: Pick<FolderParts, "bridgePath">,
): JsonObject {
  return {
    mcpServers: Object.fromEntries(servers.map((name, number) => [
      name,
      { type: "stdio", command: "/bin/sh", args: [bridgePath, `${number}`] },
    ])),
  };
}
