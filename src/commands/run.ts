import { denoPromptIo } from "../cli/deno_prompt_io.ts";
import { CliError } from "../cli/cli_error.ts";
import { readPrompt } from "../cli/prompt_source.ts";
import type { RunRequest } from "../cli/run_request.ts";
import { performRun } from "../driver/perform_run.ts";
import { prepareRun } from "../driver/prepare_run.ts";
import type { Redactor } from "../driver/redact.ts";
import type { RunReport } from "../driver/run_report.ts";
import { StopSignals } from "../driver/stop_signals.ts";
import { Teardown } from "../driver/teardown.ts";
import { pasteRefusal } from "../session/paste.ts";
import { createOutputWriter, type OutputWriter } from "../wire/output_writer.ts";
import { currentFolder } from "./current_folder.ts";
import { print } from "./print.ts";
import type { RunWatcher, WatchOptions } from "./watch_run.ts";

/**
 * One prompt through the interactive Claude Code, out as `claude -p` prints it.
 *
 * Whatever happens, `json` and `stream-json` end with a result object, and a failure names its cause on stderr.
 *
 * @returns the exit code
 */
export async function run(request: RunRequest): Promise<number> {
  let unwritten: unknown;
  let signals: StopSignals | undefined;
  const writer = createOutputWriter(request.outputFormat, {
    verbose: request.verbose,
    // Output that cannot be written must not cut a run short: the child has to end, the transcript to come home.
    write: (text) => {
      if (unwritten !== undefined) return;
      try {
        // Without a reader there is no reason to go on; what is printed last ends no run any more.
        if (!print(Deno.stdout, text)) signals?.raise("SIGPIPE");
      } catch (error) {
        unwritten = error;
      }
    },
  });
  const crash = Promise.withResolvers<never>();
  using teardown = new Teardown(crash.reject);
  try {
    const running = runPrompt(request, {
      writer,
      teardown,
      onSignals: (listening) => signals = listening,
    });
    const exitCode = await Promise.race([running, crash.promise]);
    if (unwritten !== undefined) throw unwritten;
    return exitCode;
  } catch (error) {
    const { reportFailure } = await import("./report_failure.ts");
    return reportFailure(error, { writer, sessionId: request.sessionId });
  }
}

async function runPrompt(
  request: RunRequest,
  { writer, teardown, onSignals }: {
    readonly writer: OutputWriter;
    readonly teardown: Teardown;
    /** Takes what collects the signals, from the moment at which they do not end the program by themselves. */
    readonly onSignals: (signals: StopSignals) => void;
  },
): Promise<number> {
  const startedAt = performance.now();
  const env = Deno.env.toObject();
  const loadRedactor = async () => {
    const { createRedactor } = await import("../driver/redact.ts");
    return createRedactor({
      env,
      args: [...request.forwarded, `--settings=${request.settings ?? ""}`],
    });
  };
  const redactor = request.trace ? await loadRedactor() : undefined;
  const trace = (text: string) => {
    if (redactor === undefined) return;
    const at = (performance.now() - startedAt).toFixed(0).padStart(6);
    print(Deno.stderr, `[${at} ms] ${redactor.text(text)}\n`);
  };
  const cwd = currentFolder();
  using watcher = await watcherOf(request, { env, cwd });
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
  onSignals(signals);
  const prepared = await prepareRun({
    ...request,
    prompt,
    cwd,
    env,
    frames,
    retries: frames || watcher !== undefined,
    mayBeAltered: altered !== undefined,
  });
  teardown.own(prepared.sandbox);
  const warn = (text: string) => {
    if (!request.quiet) print(Deno.stderr, `claude-print: Warning: ${text}\n`);
  };
  const [unswept] = prepared.swept.filter(({ verdict }) => verdict === "kept");
  if (unswept !== undefined) {
    warn(`Cannot remove what a killed run left in ${unswept.path}: ${unswept.reason}`);
  }
  trace(`sandbox ${prepared.sandbox.path}`);
  if (redactor !== undefined) {
    trace(`${prepared.binary} ${redactor.commandLine(prepared.args)}`);
  }
  const report = await performRun(prepared, {
    signals,
    altered,
    // In json only the last result counts.
    emit: frames || request.outputFormat === "text" ? writer.frame : undefined,
    ...(watcher === undefined ? {} : {
      onInput: watcher.observe,
      onTranscriptLine: (line: string) => watcher.observe({ type: "line", line }),
      onRetry: ({ attempt }) => watcher.observe({ type: "retry", attempt }),
    }),
    trace,
  });
  if (teardown.crashed) return report.exitCode;
  teardown.childEnded();
  // What is printed now does not mix with what was there to look at.
  watcher?.[Symbol.dispose]();
  for (const result of report.unprinted) writer.frame(result);
  writer.end();
  await tell(report, loadRedactor);
  if (report.warning !== undefined) warn(report.warning);
  for (const warning of teardown.run()) warn(warning);
  trace(`exit code ${report.exitCode}`);
  return report.exitCode;
}

/** Who looks on, which can only be somebody at a terminal; scripts do not even load it. */
async function watcherOf(
  request: RunRequest,
  surroundings: Pick<WatchOptions, "env" | "cwd">,
): Promise<RunWatcher | undefined> {
  const isTerminal = { stdout: Deno.stdout.isTerminal(), stderr: Deno.stderr.isTerminal() };
  if (!request.show && !isTerminal.stderr) return undefined;
  const { watchRun } = await import("./watch_run.ts");
  return await watchRun(request, { ...surroundings, isTerminal });
}

/** Exit code of a run whose output nobody reads any more: it ends as quietly as a program that SIGPIPE ends. */
const ABANDONED = 141;

/** Tells a failure on stderr, with the last screen where it explains more than words. */
async function tell(
  { problem, screen, exitCode }: RunReport,
  loadRedactor: () => Promise<Redactor>,
): Promise<void> {
  if (problem === undefined || exitCode === ABANDONED) return;
  print(Deno.stderr, `claude-print: ${problem.message}\n`);
  if (problem.suggestion !== undefined) print(Deno.stderr, `  ${problem.suggestion}\n`);
  // What the child drew must not reach the user's terminal as anything but visible text.
  const shown = (screen ?? []).map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, ""))
    .filter((line) => line.trim() !== "").join("\n");
  if (shown === "") return;
  const rows = (await loadRedactor()).text(shown).split("\n");
  print(Deno.stderr, `  The last screen:\n${rows.map((row) => `  | ${row}\n`).join("")}`);
}

/** The first character of a prompt that Claude Code may change, in words; plain ASCII is never looked at. */
async function alteredCharacter(prompt: string): Promise<string | undefined> {
  if (/^[\t\n\x20-\x7e]*$/u.test(prompt)) return undefined;
  const { firstAlteredCharacter } = await import("../cli/first_altered_character.ts");
  const found = firstAlteredCharacter(prompt);
  return found && `${found.name} at character ${found.offset}`;
}
