import { assertEquals } from "@std/assert";
import deno from "../../deno.json" with { type: "json" };
import { installMockClaude } from "../../fixtures/mock/install_mock_claude.ts";
import type { Scenario } from "../../fixtures/mock/scenario.ts";
import {
  makeThrowawayHome,
  type ThrowawayHome,
  type ThrowawayHomeOptions,
} from "../../fixtures/throwaway_home.ts";
import type { Check } from "../../src/doctor/check.ts";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { leftovers } from "../leftovers.ts";
import { type Program, type ProgramOutput, startProgram } from "../start_program.ts";
import { userFiles } from "./user_files.ts";

/** What is unusual about one start of the doctor. */
export interface ExamineOptions {
  /** Variables over those of the home; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Makes another command out of the one that would be run. */
  readonly wrap?: (command: readonly string[]) => readonly string[];
}

/** What `claude-print doctor` looks at: the stand-in as `claude` on PATH, an API on loopback, a throw-away home. */
export class Patient implements AsyncDisposable {
  readonly home: ThrowawayHome;
  readonly env: Readonly<Record<string, string>>;
  readonly #api: Deno.HttpServer<Deno.NetAddr>;

  private constructor(home: ThrowawayHome, api: Deno.HttpServer<Deno.NetAddr>) {
    this.home = home;
    this.#api = api;
    this.env = {
      ...home.env,
      PATH: `${home.path}/bin:${home.env["PATH"]}`,
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${api.addr.port}`,
    };
  }

  /** Sets the scene for a scenario, of which only what is unusual has to be named. */
  static async admit(
    scenario: Partial<Scenario> = {},
    options: ThrowawayHomeOptions = {},
  ): Promise<Patient> {
    const home = await makeThrowawayHome(options);
    await Deno.mkdir(`${home.path}/bin`);
    await installMockClaude(`${home.path}/bin`, { scenario, journal: `${home.path}/journal` });
    const listening = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
    return new Patient(home, Deno.serve(listening, () => new Response(null, { status: 404 })));
  }

  /** Starts the doctor. */
  start(
    args: readonly string[] = [],
    { env, wrap = (command) => command }: ExamineOptions = {},
  ): Program {
    return startProgram(wrap([...CLAUDE_PRINT, "doctor", ...args]), {
      env: { ...this.env, ...env },
      cwd: this.home.project,
    });
  }

  /** Runs the doctor to its end, after which nothing may be left or changed. */
  async examine(
    args: readonly string[] = [],
    options: ExamineOptions = {},
  ): Promise<ProgramOutput> {
    const before = userFiles(this.home, { projects: true });
    const output = await this.start(args, options).ended;
    assertEquals(output.stderr, "");
    assertEquals(await leftovers(this.home), [], "doctor left something behind");
    assertEquals(userFiles(this.home, { projects: true }), before, "doctor changed a user's file");
    return output;
  }

  /** The checks by name, which have to agree with the exit code. */
  async checks(
    args: readonly string[] = [],
    options: ExamineOptions = {},
  ): Promise<Readonly<Record<string, Check>>> {
    const { code, stdout } = await this.examine(["--json", ...args], options);
    const report: { ok: boolean; version: string; checks: readonly Check[] } = JSON.parse(stdout);
    assertEquals(report.ok, code === 0);
    assertEquals(report.ok, report.checks.every(({ ok }) => ok));
    assertEquals(report.version, deno.version);
    return Object.fromEntries(report.checks.map((check) => [check.name, check]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#api.shutdown();
    await this.home[Symbol.asyncDispose]();
  }
}
