import { resolve } from "node:path";
import { cString } from "../ffi/c_string.ts";
import { closeFd, readFd, writeFd } from "../ffi/descriptors/fd.ts";
import { Pipe } from "../ffi/descriptors/pipe.ts";
import { Poller, type Ready } from "../ffi/descriptors/poll.ts";
import { checked } from "../ffi/errno.ts";
import { libc } from "../ffi/libc.ts";
import { parseArguments } from "../src/cli/arguments/parse_arguments.ts";
import { denoPromptIo, readPrompt } from "../src/cli/arguments/read_prompt.ts";
import { Outlets } from "../src/cli/report/outlets.ts";
import { performRequest } from "../src/cli/run/run_locally.ts";
import { StopSignals } from "../src/driver/stop_signals.ts";
import { definedOnly, type ProgramOptions, type ProgramOutput } from "./start_program.ts";

const O_WRONLY = 1;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;

/** What a pipe holds, in bytes. */
const LARGEST_READ = 64 * 1024;

/**
 * Carries out a run of one prompt inside this process: all that `claude-print` does from its arguments to its exit code, on
 * files as stdout and stderr. To start a program for it takes more than half of the CPU time of a run with the stand-in.
 *
 * @param args of `claude-print`, which ask for a run
 */
export async function runCommandInProcess(
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

/** A conversation that is held inside this process, by what its caller has of it. */
export interface ConversationInside {
  readonly stdin: WritableStream<Uint8Array<ArrayBuffer>>;
  readonly stdout: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly ended: Promise<Pick<ProgramOutput, "code" | "stderr">>;
  /** Ends it as SIGTERM would end the program. */
  readonly stop: () => void;
}

/**
 * Holds a conversation inside this process, as `runCommandInProcess` does with a prompt: on pipes as stdin and stdout, and a file as
 * stderr.
 *
 * @param args of `claude-print`, which ask for messages on stdin
 */
export async function converseInProcess(
  args: readonly string[],
  { env, cwd }: Pick<ProgramOptions, "env" | "cwd">,
): Promise<ConversationInside> {
  const command = await parseArguments(args);
  if (command.kind !== "run") throw new Error(`${args.join(" ")} asks for no run`);
  const { request } = command;
  const folder = await Deno.makeTempDir();
  const stderr = create(`${folder}/stderr`);
  const [input, output] = [new Pipe(), new Pipe()];
  const signals = new StopSignals({ listen: false });
  const converse = async () => {
    try {
      using outlets = new Outlets({ stdout: output.writeFd, stderr });
      const code = await performRequest(request, {
        env: () => definedOnly(env),
        cwd: () => cwd,
        outlets,
        signals,
        stdin: input.readFd,
        isTerminal: { stdin: false, stdout: false, stderr: false },
        startedAt: performance.now(),
      }, { readPrompt: () => Promise.reject(new Error("A conversation has no prompt")) });
      return { code, stderr: await Deno.readTextFile(`${folder}/stderr`) };
    } finally {
      for (const fd of [input.readFd, output.writeFd, stderr]) closeFd(fd);
      await Deno.remove(folder, { recursive: true });
    }
  };
  return {
    stdin: writingTo(input.writeFd),
    stdout: readingFrom(output.readFd),
    ended: converse(),
    stop: () => signals.raise("SIGTERM"),
  };
}

/** The end of a pipe that is written to. Nothing waits for room, as whoever makes it may do so in this thread. */
function writingTo(pipe: number): WritableStream<Uint8Array<ArrayBuffer>> {
  const fd = opened(`/proc/self/fd/${pipe}`, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  closeFd(pipe);
  const poller = new Poller();
  return new WritableStream({
    write: async (bytes) => {
      for (let rest = bytes; rest.length > 0;) {
        const count = writeFd(fd, rest);
        // A conversation that is over hears nothing.
        if (count === "end") return;
        if (typeof count === "number") rest = rest.subarray(count);
        else await poller.wait([{ fd, write: true }], -1);
      }
    },
    close: () => {
      poller[Symbol.dispose]();
      closeFd(fd);
    },
  });
}

/** The end of a pipe that is read, up to where the other one is closed. */
function readingFrom(fd: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  const poller = new Poller();
  const buffer = new Uint8Array(LARGEST_READ);
  return new ReadableStream({
    pull: async (controller) => {
      let found: readonly Ready[] = [];
      while (found.length === 0) found = await poller.wait([{ fd, read: true }], -1);
      const count = readFd(fd, buffer);
      if (typeof count === "number") return controller.enqueue(buffer.slice(0, count));
      poller[Symbol.dispose]();
      closeFd(fd);
      controller.close();
    },
  });
}

/** Makes a file and opens it, to be written to. */
function create(path: string): number {
  Deno.writeTextFileSync(path, "");
  return opened(path, O_WRONLY | O_CLOEXEC);
}

function opened(path: string, flags: number): number {
  return checked(libc().open(cString(path), flags), { call: "open", action: "open", path });
}
