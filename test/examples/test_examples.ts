import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Scenario } from "../../fixtures/mock/scenario.ts";
import { makeThrowawayHome } from "../../fixtures/throwaway_home.ts";
import { leftovers } from "../leftovers.ts";
import type { ProgramOutput } from "../start_program.ts";
import { StandIn } from "../standin/stand_in.ts";
import { codeBlocks } from "./code_blocks.ts";
import { checkExamples, runExample } from "./run_example.ts";

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
 * Registers a test for each `ts` block of Markdown files or of sources' doc comments, and one for the types of all.
 *
 * A block is run as a program, with the stand-in as `claude` on PATH. It has to end with exit code 0 and to leave
 * nothing. What follows `console.log(…); // ` on its line has to be in the output, and stderr has to be empty where
 * the block does not use `console.error`.
 *
 * @param paths from the root of the checkout
 * @param specials the first that fits a block counts
 */
export function testExamples(paths: readonly string[], specials: readonly Special[] = []): void {
  const blocks = paths.flatMap((path) => {
    const text = Deno.readTextFileSync(new URL(`../../${path}`, import.meta.url));
    return codeBlocks(text, "ts").map((block) => ({ ...block, path }));
  });
  Deno.test(`the examples in ${paths.join(", ")} are well-typed`, async () => {
    await using home = await makeThrowawayHome();
    const { code, stderr } = await checkExamples(blocks.map(({ code }) => code), {
      folder: home.project,
      env: home.env,
    });
    assertEquals([code, stderr], [0, ""]);
    const lost = specials.filter(({ having }) => !blocks.some(({ code }) => code.includes(having)));
    assertEquals(lost, []);
  });
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
