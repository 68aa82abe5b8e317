import { assertEquals } from "@std/assert";
import { claudeBinary, type ClaudeVersion } from "../../fixtures/programs/claude_binary.ts";
import {
  type MessagesApi,
  type MessagesApiOptions,
  startMessagesApi,
} from "../../src/recording/learn/messages_api.ts";
import {
  makeThrowawayHome,
  type ThrowawayHome,
  type ThrowawayHomeOptions,
} from "../../fixtures/throwaway_home.ts";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { loadInProcess, STARTS_PROGRAM } from "../in_process.ts";
import { leftovers } from "../leftovers.ts";
import { type ProgramOptions, type ProgramOutput, startProgram } from "../start_program.ts";
import { asRecorded, type RecordedName } from "./as_recorded.ts";
import { namedClaude } from "./named_claude.ts";

/** How long a run may take, in seconds: one that hangs shall tell so before somebody stops the whole suite. */
const PATIENCE_S = 300;

/** What is unusual about one start of a program. */
export interface StartOptions extends Pick<ProgramOptions, "onStdout"> {
  /** What it reads on stdin; nothing by default. */
  readonly stdin?: string | Uint8Array<ArrayBuffer>;
  /** Variables over those of the home; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Working directory; the project of the home by default. */
  readonly cwd?: string;
}

/** A program that is running. */
export interface StartedRun {
  readonly pid: number;
  readonly kill: (signal: Deno.Signal) => void;
  /** Its end, with all it wrote. */
  readonly ended: Promise<ProgramOutput>;
}

/**
 * What lets Claude Code's runtime translate no code a second time and little of it at all, and collect no garbage: the rest
 * pays for who works for hours, and costs a run of a test a third of its time.
 */
const SHORT_LIVED = {
  BUN_JSC_useDFGJIT: "0",
  BUN_JSC_thresholdForJITAfterWarmUp: "5000",
  BUN_JSC_useGC: "0",
};

/**
 * Programs that Claude Code asks by the way who has installed it. They read all that is installed, and find nothing in the
 * home of a test.
 */
const NOT_ASKED = ["dpkg"];

/** What is unusual about a test's surroundings. */
export interface RealClaudeOptions {
  /** The executable of a version that is not pinned. */
  readonly binary?: string;
  readonly home?: ThrowawayHomeOptions;
  readonly api?: MessagesApiOptions;
}

/**
 * The real Claude Code, a scripted Messages API in Anthropic's place and a throw-away HOME, for one test.
 *
 * Nothing of the caller's environment reaches the programs. Disposing it fails if `claude-print` has left
 * anything behind.
 */
export class RealClaude implements AsyncDisposable {
  readonly version: string;
  /** Path of Claude Code's executable. */
  readonly binary: string;
  readonly api: MessagesApi;
  readonly home: ThrowawayHome;
  readonly #running = new Set<Deno.ChildProcess>();

  private constructor(
    parts: Readonly<Pick<RealClaude, "version" | "binary" | "api" | "home">>,
  ) {
    this.version = parts.version;
    this.binary = parts.binary;
    this.api = parts.api;
    this.home = parts.home;
  }

  /** Takes the named Claude Code, or fetches that version, on the first use from npm, and sets the scene. */
  static async set(version: string, options: RealClaudeOptions = {}): Promise<RealClaude> {
    const binary = options.binary ??
      (namedClaude?.version === version
        ? namedClaude.binary
        : await claudeBinary(version as ClaudeVersion));
    const api = startMessagesApi(options.api);
    const env = { ...SHORT_LIVED, ...options.home?.env };
    const home = await makeThrowawayHome({ apiUrl: api.url, ...options.home, env });
    await Deno.mkdir(`${home.path}/t`);
    return new RealClaude({ version, binary, api, home: await withoutAsking(home) });
  }

  /** Runs `claude-print` from this checkout as its user would. */
  async print(args: readonly string[], options: StartOptions = {}): Promise<ProgramOutput> {
    return await this.start(args, options).ended;
  }

  /**
   * The same inside this process, see `runCommandInProcess`: for a run of one prompt of which the program itself is not asked, its
   * signals, its streams and what surrounds it.
   */
  async printInProcess(
    args: readonly string[],
    options: Pick<StartOptions, "stdin" | "env" | "cwd"> = {},
  ): Promise<ProgramOutput> {
    if (STARTS_PROGRAM) return await this.print(args, options);
    const { stdin, env, cwd = this.home.project } = options;
    const { runCommandInProcess } = await loadInProcess();
    return await runCommandInProcess(this.#completed(args), {
      stdin,
      env: { ...this.home.env, ...env },
      cwd,
    });
  }

  /** Starts `claude-print` and lets it run. */
  start(args: readonly string[], options: StartOptions = {}): StartedRun {
    const [program = "", ...own] = CLAUDE_PRINT;
    return this.#start(program, { ...options, args: [...own, ...this.#completed(args)] });
  }

  /** Arguments of `claude-print`, with the Claude Code that it is to start and a limit. */
  #completed(args: readonly string[]): readonly string[] {
    const limit = args.includes("--timeout") ? [] : ["--timeout", `${PATIENCE_S}`];
    return ["--claude-binary", this.binary, ...limit, ...args];
  }

  /**
   * Runs `claude -p` itself, for comparison; what it leaves in its own TMPDIR does not count. With the name of a
   * recording it is run only where nothing is recorded of it.
   */
  async claudeP(
    args: readonly string[],
    { recorded, ...options }: StartOptions & { readonly recorded?: RecordedName } = {},
  ): Promise<ProgramOutput> {
    const env = { TMPDIR: `${this.home.path}/t`, ...options.env };
    const run = () => this.#start(this.binary, { ...options, env, args: ["-p", ...args] }).ended;
    return recorded === undefined ? await run() : await asRecorded(this, recorded, run);
  }

  /** What `claude-print` left behind so far; empty unless something is wrong. */
  async leftovers(): Promise<readonly string[]> {
    return await leftovers(this.home);
  }

  #start(
    program: string,
    { args, env, cwd, ...rest }: StartOptions & { readonly args: readonly string[] },
  ): StartedRun {
    const { child, ended } = startProgram([program, ...args], {
      ...rest,
      env: { ...this.home.env, ...env },
      cwd: cwd ?? this.home.project,
    });
    this.#running.add(child);
    return {
      pid: child.pid,
      kill: (signal) => child.kill(signal),
      ended: ended.finally(() => this.#running.delete(child)),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Only a test that failed half-way leaves one.
    for (const child of this.#running) child.kill("SIGTERM");
    try {
      assertEquals(await this.leftovers(), [], "claude-print left something behind");
    } finally {
      await this.api[Symbol.asyncDispose]();
      await this.home[Symbol.asyncDispose]();
    }
  }
}

/** A home on whose PATH the programs stand first that are not asked, and fail at once. */
async function withoutAsking(home: ThrowawayHome): Promise<ThrowawayHome> {
  const folder = `${home.path}/t/b`;
  await Deno.mkdir(folder);
  for (const name of NOT_ASKED) await Deno.symlink("/bin/false", `${folder}/${name}`);
  return { ...home, env: { ...home.env, PATH: `${folder}:${home.env["PATH"]}` } };
}
