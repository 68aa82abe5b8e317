import { resolve } from "node:path";
import { cString } from "../ffi/c_string.ts";
import { closeFd } from "../ffi/descriptors/fd.ts";
import { libc } from "../ffi/libc.ts";
import { parseArguments } from "../src/cli/parse_arguments.ts";
import { readPrompt } from "../src/cli/prompt_source.ts";
import { Outlets } from "../src/commands/report/outlets.ts";
import { denoPromptIo } from "../src/commands/run/deno_prompt_io.ts";
import { performRequest } from "../src/commands/run/perform_request.ts";
import { StopSignals } from "../src/driver/stop_signals.ts";
import { SERVED_IN } from "../fixtures/throwaway_home.ts";
import { CLAUDE_PRINT, CLAUDE_PRINT_SOURCES } from "./claude_print.ts";
import { definedOnly, type ProgramOptions, type ProgramOutput } from "./start_program.ts";

const O_WRONLY = 1;
const O_CLOEXEC = 0o2000000;

/** Whether another program than the sources is tested, or a server carries all out: then each run is one of its own. */
export const IS_ELSEWHERE: boolean = CLAUDE_PRINT[0] !== CLAUDE_PRINT_SOURCES[0] ||
  Deno.env.get(SERVED_IN) !== undefined;

/**
 * Carries out a run of one prompt inside this process: all that `claude-print` does from its arguments to its exit code, on
 * files as stdout and stderr. To start a program for it takes more than half of the CPU time of a run with the stand-in.
 *
 * @param args of `claude-print`, which ask for a run
 */
export async function runInside(
  args: readonly string[],
  { env, cwd, stdin = "" }: Pick<ProgramOptions, "env" | "cwd" | "stdin">,
): Promise<ProgramOutput> {
  const command = await parseArguments(args);
  if (command.kind !== "run") throw new Error(`${args.join(" ")} asks for no run`);
  const { request } = command;
  const folder = await Deno.makeTempDir();
  const [stdout, stderr] = [`${folder}/stdout`, `${folder}/stderr`] as const;
  const fds = { stdout: create(stdout), stderr: create(stderr) };
  try {
    using outlets = new Outlets(fds);
    using signals = new StopSignals({ listen: false });
    const code = await performRequest(request, {
      env: () => definedOnly(env),
      cwd: () => cwd,
      outlets,
      signals,
      stdin: -1,
      isTerminal: { stdin: false, stdout: false, stderr: false },
      startedAt: performance.now(),
    }, {
      readPrompt: (io) =>
        readPrompt(request, {
          ...denoPromptIo(io),
          readFile: (path) => denoPromptIo(io).readFile(resolve(cwd, path)),
          stdinIsTerminal: false,
          stdin: new Blob([stdin]).stream(),
          stdinAtOnce: () => undefined,
        }),
    });
    return {
      code,
      stdout: await Deno.readTextFile(stdout),
      stderr: await Deno.readTextFile(stderr),
    };
  } finally {
    for (const fd of Object.values(fds)) closeFd(fd);
    await Deno.remove(folder, { recursive: true });
  }
}

/** Makes a file and opens it, to be written to. */
function create(path: string): number {
  Deno.writeTextFileSync(path, "");
  return libc().open(cString(path), O_WRONLY | O_CLOEXEC);
}
