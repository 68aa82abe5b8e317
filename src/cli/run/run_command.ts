import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { findServer } from "../../server/server_places.ts";
import { passesCredentials } from "../../sandbox/child/passed_credentials.ts";
import { Outlets } from "../report/outlets.ts";

/**
 * The run that a command line asks for: one prompt, or with `--jsonl` a list of them.
 *
 * @param argv the command line, to which the lines of a list add
 * @returns the exit code
 */
export async function run(request: RunRequest, argv: readonly string[]): Promise<number> {
  using outlets = new Outlets();
  // To the end of the program: writing beyond the limit of a file's size fails as on a full disk, and does not kill.
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
  const places = goesCold(request, argv) ? undefined : findServer();
  if (places === undefined) {
    const { runHere } = await import("./run_locally.ts");
    return await runHere(request, { outlets, signals });
  }
  const { runThere } = await import("./delegate_run.ts");
  return await runThere(request, { argv, outlets, signals, places });
}

/** Variables that name folders, which a program takes to be below its own one if they do not begin at the root. */
const FOLDERS = ["HOME", "TMPDIR", "CLAUDE_CONFIG_DIR", "XDG_RUNTIME_DIR"];

/** Paths that are something else in each process, by themselves or as the value of a flag: its fds, and its terminal. */
const OWN_PATHS =
  /^(?:--?[^=]*=)?\/(?:dev\/(?:std(?:in|out|err)|tty|fd\/)|proc\/(?:thread-)?self\/)/u;

/** Whether a run is to be carried out here, or can be nowhere else: whoever mirrors a screen owns the terminal. */
function goesCold({ cold, show }: RunRequest, argv: readonly string[]): boolean {
  // It leaves out what is not UTF-8, which is told of where it is needed; `get` would throw.
  const env = Deno.env.toObject();
  const isElsewhere = FOLDERS.map((name) => env[name] ?? "")
    .some((path) => /^[^/]/u.test(path) || OWN_PATHS.test(path));
  return cold || show || isElsewhere || passesCredentials(env) ||
    argv.some((argument) => OWN_PATHS.test(argument)) ||
    env["CLAUDE_PRINT_SERVE"] === "off";
}
