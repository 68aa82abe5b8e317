import { assertEquals } from "@std/assert";
import { installMockClaude } from "../../fixtures/mock/install_mock_claude.ts";
import { type JournalEntry, readJournal } from "../../fixtures/mock/files/journal.ts";
import type { Scenario } from "../../fixtures/mock/scenario.ts";
import {
  makeThrowawayHome,
  type ThrowawayHome,
  type ThrowawayHomeOptions,
} from "../../fixtures/throwaway_home.ts";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { loadInProcess, STARTS_PROGRAM } from "../in_process.ts";
import { leftovers } from "../leftovers.ts";
import { type ProgramOutput, startProgram } from "../start_program.ts";
import { checkOutput, parseOutput, type Run } from "./run.ts";
import { userFiles } from "./user_files.ts";

/** Options for one start of `claude-print`. */
export interface StartOptions {
  /** Text for stdin; empty by default. */
  readonly stdin?: string | Uint8Array<ArrayBuffer>;
  /** Variables over those of the home; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Working directory; the project of the home by default. */
  readonly cwd?: string;
  /** False leaves `--claude-binary` out. */
  readonly namesBinary?: boolean;
  /** Makes another command out of the one that would be run. */
  readonly wrap?: (command: readonly string[]) => readonly string[];
  /** True if a successful run prints warnings. */
  readonly warns?: boolean;
  /** True if a wake-up gives more than one result. */
  readonly wakes?: boolean;
  /** True if the run leaves a transcript that it cannot copy to the user's config dir, and nothing else. */
  readonly keeps?: boolean;
  /** True if output and leftovers are not checked, as after a kill. */
  readonly killed?: boolean;
  /** Receives the complete stdout so far, after each write. */
  readonly onStdout?: (text: string) => void;
}

/** A run under way. */
export interface StartedRun {
  readonly pid: number;
  readonly kill: (signal: Deno.Signal) => void;
  /** The end of the run, after the checks of every run. */
  readonly ended: Promise<Run>;
}

/** Paths of a kept transcript and of the files that name its owner. */
const KEPT =
  /\/claude-print-\d+(\/0-0-[0-9a-f]{8}(\/own(\/(owner\.json|given-ids))?|\/\.claude(\/projects(\/[^/]+(\/[^/]+\.jsonl)?)?)?)?)?$/u;

/** A wait that takes this long fails its test, in milliseconds: a machine with work for 30 starts a child in a minute. */
const PATIENCE_MS = 300_000;
const LOOK_MS = 10;

/**
 * The stand-in Claude as the executable that `claude-print` runs, in a throw-away HOME, for one test.
 *
 * After every run: nothing may be left in TMPDIR, no process may belong to the home, stdout has to be what its
 * format promises, stderr has to be empty or an error to read, and the user's own files have to be untouched.
 */
export class StandIn implements AsyncDisposable {
  readonly home: ThrowawayHome;
  /** Path of the stand-in's executable. */
  readonly binary: string;
  readonly #running = new Set<Deno.ChildProcess>();
  readonly #inside = new Set<symbol>();
  #files: ReadonlyMap<string, string> = new Map();

  private constructor(parts: Pick<StandIn, "home" | "binary">) {
    this.home = parts.home;
    this.binary = parts.binary;
  }

  /** Makes a stand-in with a scenario; other fields have their defaults. */
  static async set(
    scenario: Partial<Scenario> = {},
    options: ThrowawayHomeOptions = {},
  ): Promise<StandIn> {
    const home = await makeThrowawayHome(options);
    const binary = await installMockClaude(home.path, {
      scenario,
      journal: `${home.path}/journal`,
    });
    return new StandIn({ home, binary });
  }

  /** Runs `claude-print` as its user would. */
  async print(args: readonly string[], options: StartOptions = {}): Promise<Run> {
    return await this.start(args, options).ended;
  }

  /**
   * The same inside this process, see `runCommandInProcess`: for a run of one prompt of which the program itself is not asked, its
   * signals, its streams and what surrounds it.
   */
  async printInProcess(
    args: readonly string[],
    options: Pick<
      StartOptions,
      "stdin" | "env" | "cwd" | "namesBinary" | "warns" | "wakes" | "keeps"
    > = {},
  ): Promise<Run> {
    if (STARTS_PROGRAM) return await this.print(args, options);
    const { stdin, env, cwd = this.home.project, namesBinary = true } = options;
    const named = namesBinary ? ["--claude-binary", this.binary] : [];
    this.#noteFiles();
    const run = Symbol();
    this.#inside.add(run);
    const { runCommandInProcess } = await loadInProcess();
    const output = await runCommandInProcess([...named, ...args], {
      env: { ...this.home.env, ...env },
      cwd,
      ...(stdin === undefined ? {} : { stdin }),
    }).finally(() => this.#inside.delete(run));
    return await this.#checked(output, { ...options, args });
  }

  /** Starts `claude-print` and lets it run. */
  start(args: readonly string[], options: StartOptions = {}): StartedRun {
    const { stdin, env, cwd = this.home.project, namesBinary = true } = options;
    const { wrap = (command: readonly string[]) => command } = options;
    const named = namesBinary ? ["--claude-binary", this.binary] : [];
    this.#noteFiles();
    const program = startProgram(wrap([...CLAUDE_PRINT, ...named, ...args]), {
      stdin,
      env: { ...this.home.env, ...env },
      cwd,
      onStdout: options.onStdout,
    });
    const { child } = program;
    this.#running.add(child);
    const ended = async (): Promise<Run> => {
      const output = await program.ended;
      this.#running.delete(child);
      if (options.killed) return { ...output, format: "text", frames: [], result: {} };
      return await this.#checked(output, { ...options, args });
    };
    return { pid: child.pid, kill: (signal) => child.kill(signal), ended: ended() };
  }

  /** The journal's entries of one kind. */
  async journal<Kind extends JournalEntry["kind"]>(
    kind: Kind,
  ): Promise<readonly Extract<JournalEntry, { kind: Kind }>[]> {
    const entries = await readJournal(`${this.home.path}/journal`);
    return entries.filter((entry): entry is Extract<JournalEntry, { kind: Kind }> =>
      entry.kind === kind
    );
  }

  /**
   * The keys that the stand-in receives, one string a read, without a terminal's answers to probes and without the keys
   * that refresh the status line. With `echoes`, `echo` marks where the input box shows the text.
   */
  async keys({ echoes = false } = {}): Promise<readonly string[]> {
    const entries = await readJournal(`${this.home.path}/journal`);
    return entries.flatMap((entry) => {
      if (entry.kind === "echo" && echoes) return ["echo"];
      return entry.kind === "keys"
        ? [new TextDecoder().decode(Uint8Array.fromBase64(entry.base64))]
        : [];
    })
      .map((keys) => keys.replaceAll("\x1b[?6c", "").replaceAll("?\x7f", ""))
      .filter((keys) => keys !== "");
  }

  /** Waits until the journal of the stand-in has so many entries of a kind. */
  async untilNoted(kind: JournalEntry["kind"], times = 1): Promise<void> {
    await until(
      async () => (await this.journal(kind)).length >= times,
      `the stand-in notes "${kind}"`,
    );
  }

  /** Waits until the stand-in's process has ended and been reaped. */
  async untilGone(): Promise<void> {
    await this.untilNoted("start");
    const pids = (await this.journal("start")).map(({ pid }) => `${pid}`);
    const isGone = () => [...Deno.readDirSync("/proc")].every(({ name }) => !pids.includes(name));
    await until(() => isGone(), "the stand-in ends");
  }

  /** The user's transcripts, by path below `projects/`. */
  transcripts(): ReadonlyMap<string, string> {
    const projects = `${this.home.config}/projects/`;
    return new Map(
      [...userFiles(this.home, { projects: true })]
        .filter(([path]) => path.startsWith(projects))
        .map(([path, text]) => [path.slice(projects.length), text]),
    );
  }

  /** Whether no run is in progress. */
  get #isQuiet(): boolean {
    return this.#running.size + this.#inside.size === 0;
  }

  /** Remembers the user's own files, which no run may change. */
  #noteFiles(): void {
    if (this.#isQuiet) this.#files = userFiles(this.home);
  }

  /** Checks and parses the output of a run. */
  async #checked(
    output: ProgramOutput,
    { args, warns = false, wakes = false, keeps = false }:
      & Pick<StartOptions, "warns" | "wakes" | "keeps">
      & { readonly args: readonly string[] },
  ): Promise<Run> {
    // Another run may still have files and processes.
    if (this.#isQuiet) await this.#checkSurroundings({ keeps });
    const run = { ...output, ...parseOutput(output, args) };
    checkOutput(run, { warns, wakes });
    return run;
  }

  async #checkSurroundings({ keeps }: { readonly keeps: boolean }): Promise<void> {
    const left = await leftovers(this.home, keeps ? { but: KEPT } : {});
    assertEquals(left, [], "claude-print left something behind");
    assertEquals(userFiles(this.home), this.#files, "claude-print changed the user's own files");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A failed test may leave a process.
    for (const child of this.#running) child.kill("SIGTERM");
    await this.home[Symbol.asyncDispose]();
  }
}

/**
 * Looks again and again until a condition holds.
 *
 * @throws {Error} when it takes too long
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!await condition()) {
    if (performance.now() > deadline) throw new Error(`Cannot wait any longer until ${what}`);
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
}
