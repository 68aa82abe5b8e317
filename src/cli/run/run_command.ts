import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { findServer } from "../../server/server_places.ts";
import { passesCredentials } from "../../sandbox/child/passed_credentials.ts";
import { Outlets } from "../report/outlets.ts";

/**
 * Carries out the run of a command line: a prompt, a conversation on stdin, or with `--jsonl` a list.
 *
 * @param argv the command line; each line of a list may add flags to it
 * @returns the exit code
 */
export async function run(request: RunRequest, argv: readonly string[]): Promise<number> {
  using outlets = new Outlets();
  // Never undone: without a listener, writing beyond the file size limit kills this program. With one, the write fails.
  listenToSignals(["SIGXFSZ"], () => {});
  if (request.jsonl && request.oneSession) {
    const { converseList } = await import("./converse_list.ts");
    return await converseList(request, { outlets });
  }
  if (request.jsonl) {
    const { runList } = await import("./run_list.ts");
    return await runList(request, { argv, outlets });
  }
  using signals = new StopSignals();
  const isLocal = mustRunLocally(request, argv);
  const places = isLocal ? undefined : findServer();
  const startsServer = !isLocal && mayStartServer(request);
  if (places === undefined) {
    const { runLocally } = await import("./run_locally.ts");
    const serverArgv = startsServer ? argv : undefined;
    return await runLocally(request, { outlets, signals, serverArgv });
  }
  const { runOnServer } = await import("./run_on_server.ts");
  return await runOnServer(request, { argv, outlets, signals, places, startsServer });
}

/** Returns true if the caller wants a server for later runs. A tool of Claude Code must not leave a process behind. */
function mayStartServer({ warm }: RunRequest): boolean {
  const env = Deno.env.toObject();
  return (warm || env["CLAUDE_PRINT_SERVE"] === "auto") && env["CLAUDECODE"] === undefined;
}

/** Variables that name folders. A relative path in one of them depends on the working directory. */
const FOLDER_VARIABLES = ["HOME", "TMPDIR", "CLAUDE_CONFIG_DIR", "XDG_RUNTIME_DIR"];

/** Paths whose meaning differs in each process (its fds and its terminal), alone or as the value of a flag. */
const PER_PROCESS_PATHS =
  /^(?:--?[^=]*=)?\/(?:dev\/(?:std(?:in|out|err)|tty|fd\/)|proc\/(?:thread-)?self\/)/u;

/** Returns true if the caller wants no server, or the server would not behave like this process. */
function mustRunLocally({ cold, show }: RunRequest, argv: readonly string[]): boolean {
  // toObject() leaves out values that are not UTF-8; get() would throw. A run that needs such a value reports it.
  const env = Deno.env.toObject();
  const dependsOnProcess = FOLDER_VARIABLES.map((name) => env[name] ?? "")
    .some((path) => /^[^/]/u.test(path) || PER_PROCESS_PATHS.test(path));
  return cold || show || dependsOnProcess || passesCredentials(env) ||
    argv.some((argument) => PER_PROCESS_PATHS.test(argument)) ||
    env["CLAUDE_PRINT_SERVE"] === "off";
}
