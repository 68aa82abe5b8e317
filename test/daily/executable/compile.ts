import { type ProgramOutput, startProgram } from "../../start_program.ts";

/** Which checkout is compiled, and how. */
export interface CompileOptions {
  /** Root of the checkout; this one by default. */
  readonly root?: string;
  readonly args?: readonly string[];
  /** Variables over those of the test's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether what heeds the proxy variables reaches nothing but loopback. */
  readonly offline?: boolean;
}

/** A port on which nothing listens, as a proxy. */
const OFFLINE = Object.fromEntries([
  ["NO_PROXY", "127.0.0.1"],
  ...["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"].map((name) => [
    name,
    "http://127.0.0.1:1",
  ]),
]);

const ROOT = new URL("../../..", import.meta.url).pathname;

/** Runs the script behind `deno task compile`. */
export async function compile(options: CompileOptions = {}): Promise<ProgramOutput> {
  const { root = ROOT, args = [], env = {}, offline = false } = options;
  const script = `${root}/.github/scripts/compile.ts`;
  const config = ["--frozen", "--config", `${root}/deno.json`];
  return await startProgram([Deno.execPath(), "run", "-A", "--quiet", ...config, script, ...args], {
    env: { ...Deno.env.toObject(), NO_COLOR: "1", ...env, ...offline ? OFFLINE : {} },
    cwd: root,
  }).ended;
}
