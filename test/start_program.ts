/** What a program is started with. */
export interface ProgramOptions {
  /** What it reads on stdin; nothing by default. */
  readonly stdin?: string | Uint8Array<ArrayBuffer> | undefined;
  /** Its whole environment; what is undefined is not in it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Takes all that it has written to stdout so far, whenever that is more. */
  readonly onStdout?: ((text: string) => void) | undefined;
}

/** A program that has ended. */
export interface ProgramOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program under way. */
export interface Program {
  readonly child: Deno.ChildProcess;
  /** Its end, with all it wrote. */
  readonly ended: Promise<ProgramOutput>;
}

/** Starts a command, feeds it all of stdin and collects what it writes. */
export function startProgram(command: readonly string[], options: ProgramOptions): Program {
  const { stdin, env, cwd, onStdout } = options;
  const [program = "", ...args] = command;
  const child = spawn(
    new Deno.Command(program, {
      args,
      cwd,
      clearEnv: true,
      env: definedOnly(env),
      stdin: stdin === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }),
  );
  const collect = async (): Promise<ProgramOutput> => {
    const [{ code }, stdout, stderr] = await Promise.all([
      child.status,
      textOf(child.stdout, onStdout),
      new Response(child.stderr).text(),
      ...(stdin === undefined ? [] : [feed(child.stdin, stdin)]),
    ]);
    return { code, stdout, stderr };
  };
  return { child, ended: collect() };
}

/** How often a program is started whose file is busy, with a millisecond between. */
const TRIES = 1000;

/**
 * Starts a program that may just have been written: another test, which runs in a thread of this process, may start one of
 * its own at that moment, and then that one holds the file open for writing until its exec(2).
 */
function spawn(command: Deno.Command): Deno.ChildProcess {
  for (let tries = 1;; tries++) {
    try {
      return command.spawn();
    } catch (error) {
      if (tries === TRIES || !/text file busy/iu.test(`${error}`)) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

async function textOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onText: (text: string) => void = () => {},
): Promise<string> {
  let text = "";
  for await (const more of stream.pipeThrough(new TextDecoderStream())) {
    text += more;
    onText(text);
  }
  return text;
}

/** Writes all of stdin; a program that ends without reading it is free to. */
async function feed(
  stdin: WritableStream<Uint8Array>,
  input: string | Uint8Array<ArrayBuffer>,
): Promise<void> {
  try {
    await new Blob([input]).stream().pipeTo(stdin);
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

/** The variables that have a value. */
export function definedOnly(
  variables: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]]
    ),
  );
}
