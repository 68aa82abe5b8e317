import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Scenario } from "../../fixtures/mock/scenario.ts";
import { leftovers } from "../leftovers.ts";
import type { ProgramOutput } from "../start_program.ts";
import { StandIn } from "../program/stand_in.ts";
import { exampleBlocks } from "./code_blocks.ts";
import { runExample } from "./run_example.ts";

/** What an example needs that others do not, known by words in its code. */
export interface Special {
  readonly having: string;
  readonly scenario?: Partial<Scenario>;
  /** Puts files into the folder in which the example works. */
  readonly prepare?: (folder: string) => Promise<void>;
  /** Checks the output beyond what its comments promise. */
  readonly check?: (output: ProgramOutput) => void;
}

/**
 * Registers a test for each `ts` block of Markdown files or of sources' doc comments.
 *
 * A block is run as a program, with the stand-in as `claude` on PATH. It has to end with exit code 0 and to leave
 * nothing. What follows `console.log(…); // ` on its line has to be in the output, and stderr has to be empty where
 * the block does not use `console.error`.
 *
 * @param paths from the root of the checkout
 * @param specials the first that fits a block counts
 * @throws {Error} if one fits none
 */
export function testExamples(paths: readonly string[], specials: readonly Special[] = []): void {
  const blocks = exampleBlocks(paths);
  const lost = specials.find(({ having }) => !blocks.some(({ code }) => code.includes(having)));
  if (lost !== undefined) throw new Error(`No example has ${lost.having}`);
  for (const { path, line, code } of blocks) {
    Deno.test(`the example in ${path}, line ${line}, does what it says`, async () => {
      const special = specials.find(({ having }) => code.includes(having));
      await using claude = await StandIn.set(special?.scenario);
      const { home } = claude;
      await special?.prepare?.(home.project);
      const output = await runExample(code, {
        folder: home.project,
        env: { ...home.env, PATH: `${home.path}:${home.env["PATH"]}` },
      });
      assertEquals(output.code, 0, output.stderr);
      for (const [, stream, words = ""] of code.matchAll(PROMISED)) {
        assertStringIncludes(stream === "log" ? output.stdout : output.stderr, words);
      }
      if (!code.includes("console.error")) assertEquals(output.stderr, "");
      special?.check?.(output);
      assertEquals(await leftovers(home), []);
    });
  }
}

const PROMISED = /console\.(log|error)\(.*\); \/\/ (.*)$/gmu;
