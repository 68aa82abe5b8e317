import { z } from "zod/mini";
import { endOfProgram } from "../../../../ffi/processes/end_of_program.ts";
import { CliError } from "../../../cli_error.ts";
import { DRIFT_CHECKS, type DriftCheck, type Found, type Place } from "../finding.ts";
import { PYTHON_PROGRAM } from "./python_program.ts";

/** What the Agent SDK for Python does not know. */
export interface PythonVerdict {
  /** Such as `claude-agent-sdk 0.2.189`. */
  readonly name: string;
  readonly found: readonly (Found & { readonly count: number; readonly place: Place })[];
  readonly left: number;
}

const answerSchema = z.union([
  z.object({ missing: z.string() }),
  z.object({
    version: z.string(),
    left: z.number(),
    found: z.array(z.object({
      check: z.enum(DRIFT_CHECKS as unknown as [DriftCheck, ...DriftCheck[]]),
      where: z.string(),
      what: z.string(),
      count: z.number(),
      path: z.string(),
      line: z.number(),
    })),
  }),
]);

/**
 * Has the Agent SDK for Python parse the frames of tapes, in its own interpreter. That one takes no modules from the folder
 * it is started in, nor from where the environment says.
 *
 * @param python the interpreter
 * @param options.tapes absolute paths of regular files
 * @param options.signal ends the interpreter once it is aborted
 * @param options.limitMs how long it may take, in milliseconds; by default the longer, the larger the tapes are
 * @returns nothing where the interpreter has no SDK
 * @throws {CliError} when it cannot be started or does not answer in time
 */
export async function pythonVerdict(
  python: string,
  { tapes, signal, limitMs = limitFor(tapes) }: {
    readonly tapes: readonly string[];
    readonly signal?: AbortSignal | undefined;
    readonly limitMs?: number;
  },
): Promise<PythonVerdict | undefined> {
  let output: Deno.CommandOutput;
  const tooLong = AbortSignal.timeout(limitMs);
  try {
    output = await endOfProgram(python, {
      args: ["-I", "-B", "-c", PYTHON_PROGRAM],
      cwd: "/",
      input: JSON.stringify(tapes),
      signal: AbortSignal.any([tooLong, ...(signal === undefined ? [] : [signal])]),
    });
  } catch (cause) {
    signal?.throwIfAborted();
    const why = tooLong.aborted
      ? `it has not answered within ${limitMs / 1000} s`
      : (cause as Error).message;
    throw unusable(python, why, cause);
  }
  const answer = answerSchema.safeParse(jsonIn(new TextDecoder().decode(output.stdout)));
  if (!answer.success) {
    const last = new TextDecoder().decode(output.stderr).trim().split("\n").at(-1) ?? "";
    throw unusable(
      python,
      `it ended with exit code ${output.code}${last === "" ? "" : `: ${last.slice(0, 500)}`}`,
    );
  }
  if ("missing" in answer.data) return undefined;
  const { version, found, left } = answer.data;
  return {
    name: `claude-agent-sdk ${version} (Python)`,
    found: found.map(({ path, line, ...rest }) => ({ ...rest, place: { path, line } })),
    left,
  };
}

/** How long an interpreter may take to start and load the SDK, in milliseconds, and for each megabyte of tapes besides. */
const START_MS = 60_000;
const MEGABYTE_MS = 1000;

function limitFor(tapes: readonly string[]): number {
  const bytes = tapes.reduce((sum, path) => sum + Deno.statSync(path).size, 0);
  return START_MS + Math.ceil(bytes / 1_000_000) * MEGABYTE_MS;
}

function unusable(python: string, why: string, cause?: unknown): CliError {
  return new CliError(`Cannot ask the Agent SDK of ${python}: ${why}`, {
    suggestion: "Name the python3 that it is installed for by --sdk, or leave it out by --no-sdk",
    cause,
  });
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
