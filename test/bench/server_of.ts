/** A server that is running, and is told to end when it is disposed of. */
export interface RunningServer extends AsyncDisposable {
  /** Its base URL. */
  readonly url: string;
}

/**
 * Starts a program that says on stdout where it listens on loopback: the first such address is its base URL.
 *
 * @throws {Error} if it ends before
 */
export async function serverOf(
  [program = "", ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<RunningServer> {
  const child = new Deno.Command(program, {
    args,
    clearEnv: true,
    env: { ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  let place: RegExpExecArray | null = null;
  while (place === null) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`${program} ended before it listened: ${said}`);
    said += value;
    // The port is whole once something follows it.
    place = /(?:listening (?:at|on) (?:http:\/\/)?|^http:\/\/)127\.0\.0\.1:(\d+)\D/u.exec(said);
  }
  // What is said later is read, so that nobody waits for it.
  const rest = (async () => {
    while (!(await reader.read()).done);
  })();
  return {
    url: `http://127.0.0.1:${place[1]}`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await rest;
      await child.status;
    },
  };
}
