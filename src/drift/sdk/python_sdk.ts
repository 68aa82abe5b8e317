import { z } from "zod/mini";
import { CliError } from "../../cli_error.ts";
import { DRIFT_CHECKS, type DriftCheck, type Place } from "../finding.ts";
import type { Found } from "../finding.ts";
import { PYTHON_PROGRAM } from "./python_program.ts";

/** What the Agent SDK for Python does not know. */
export interface PythonVerdict {
  /** Such as `claude-agent-sdk 0.2.187`. */
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
 * @returns nothing where the interpreter has no SDK
 * @throws {CliError} when it cannot be started or does not answer
 */
export async function pythonVerdict(
  python: string,
  { tapes }: { readonly tapes: readonly string[] },
): Promise<PythonVerdict | undefined> {
  let output: Deno.CommandOutput;
  try {
    const child = new Deno.Command(python, {
      args: ["-I", "-B", "-c", PYTHON_PROGRAM],
      cwd: "/",
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const asked = child.output();
    const writer = child.stdin.getWriter();
    // An interpreter that ends at once is told of by how it ends.
    await writer.write(new TextEncoder().encode(JSON.stringify(tapes))).catch(() => {});
    await writer.close().catch(() => {});
    output = await asked;
  } catch (cause) {
    throw unusable(python, (cause as Error).message, cause);
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
