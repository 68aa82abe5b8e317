import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { Environment } from "../environment.ts";
import { USER_CONFIG_VARIABLE, type UserConfig } from "../user_config.ts";

/**
 * Variables that are removed, because they change what the child is: its entrypoint, no transcript, no hooks, part of an
 * IDE, a demo. `CLAUDE_CODE_ENABLE_CFC` would register a program of the run in the user's browsers (see `--chrome`). Claude
 * Code exports several of them to its tools, so a claude-print that a tool starts has them (2.1.330).
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

/** Variables that keep the child in its sandbox. No settings may change them. */
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
 * Returns the variables of the child's environment that settings set too. Settings override the environment, even those of
 * an untrusted project (measured with 2.1.197). A variable that disables hooks would disable the limits with them.
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
 * Returns the environment of the child: the caller's without the removed variables, and with variables that keep the child
 * in its sandbox and make its start fast. (Measured with 2.1.330 unless noted.)
 *
 * - `CLAUDE_CODE_AUTO_CONNECT_IDE`: in an editor's terminal, and with `--ide`, the interactive Claude Code connects to the
 *   editor's extension and asks for its tools. `claude -p` never does
 * - `CLAUDE_CODE_DISABLE_TERMINAL_TITLE`: terminal titles cost 2.1.285 an extra API request, 2.1.332 none
 * - `CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC`: with a new config dir Claude Code would wait for feature flags first
 * - `DISABLE_INSTALLATION_CHECKS`: they ask the package manager, and report to the screen only
 * - `CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN`: the alternate screen costs 40 to 70 ms
 * - `CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION`: from the second turn on the interactive Claude Code asks the model for the
 *   user's next prompt and puts it into the input box, where Enter would send it. `claude -p` does so only on request
 * - `CLAUDE_CODE_FORK_SUBAGENT`: Claude Code starts every subagent in the background unless it is 0. `claude -p` does not
 * - `CLAUDE_CODE_SANDBOXED` skips the trust dialogs and trusts no folder. `claude -p` asks for no trust either
 * - `CLAUDE_BG_…` makes Claude Code listen for prompts. It hides these variables from tools, and API requests do not change
 * - `CLAUDE_CODE_DISABLE_CRON` keeps the project's scheduled prompts from being sent. It also removes tools that
 *   `claude -p` offers, so it is set only if the project has such prompts
 *
 * `TMPDIR` stays as it is for the tools. `CLAUDE_CODE_TMPDIR` moves Claude Code's own files only.
 */
export function childEnvironment(
  caller: Environment,
  sandbox: {
    readonly configDir: string;
    readonly tempDir: string;
    readonly userConfig: UserConfig;
    /** The level of the debug log, if this program reads it. */
    readonly logLevel?: "debug" | "warn" | undefined;
    /** Whether the project has scheduled prompts. */
    readonly scheduledTasks: boolean;
    /** The script in place of the user's shell, if stderr is to be separate. */
    readonly splitShell?: { readonly path: string } | undefined;
    /** The socket on which the child waits for the prompt. */
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
 * Whether a project has scheduled prompts. The interactive Claude Code sends them, `claude -p` does not (2.1.330).
 *
 * @param folders the folders whose `.claude` is searched
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
