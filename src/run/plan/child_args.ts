import type { RunOrder } from "./run_order.ts";
import type { FolderFile } from "../../sandbox/folder/folder_contents.ts";
import type { FolderParts } from "../../sandbox/folder/folder_parts.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { isCallers } from "../../claude/wire/control.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";

/** Texts of the caller's for the child: arguments that name files, and what is in these. */
export interface PlacedTexts {
  /** What the caller of the control protocol has asked for. */
  readonly asked: readonly string[];
  /** The arguments that are forwarded, whose texts are in files as far as Claude Code takes them from there. */
  readonly forwarded: readonly string[];
  readonly files: readonly FolderFile[];
}

const MCP_CONFIG = "--mcp-config=";

/**
 * Puts the texts of a caller's into files that only the user may read: everybody on the machine can see a command line.
 * Claude Code makes the same of them there (2.1.330).
 */
export function placedTexts(
  { initialized, setServers, forwarded }: Pick<
    RunOrder,
    "initialized" | "setServers" | "forwarded"
  >,
  { systemPromptPath, appendSystemPromptPath, setServersPath, mcpConfigPath }: FolderParts,
): PlacedTexts {
  const files = new Map<string, string>();
  const place = (flag: string, path: string, text: string | undefined): readonly string[] => {
    if (text === undefined) return [];
    files.set(path, text);
    return [`${flag}=${path}`];
  };
  const prompts = [
    { flag: "--system-prompt", path: systemPromptPath, asked: initialized?.systemPrompt },
    {
      flag: "--append-system-prompt",
      path: appendSystemPromptPath,
      asked: initialized?.appendSystemPrompt,
    },
  ];
  const asked = [
    ...place(
      "--mcp-config",
      setServersPath,
      setServers === undefined ? undefined : mcpConfigOf(setServers),
    ),
    ...prompts.flatMap(({ flag, path, asked }) => place(`${flag}-file`, path, asked)),
  ];
  // Beside a file of the caller's a text has a meaning of its own: Claude Code joins them (2.1.330).
  const placed = prompts.filter(({ flag, asked }) =>
    asked === undefined && !forwarded.some((argument) => argument.startsWith(`${flag}-file=`))
  );
  let servers = 0;
  return {
    asked,
    forwarded: forwarded.flatMap((argument) => {
      const text = argument.slice(argument.indexOf("=") + 1);
      if (argument.startsWith(MCP_CONFIG) && isConfig(text)) {
        return place("--mcp-config", `${mcpConfigPath}-${servers++}.json`, text);
      }
      const prompt = placed.find(({ flag }) => argument.startsWith(`${flag}=`));
      return prompt === undefined ? [argument] : place(`${prompt.flag}-file`, prompt.path, text);
    }),
    files: [...files].map(([path, text]) => ({ path, text })),
  };
}

/** Whether it is no path: Claude Code takes what is no JSON for one. */
function isConfig(text: string): boolean {
  if (!text.trimStart().startsWith("{") || isTooDeep(text)) return false;
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Servers that a caller has set, as `--mcp-config` takes them: those in its own process are bridged. */
export function mcpConfigOf(servers: JsonObject): string {
  const others = Object.entries(servers).filter(([, config]) => !isCallers(config));
  return JSON.stringify({ mcpServers: Object.fromEntries(others) });
}
