import { findTool } from "../../missing_tool.ts";

/** What a browser without a window is called, where there is one. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** The browser's name, if this machine has none. */
export function lackOfBrowser(): string | undefined {
  return browserPath() === undefined ? "chromium" : undefined;
}

function browserPath(): string | undefined {
  return NAMES.map(findTool).find((path) => path !== undefined);
}

/** A page in a browser without a window. */
interface BrowserPage extends AsyncDisposable {
  /** The value of an expression in the page, which may be a promise; what it throws is thrown. */
  readonly evaluate: (expression: string) => Promise<unknown>;
  /** Looks again and again until an expression is true. */
  readonly until: (expression: string) => Promise<void>;
  /** Shows the page on a screen so wide, in pixels, in dark mode. */
  readonly emulate: (width: number) => Promise<void>;
}

/** A wait that takes this long fails its test, in milliseconds. */
const PATIENCE_MS = 20_000;
const LOOK_MS = 20;

interface Answer {
  readonly id?: number;
  readonly sessionId?: string;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** Opens an address in a browser of its own. */
export async function openPage(url: string): Promise<BrowserPage> {
  const profile = await Deno.makeTempDir();
  const child = new Deno.Command(browserPath() ?? "chromium", {
    args: [
      ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
      ...["--no-first-run", "--disable-extensions", "--disable-background-networking"],
      ...["--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"],
    ],
    clearEnv: true,
    env: { HOME: profile, PATH: "/usr/bin:/bin", TMPDIR: profile },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const { socket: address, drained } = await debuggerOf(child.stderr);
  const socket = new WebSocket(address);
  const waiting = new Map<number, (answer: Answer) => void>();
  socket.onmessage = ({ data }) => {
    const answer: Answer = JSON.parse(data);
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
  };
  await new Promise((done) => socket.onopen = done);
  let calls = 0;
  const session: { sessionId?: string } = {};
  const call = async (method: string, params: unknown): Promise<Record<string, unknown>> => {
    const id = ++calls;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    waiting.set(id, resolve);
    socket.send(JSON.stringify({ id, method, params, ...session }));
    const { result, error } = await promise;
    waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result as Record<string, unknown>;
  };
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  const attached = await call("Target.attachToTarget", { targetId, flatten: true });
  session.sessionId = `${attached["sessionId"]}`;
  await call("Page.navigate", { url });
  const evaluate = async (expression: string): Promise<unknown> => {
    const { result, exceptionDetails } = await call("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { readonly value?: unknown }).value;
  };
  return {
    evaluate,
    emulate: async (width) => {
      const screen = { width, height: 640, deviceScaleFactor: 2, mobile: true };
      await call("Emulation.setDeviceMetricsOverride", screen);
      const features = [{ name: "prefers-color-scheme", value: "dark" }];
      await call("Emulation.setEmulatedMedia", { features });
    },
    until: async (expression) => {
      const deadline = performance.now() + PATIENCE_MS;
      // A page that is being replaced has no answer.
      while (await evaluate(expression).catch(() => false) !== true) {
        if (performance.now() > deadline) {
          const page = await evaluate("document.documentElement.outerHTML");
          throw new Error(`Cannot wait any longer until ${expression}: ${page}`);
        }
        await new Promise((done) => setTimeout(done, LOOK_MS));
      }
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((done) => socket.onclose = done);
      socket.send(JSON.stringify({ id: ++calls, method: "Browser.close" }));
      await Promise.all([child.status, drained, closed]);
      await Deno.remove(profile, { recursive: true });
    },
  };
}

/** Where a browser listens, as it says on stderr, of which nobody reads more. */
async function debuggerOf(
  stderr: ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<{ readonly socket: string; readonly drained: Promise<void> }> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const drain = async () => {
    let text = "";
    for await (const more of stream()) {
      text += more;
      const [, address] = /DevTools listening on (ws:\S+)/u.exec(text) ?? [];
      if (address !== undefined) resolve(address);
    }
    reject(new Error(`The browser has ended: ${text}`));
  };
  const stream = () => stderr.pipeThrough(new TextDecoderStream());
  const drained = drain();
  return { socket: await promise, drained };
}
