import { assertEquals } from "@std/assert";
import { makeThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import { whyNotWarm } from "../../../../src/cli/run/warm_prompt.ts";
import { checkDelivery } from "../../../../src/run/prepare_run.ts";
import { PLAIN_ORDER } from "../../../run/plain_order.ts";
import { writeScript } from "../../../write_script.ts";
import { saysVersion } from "../../claude/program/fake_npm.ts";
import { writeFiles } from "../../../write_files.ts";

/** Which of some prompts a Claude Code of a version that waits can have. */
async function held(version: string, prompts: readonly string[]): Promise<readonly string[]> {
  await using home = await makeThrowawayHome();
  await writeFiles(home.project, { ".claude/commands/greet.md": "Greet $ARGUMENTS\n" });
  const claudeBinary = `${home.path}/claude`;
  await writeScript(claudeBinary, saysVersion(version));
  const fits: string[] = [];
  for (const prompt of prompts) {
    const altered = await checkDelivery({ prompt, inject: "stdin" });
    const order = {
      ...PLAIN_ORDER,
      ...{ prompt, altered, claudeBinary, env: home.env, cwd: home.project },
    };
    if (await whyNotWarm({}, order) === undefined) fits.push(prompt);
  }
  return fits;
}

const WORDS = ["hello there", "ümlaut"];
const COMMAND = "/greet you";
const VERBATIM = [
  ...["!ls", " /logout", "/nonsense", "/", "exit", '<pasted_content id="1">', "a\u200b"],
];
const NEVER = [" ", "/logout", "/cost", "/insights"];

Deno.test("an ambiguous prompt goes to a warm child", async () => {
  const typed = ["/greet you\tall", `/greet ${"x".repeat(1000)}`];
  const prompts = [...WORDS, COMMAND, ...VERBATIM, ...NEVER, ...typed];
  assertEquals(await held("2.1.332", prompts), [...WORDS, COMMAND, ...VERBATIM]);
});
