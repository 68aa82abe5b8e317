import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** Top-level fields that make the child the same user, device and client as the user's own Claude Code. */
const COPIED = ["machineID", "mcpServers", "oauthAccount", "primaryApiKey", "userID"] as const;

/**
 * What the user's own Claude Code has done once and need not do again in every sandbox: 2.1.330 rewrites a new
 * `.claude.json` for each of them before its first request, 15 ms together.
 */
export const DONE = [
  "firstStartTime",
  "firstStartVersion",
  "hasResetAutoModeOptInForDefaultOffer",
  "lastReleaseNotesSeen",
  "migrationVersion",
  "numStartups",
  "opusProMigrationComplete",
  "seenNotifications",
] as const;

/** Fields of a project that `claude -p` honours too. */
const COPIED_OF_PROJECT = [
  "allowedTools",
  "disabledMcpServers",
  "hasClaudeMdExternalIncludesApproved",
  "mcpServers",
] as const;

/**
 * The interactive Claude Code proposes a prompt about a file that is changed often, and reads the last thousand commits
 * for it once a week; `claude -p` does not (2.1.330).
 */
const EXAMPLES_FOUND = {
  exampleFiles: ["-"],
  exampleFilesGeneratedAt: Number.MAX_SAFE_INTEGER,
} as const;

/** Claude Code remembers an approved API key by its last characters. */
const KEY_TAIL = 20;

/**
 * The `.claude.json` of a run: onboarding done, the API key approved, so that no dialog stands between the start and
 * the prompt (2.1.330).
 *
 * Folders are trusted where the user trusts them and nowhere else: in others `claude -p` does not let a project's
 * settings allow tools, add directories or enable plugins (2.1.330).
 *
 * @param user the user's own file, if there is one
 * @param options.switched the MCP servers that a caller has switched off, or on again
 * @param options.folders real paths of the working directory, of the root of its git repository, by which Claude Code
 * knows the project, and of every added directory
 */
export function seededClaudeJson(
  user: JsonObject | undefined,
  options: {
    readonly folders: readonly string[];
    readonly apiKey: string | undefined;
    readonly switched?: Readonly<Record<string, boolean>>;
  },
): JsonObject {
  const seeded: Record<string, unknown> = {
    hasCompletedOnboarding: true,
    officialMarketplaceAutoInstallAttempted: true,
    officialMarketplaceAutoInstalled: true,
    // In the terminal of an editor the interactive Claude Code installs its extension there, and claude -p does not.
    autoInstallIdeExtension: false,
    // Where the browser has the extension, the interactive Claude Code may turn it on by itself (2.1.330).
    claudeInChromeDefaultEnabled: false,
    // The footer shows the pull request of the branch. 2.1.197 asked GitHub for it by `gh`; 2.1.285 and 2.1.332 did not.
    prStatusFooterEnabled: false,
    ...pick(user, COPIED),
    ...pick(user, DONE),
  };
  if (options.apiKey !== undefined && options.apiKey !== "") {
    seeded["customApiKeyResponses"] = { approved: [options.apiKey.slice(-KEY_TAIL)], rejected: [] };
  }
  const known = isJsonObject(user?.["projects"]) ? user["projects"] : {};
  const projects = new Map<string, JsonObject>();
  for (const [dir, project] of Object.entries(known)) {
    if (isJsonObject(project) && project["hasTrustDialogAccepted"] === true) {
      projects.set(dir, { hasTrustDialogAccepted: true });
    }
  }
  for (const dir of options.folders) {
    const project = known[dir];
    projects.set(dir, {
      ...projects.get(dir),
      ...pick(isJsonObject(project) ? project : undefined, COPIED_OF_PROJECT),
      hasClaudeMdExternalIncludesWarningShown: true,
      ...EXAMPLES_FOUND,
      ...switchedOff(project, options.switched),
    });
  }
  seeded["projects"] = Object.fromEntries(projects);
  return seeded;
}

/** MCP servers that are not to be started: those of the user's, with what a caller has switched off, or on, since. */
function switchedOff(
  project: unknown,
  switched: Readonly<Record<string, boolean>> = {},
): JsonObject {
  const names = Object.keys(switched);
  if (names.length === 0) return {};
  const known = isJsonObject(project) ? project["disabledMcpServers"] : undefined;
  const kept = Array.isArray(known) ? known.filter((name) => !names.includes(name)) : [];
  return {
    disabledMcpServers: [...kept, ...names.filter((name) => switched[name] === false)],
  };
}

function pick(from: JsonObject | undefined, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.filter((name) => from?.[name] !== undefined).map((name) => [name, from?.[name]]),
  );
}
