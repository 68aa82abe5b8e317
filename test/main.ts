/**
 * `deno task test`: fetches what the tests need of npm, so that a download that fails is told of once, runs them, and
 * says in one line what this machine lacks for those that were left out.
 *
 * @module
 */
import { TextLineStream } from "@std/streams/text-line-stream";
import { resolve } from "node:path";
import { claudeBinary } from "../fixtures/claude_binary.ts";
import { denoBundler } from "../fixtures/deno_bundler.ts";
import { npmRuntime } from "../fixtures/npm_runtime.ts";

const ROOT = resolve(import.meta.dirname ?? ".", "..");

const HOW = [
  ...["test", "-A", "--frozen", "--no-check", "--parallel"],
  ...["--trace-leaks", "--sanitize-ops", "--sanitize-resources"],
];

/** How many files are tested at a time, unless DENO_JOBS says: tests wait for other programs much of their time. */
const JOBS = `${navigator.hardwareConcurrency + 1}`;

/**
 * The test files that take longest, the longest first: they begin before the others, so that none is still at work when
 * those are done, and those that wait do so beside those that compute. Deno takes files in the order in which they are
 * named, then those of folders by name, and each once.
 */
const LONGEST: readonly string[] = [
  "test/real/conversation_test.ts",
  "test/real/partial_messages_test.ts",
  "test/real/compaction_test.ts",
  "test/real/split_output_test.ts",
  "test/real/control_test.ts",
  "test/real/slash_test.ts",
  "test/real/api_errors_test.ts",
  "test/faults/faults_test.ts",
  "test/real/sessions_test.ts",
  "test/real/exact_stream_test.ts",
  "test/real/shell_output_test.ts",
  "test/executable/executable_test.ts",
  "test/real/dialogs_test.ts",
  "test/real/prompt_test.ts",
  "test/real/plugins_test.ts",
  "test/standin/dialogs_test.ts",
  "test/standin/slash_test.ts",
  "test/security/project_test.ts",
  "test/standin/turns_test.ts",
  "test/standin/transcript_test.ts",
  "test/real/ending_test.ts",
  "test/security/shared_folder_test.ts",
  "test/standin/bad_input_test.ts",
  "test/standin/signals_test.ts",
  "test/standin/stalled_reader_test.ts",
  "test/standin/record_test.ts",
  "test/real/library_test.ts",
  "test/library/run_test.ts",
  "test/real/output_test.ts",
  "test/faults/real_api_test.ts",
];

/** What a path names whose tests do with the Claude Code that CLAUDE_CODE names, if it names one. */
const REAL = "test/real/";

/** A test that was left out, by its name's end, as `unlessLacking` makes it. */
const LEFT_OUT = / \(lacks (?<lack>[^()]+)\) \.\.\. ignored \(/u;

// deno-lint-ignore no-control-regex -- colours
const COLOURS = /\x1b\[[\d;]*m/gu;

/** Brings into `.cache` what the tests below some paths need; what single files need, they fetch themselves. */
async function download(paths: readonly string[]): Promise<void> {
  const all = paths.includes("test/");
  const real = paths.includes(REAL) && (Deno.env.get("CLAUDE_CODE") ?? "") === "";
  if (all || real) {
    await claudeBinary("2.1.197");
    await claudeBinary("2.1.330");
  }
  if (!all) return;
  await npmRuntime();
  await denoBundler();
}

/** Runs the tests and passes on what they print, less those left out; returns their exit code. */
async function runTests(args: readonly string[]): Promise<number> {
  const isTerminal = Deno.stdout.isTerminal() && Deno.env.get("NO_COLOR") === undefined;
  const child = new Deno.Command(Deno.execPath(), {
    args: [...HOW, ...args],
    cwd: ROOT,
    env: {
      DENO_JOBS: Deno.env.get("DENO_JOBS") ?? JOBS,
      ...(isTerminal ? { FORCE_COLOR: "1" } : {}),
    },
    stdout: "piped",
  }).spawn();
  const lacks = new Map<string, number>();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) {
    const lack = LEFT_OUT.exec(line.replaceAll(COLOURS, ""))?.groups?.["lack"];
    if (lack === undefined) print(Deno.stdout, `${line}\n`);
    else lacks.set(lack, (lacks.get(lack) ?? 0) + 1);
  }
  for (const [lack, count] of lacks) {
    print(Deno.stdout, `${count} ${count === 1 ? "test" : "tests"} left out, lacking ${lack}\n`);
  }
  return (await child.status).code;
}

function print(stream: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) {
    written += stream.writeSync(bytes.subarray(written));
  }
}

async function main(args: readonly string[]): Promise<number> {
  const paths = args.filter((argument) =>
    !argument.startsWith("-") && /^\.?\/?test\//u.test(argument)
  );
  const all = paths.length > 0 ? args : [...args, ...LONGEST, "test/"];
  try {
    await download(all);
  } catch (error) {
    print(Deno.stderr, `${error instanceof Error ? error.message : error}\n`);
    return 1;
  }
  return await runTests(all);
}

Deno.exitCode = await main(Deno.args);
