/**
 * `deno task test`: fetches what the tests need of npm, so that a download that fails is told of once, removes the homes
 * that earlier tests left which were killed, runs the tests, and says in one line what this machine lacks for those that
 * were left out.
 *
 * @module
 */
import { TextLineStream } from "@std/streams/text-line-stream";
import { resolve } from "node:path";
import { pythonCassette } from "../fixtures/programs/agent_cassette.ts";
import { pythonSdk, typescriptSdk } from "../fixtures/programs/agent_sdk.ts";
import { usablePython } from "../fixtures/programs/python_packages.ts";
import { CLAUDE_VERSIONS, claudeBinary } from "../fixtures/programs/claude_binary.ts";
import { bundledPrograms } from "../fixtures/programs/bundled_programs.ts";
import { denoBundler } from "../fixtures/programs/deno_bundler.ts";
import { npmRuntime } from "../fixtures/programs/npm_runtime.ts";
import { denoDir } from "../fixtures/programs/deno_dir.ts";
import { SERVED_IN, sweepHomes } from "../fixtures/throwaway_home.ts";
import { claudePrint } from "./claude_print.ts";
import { groupTests } from "./group_tests.ts";

const ROOT = resolve(import.meta.dirname ?? ".", "..");

const HOW = [
  ...["test", "-A", "--frozen", "--no-check", "--parallel"],
  // What a file does not run it need not load.
  "--unstable-lazy-dynamic-imports",
  // Groups of files are elsewhere.
  ...["--sanitize-ops", "--sanitize-resources", "--config", "deno.json"],
];

/** How many files are tested at a time, unless DENO_JOBS says: tests wait for other programs half of their time. */
const JOBS = `${2 * navigator.hardwareConcurrency}`;

/**
 * The test files that take longest, the longest first: they begin before the others, so that none is still at work when
 * those are done, and those that wait do so beside those that compute. Deno takes files in the order in which they are
 * named, and each once. The others are put into groups: a thread for a file costs as much as some of its tests.
 */
const LONGEST: readonly string[] = [
  "test/live/parity/rows_test.ts",
  "test/real/callers/control_test.ts",
  "test/live/sdk/scenarios_test.ts",
  "test/real/turns/conversation_test.ts",
  "test/live/sdk/warm_test.ts",
  "test/real/turns/noted_test.ts",
  "test/real/live/deterministic_test.ts",
  "test/live/sdk/testing_recipes_test.ts",
  "test/real/turns/slash_test.ts",
  "test/real/turns/compaction_test.ts",
  "test/faults/faults_test.ts",
  "test/security/project_test.ts",
  "test/security/reach_test.ts",
  "test/real/results/structured_output_test.ts",
  "test/real/surroundings/prompt_tool_test.ts",
  "test/real/results/fork_test.ts",
  "test/real/live/split_output_test.ts",
  "test/readme/commands_test.ts",
  "test/executable/executable_test.ts",
  "test/cassette/recorded_runs_test.ts",
  "test/cassette/scrub/scrub_cast_test.ts",
  "test/package/package_test.ts",
  "test/install/install_test.ts",
  "test/library/host_test.ts",
  "test/library/run_test.ts",
  "test/library/converse_test.ts",
  "test/standin/child/record_test.ts",
  "test/standin/child/dialogs_test.ts",
  "test/standin/prompts/bad_input_test.ts",
  "test/examples/library_test.ts",
];

/** What a path names whose tests do with the Claude Code that CLAUDE_CODE names, if it names one. */
const REAL = "test/real/";

/** Where most tests wait for other programs: in groups of few files, of which one waits after the other. */
const WAITING: readonly string[] = [
  REAL,
  "test/live/",
  "test/faults/",
  "test/security/",
  "test/serve/",
  "test/standin/",
];

/** A test that was left out, by its name's end, as `unlessLacking` makes it. */
const LEFT_OUT = / \(lacks (?<lack>[^()]+)\) \.\.\. ignored \(/u;

// deno-lint-ignore no-control-regex -- colours
const COLOURS = /\x1b\[[\d;]*m/gu;

/** What tests start hundreds of times, by the variables that tell them where it is. */
const BUNDLED = {
  CLAUDE_PRINT_BUNDLE: "src/main.ts",
  LIBRARY_BUNDLE: "src/library/mod.ts",
  MOCK_CLAUDE_BUNDLE: "fixtures/mock-claude.ts",
};

/** Brings into `.cache` what the tests below some paths need; what single files need, they fetch themselves. */
async function download(paths: readonly string[]): Promise<void> {
  const all = paths.includes("test/");
  const real = paths.includes(REAL);
  if (all || (real && (Deno.env.get("CLAUDE_CODE") ?? "") === "")) {
    for (const version of CLAUDE_VERSIONS) await claudeBinary(version);
  }
  if (all || real) {
    await typescriptSdk();
    await typescriptSdk("sdk.d.ts");
    const python = usablePython();
    if (python !== undefined) await Promise.all([pythonSdk(python), pythonCassette(python)]);
  }
  if (!all) return;
  await npmRuntime();
  await denoBundler();
}

/** Runs the tests and passes on what they print, less those left out; returns their exit code. */
async function runTests(
  args: readonly string[],
  { env, named = (line) => line }: {
    readonly env: Readonly<Record<string, string>>;
    /** Makes a line that can be read of one of Deno's. */
    readonly named?: ((line: string) => string) | undefined;
  },
): Promise<number> {
  const isTerminal = Deno.stdout.isTerminal() && Deno.env.get("NO_COLOR") === undefined;
  const child = new Deno.Command(Deno.execPath(), {
    args: [...HOW, ...args],
    cwd: ROOT,
    env: {
      ...env,
      // Asked for once: each file would start a Deno of its own to know it.
      DENO_DIR: await denoDir(),
      DENO_JOBS: Deno.env.get("DENO_JOBS") ?? JOBS,
      ...(isTerminal ? { FORCE_COLOR: "1" } : {}),
    },
    stdout: "piped",
  }).spawn();
  const lacks = new Map<string, number>();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) {
    const lack = LEFT_OUT.exec(line.replaceAll(COLOURS, ""))?.groups?.["lack"];
    if (lack === undefined) print(Deno.stdout, `${named(line)}\n`);
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

/** A server that carries out the runs of all tests, with a home of its own of which they know nothing. */
async function serve(
  bundles: Readonly<Record<string, string>>,
): Promise<AsyncDisposable & { readonly folder: string }> {
  const folder = await Deno.makeTempDir({ prefix: "x" });
  const [program = "", ...args] = claudePrint(bundles["CLAUDE_PRINT_BUNDLE"]);
  const child = new Deno.Command(program, {
    // A child that waits in a home would be what a test finds left.
    args: [...args, "serve", "--warm", "0"],
    clearEnv: true,
    env: {
      PATH: "/usr/bin:/bin",
      DENO_DIR: await denoDir(),
      HOME: folder,
      TMPDIR: folder,
      XDG_RUNTIME_DIR: folder,
    },
    cwd: "/",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  return {
    folder,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await child.status;
      await reader.cancel();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** The test files below a folder of the checkout, by name. */
function testFiles(folder: string): readonly string[] {
  return [...Deno.readDirSync(`${ROOT}/${folder}`)]
    .toSorted((one, other) => one.name < other.name ? -1 : 1)
    .flatMap(({ name, isDirectory }) => {
      const path = `${folder}/${name}`;
      if (isDirectory) return testFiles(path);
      return name.endsWith("_test.ts") ? [path] : [];
    });
}

/** Whether most of a file's tests wait for other programs. */
function isWaiting(file: string): boolean {
  return WAITING.some((folder) => file.startsWith(folder));
}

async function main(args: readonly string[]): Promise<number> {
  const paths = args.filter((argument) =>
    !argument.startsWith("-") && /^\.?\/?test\//u.test(argument)
  );
  const bundles: Record<string, string> = {};
  try {
    await download(paths.length > 0 ? args : ["test/"]);
    // A single file has them made no sooner than it is through.
    if (paths.length === 0) {
      const paths = await bundledPrograms(Object.values(BUNDLED));
      for (const [index, name] of Object.keys(BUNDLED).entries()) {
        bundles[name] = paths[index] ?? "";
      }
    }
  } catch (error) {
    print(Deno.stderr, `${error instanceof Error ? error.message : error}\n`);
    return 1;
  }
  await sweepHomes();
  await using groups = paths.length > 0
    ? undefined
    : await groupTests(testFiles("test").filter((file) => !LONGEST.includes(file)), {
      root: ROOT,
      isWaiting,
    });
  const all = groups === undefined ? args : [...args, ...LONGEST, ...groups.paths];
  const named = groups?.named;
  if (Deno.env.get("CLAUDE_PRINT_TEST_SERVE") !== "1") {
    return await runTests(all, { env: bundles, named });
  }
  await using server = await serve(bundles);
  const code = await runTests(all, {
    env: { ...bundles, [SERVED_IN]: server.folder },
    named,
  });
  const { poolCounts } = await import("./serve/runs/pool_counts.ts");
  const { handedOver } = await poolCounts({ XDG_RUNTIME_DIR: server.folder });
  if (handedOver > 0) return code;
  print(Deno.stderr, "The server has carried nothing out\n");
  return 1;
}

Deno.exitCode = await main(Deno.args);
