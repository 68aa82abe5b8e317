import { denoPromptIo } from "../cli/deno_prompt_io.ts";
import { CliError } from "../cli/cli_error.ts";
import { readPrompt } from "../cli/prompt_source.ts";
import type { RunRequest } from "../cli/run_request.ts";
import { performRun } from "../driver/perform_run.ts";
import { prepareRun } from "../driver/prepare_run.ts";
import type { RunReport } from "../driver/run_report.ts";
import { StopSignals } from "../driver/stop_signals.ts";
import { forwardTranscripts } from "../sandbox/forward_transcripts.ts";
import { pasteRefusal } from "../session/paste.ts";
import { createOutputWriter, type OutputWriter } from "../wire/output_writer.ts";
import { print } from "./print.ts";

/**
 * One prompt through the interactive Claude Code, out as `claude -p` prints it.
 *
 * Whatever happens, `json` and `stream-json` end with a result object, and a failure names its cause on stderr.
 *
 * @returns the exit code
 */
export async function run(request: RunRequest): Promise<number> {
  let unwritten: unknown;
  const writer = createOutputWriter(request.outputFormat, {
    verbose: request.verbose,
    // Output that cannot be written must not cut a run short: the child has to end, the transcript to come home.
    write: (text) => {
      if (unwritten !== undefined) return;
      try {
        print(Deno.stdout, text);
      } catch (error) {
        unwritten = error;
      }
    },
  });
  try {
    const exitCode = await runPrompt(request, writer);
    if (unwritten !== undefined) throw unwritten;
    return exitCode;
  } catch (error) {
    const { reportFailure } = await import("./report_failure.ts");
    return reportFailure(error, { writer, sessionId: request.sessionId });
  }
}

async function runPrompt(request: RunRequest, writer: OutputWriter): Promise<number> {
  const startedAt = performance.now();
  const trace = request.trace
    ? (text: string) =>
      print(Deno.stderr, `[${(performance.now() - startedAt).toFixed(0).padStart(6)} ms] ${text}\n`)
    : () => {};
  const cwd = currentFolder();
  const prompt = await readPrompt(request, denoPromptIo());
  const refusal = request.inject === "paste" ? pasteRefusal(prompt) : undefined;
  if (refusal !== undefined) {
    throw new CliError(`Cannot paste the prompt: ${refusal}`, {
      suggestion: "Leave out --inject paste: on stdin every prompt goes in as it is",
    });
  }
  const altered = await alteredCharacter(prompt);
  const frames = request.outputFormat === "stream-json" ||
    (request.outputFormat === "json" && request.verbose);
  using signals = new StopSignals();
  const prepared = await prepareRun({
    ...request,
    prompt,
    cwd,
    env: Deno.env.toObject(),
    frames,
    mayBeAltered: altered !== undefined,
  });
  using sandbox = prepared.sandbox;
  trace(`sandbox ${sandbox.path}`);
  trace(`${prepared.binary} ${prepared.args.join(" ")}`);
  const report = await performRun(prepared, {
    signals,
    altered,
    emit: frames ? writer.frame : undefined,
    trace,
  });
  writer.result(report.result);
  tell(report);
  if (request.persistSession) {
    const failures = forwardTranscripts({
      from: sandbox.configDir,
      to: prepared.userConfig.dir,
      resumed: sandbox.resumed,
    });
    const [first, ...others] = failures;
    if (first !== undefined) {
      const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
      warn(`${first}${more}`);
    }
  }
  const kept = sandbox.remove();
  if (kept !== undefined) {
    warn(`Cannot remove the run's private folder ${sandbox.path}: ${kept.message}`);
  }
  trace(`exit code ${report.exitCode}`);
  return report.exitCode;
}

function warn(text: string): void {
  print(Deno.stderr, `claude-print: Warning: ${text}\n`);
}

/** Tells a failure on stderr, with the last screen where it explains more than words. */
function tell({ problem, screen }: RunReport): void {
  if (problem === undefined) return;
  print(Deno.stderr, `claude-print: ${problem.message}\n`);
  if (problem.suggestion !== undefined) print(Deno.stderr, `  ${problem.suggestion}\n`);
  // What the child drew must not reach the user's terminal as anything but visible text.
  const rows = (screen ?? []).map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, ""))
    .filter((line) => line.trim() !== "");
  if (rows.length === 0) return;
  print(Deno.stderr, `  Its last screen:\n${rows.map((row) => `  | ${row}\n`).join("")}`);
}

/** The first character of a prompt that Claude Code may change, in words; plain ASCII is never looked at. */
async function alteredCharacter(prompt: string): Promise<string | undefined> {
  if (/^[\t\n\x20-\x7e]*$/u.test(prompt)) return undefined;
  const { firstAlteredCharacter } = await import("../cli/first_altered_character.ts");
  const found = firstAlteredCharacter(prompt);
  return found && `${found.name} at character ${found.offset}`;
}

function currentFolder(): string {
  try {
    return Deno.cwd();
  } catch (cause) {
    throw new CliError("Cannot work in the current folder: it no longer exists", {
      suggestion: "Change to a folder that exists: cd ~",
      cause,
    });
  }
}
