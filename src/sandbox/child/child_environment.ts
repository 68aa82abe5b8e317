import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { Environment } from "../environment.ts";
import { USER_CONFIG_VARIABLE, type UserConfig } from "../user_config.ts";

/**
 * Variables that would make the child someone else's child: another entrypoint, no transcript, no hooks, an
 * IDE's companion, a demo, or have it leave the user's browsers the path of a program that goes with the run
 * (`CLAUDE_CODE_ENABLE_CFC`, see the flag `--chrome`). Claude Code exports several of them to the tools it runs, so a claude-print started
 * by such a tool has them (2.1.330).
 */
const REMOVED = [
  "AI_AGENT",
  "CLAUDE_BG_BACKEND",
  "CLAUDE_BG_RENDEZVOUS_SOCK",
  "CLAUDE_BG_RV_AUTH",
  "CLAUDECODE",
  "CLAUDE_AGENT_SDK_VERSION",
  "CLAUDE_CODE_ACTION",
  "CLAUDE_CODE_CHILD_NOTES_DIR",
  "CLAUDE_CODE_CHILD_SESSION",
  "CLAUDE_CODE_ENABLE_CFC",
  "CLAUDE_CODE_ENTRYPOINT",
  "CLAUDE_CODE_EXECPATH",
  "CLAUDE_CODE_MESSAGING_SOCKET",
  "CLAUDE_CODE_MESSAGING_TOKEN",
  "CLAUDE_CODE_SAFE_MODE",
  "CLAUDE_CODE_SDK_READS_SESSION_STATE",
  "CLAUDE_CODE_SESSION_ATTENDED",
  "CLAUDE_CODE_SESSION_ID",
  "CLAUDE_CODE_SESSION_KIND",
  "CLAUDE_CODE_SIMPLE",
  "CLAUDE_CODE_SKIP_PROMPT_HISTORY",
  "CLAUDE_CODE_SSE_PORT",
  "CLAUDE_EFFORT",
  "CLAUDE_ENV_FILE",
  "CLAUDE_JOB_DIR",
  "CLAUDE_PID",
  "CLAUDE_PROJECT_DIR",
  "IS_DEMO",
] as const;

/** Variables by which the child is kept in its sandbox, and from what no project may have it do. */
const PROTECTED = [
  "CLAUDE_CODE_AUTO_CONNECT_IDE",
  "CLAUDE_CODE_DISABLE_CRON",
  "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION",
  "CLAUDE_CODE_SANDBOXED",
  "CLAUDE_CODE_TMPDIR",
  "CLAUDE_CONFIG_DIR",
  "CLAUDE_SECURESTORAGE_CONFIG_DIR",
];

/**
 * The variables of the child's environment that settings set as well. Settings override the environment, also those of an
 * untrusted project (measured with 2.1.197), and one that disables hooks disables the limits with them.
 *
 * @param env the child's environment
 * @param settings every settings object that applies to the run
 */
export function contestedVariables(
  env: Environment,
  settings: readonly JsonObject[],
): Environment {
  const named = settings.flatMap(({ env }) => isJsonObject(env) ? Object.keys(env) : []);
  const contested = [...REMOVED, ...PROTECTED].filter((name) => named.includes(name));
  return Object.fromEntries(contested.map((name) => [name, env[name] ?? ""]));
}

/**
 * The environment of the child: the caller's, less what would change who the child is, plus what keeps it in
 * its sandbox and its start short.
 *
 * - in an editor's terminal, and with `--ide` in any, the interactive Claude Code connects to the editor's extension and
 *   asks for its tools; `claude -p` connects to none, also with `--ide` (2.1.330)
 * - terminal titles cost 2.1.285 an extra request to the model, 2.1.332 none
 * - without `CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC` a fresh config dir waits for feature flags first
 * - installation checks look the executable up in the package manager, and their findings are for a screen
 * - the alternate screen costs 2.1.330 40 to 70 ms
 * - from the second turn on the interactive Claude Code asks the model what the user might say next, and puts that into
 *   the input box, where Enter would send it; `claude -p` asks only where its caller wants to know (2.1.330)
 * - 2.1.330 puts every subagent into the background unless `CLAUDE_CODE_FORK_SUBAGENT` is 0, `claude -p` does not
 * - `CLAUDE_CODE_SANDBOXED` leaves out the trust dialogs and trusts no folder: what a project may do stays as in
 *   `claude -p`, which asks for no trust either
 * - `CLAUDE_BG_…` makes 2.1.330 listen for prompts, and keep these variables from tools; requests to the
 *   model stay as they are
 * - `CLAUDE_CODE_DISABLE_CRON` keeps a project's own prompts from being sent, and takes tools away that `claude -p`
 *   offers, so it is set only where there are such prompts
 *
 * `TMPDIR` is left to the tools; `CLAUDE_CODE_TMPDIR` moves only what Claude Code itself puts there.
 */
export function childEnvironment(
  caller: Environment,
  sandbox: {
    readonly configDir: string;
    readonly tempDir: string;
    readonly userConfig: UserConfig;
    /** What the debug log has to hold, if it is this program that reads it. */
    readonly logLevel?: "debug" | "warn" | undefined;
    /** Whether the project has prompts of its own that wait for their time. */
    readonly scheduledTasks: boolean;
    /** What stands in the place of the user's shell, if something does. */
    readonly splitShell?: { readonly path: string } | undefined;
    /** The socket at which the child is to wait for the prompt, if it is to. */
    readonly rendezvous?: { readonly path: string; readonly secret: string } | undefined;
  },
): Environment {
  const env: Record<string, string> = { ...caller };
  for (const name of REMOVED) delete env[name];
  return {
    ...env,
    CLAUDE_CONFIG_DIR: sandbox.configDir,
    CLAUDE_SECURESTORAGE_CONFIG_DIR: sandbox.userConfig.loginDir,
    CLAUDE_CODE_TMPDIR: sandbox.tempDir,
    CLAUDE_CODE_AUTO_CONNECT_IDE: "false",
    CLAUDE_CODE_DISABLE_TERMINAL_TITLE: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN: "1",
    CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "false",
    CLAUDE_CODE_FORK_SUBAGENT: "0",
    CLAUDE_CODE_SANDBOXED: "1",
    ...(sandbox.scheduledTasks ? { CLAUDE_CODE_DISABLE_CRON: "1" } : {}),
    DISABLE_AUTOUPDATER: "1",
    DISABLE_INSTALLATION_CHECKS: "1",
    TERM: "xterm-256color",
    ...(sandbox.rendezvous === undefined ? {} : {
      CLAUDE_BG_BACKEND: "daemon",
      CLAUDE_BG_RENDEZVOUS_SOCK: sandbox.rendezvous.path,
      CLAUDE_BG_RV_AUTH: sandbox.rendezvous.secret,
    }),
    ...(sandbox.splitShell === undefined ? {} : { CLAUDE_CODE_SHELL: sandbox.splitShell.path }),
    ...(sandbox.logLevel === undefined ? {} : { CLAUDE_CODE_DEBUG_LOG_LEVEL: sandbox.logLevel }),
    [USER_CONFIG_VARIABLE]: caller[USER_CONFIG_VARIABLE] ?? caller["CLAUDE_CONFIG_DIR"] ?? "",
  };
}

/**
 * Whether a project brings prompts along that the interactive Claude Code sends when their time has come, and
 * `claude -p` does not (2.1.330).
 *
 * @param folders where its `.claude` may be
 */
export function hasScheduledTasks(folders: readonly string[]): boolean {
  return folders.some((folder) => {
    try {
      Deno.lstatSync(`${folder}/.claude/scheduled_tasks.json`);
      return true;
    } catch {
      return false;
    }
  });
}
