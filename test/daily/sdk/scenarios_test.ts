import { assertEquals } from "@std/assert";
import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import { REAL_VERSIONS } from "../../real/for_each_version.ts";
import { RealClaude } from "../../real/real_claude.ts";
import { pythonUser, type Sdk, type SdkUser, typescriptUser } from "../../program/sdk/scenarios.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import {
  installClaudePrint,
  playScenarios,
  seenWithClaude,
  structuredReply,
} from "./play_scenarios.ts";

const python = usablePython();

Deno.test("a live TypeScript SDK user sees what claude -p prints", async (test) => {
  await sameForUser(test, "typescript", await typescriptUser());
});

Deno.test(skipIfLacking(python === undefined ? "python3 with venv, 3.10 or later" : undefined, {
  name: "a live Python SDK user sees what claude -p prints",
  fn: async (test) => {
    if (python === undefined) return;
    await sameForUser(test, "python", await pythonUser(python));
  },
}));

/** Plays all scenarios with `claude-print`, and fails where the user sees something else than with the real Claude Code. */
async function sameForUser(test: Deno.TestContext, sdk: Sdk, user: SdkUser): Promise<void> {
  const version = REAL_VERSIONS.at(-1) ?? "";
  await using real = await RealClaude.set(version, { api: { reply: structuredReply } });
  const expected = await seenWithClaude(real, sdk, user);
  const executable = await installClaudePrint(real);
  const ours = await playScenarios(user, { real, scenarios: [], executable });
  // It stands in a file that a prompt mentions, and this prompt is to reach the model unchanged.
  const isIncluded = real.api.turns.some(({ text }) => text.includes("what nobody is told"));
  assertEquals(isIncluded, false);
  assertEquals([...ours.keys()], [...expected.keys()]);
  for (const [scenario, seen] of ours) {
    await test.step(scenario, () => assertEquals(seen, expected.get(scenario)));
  }
}
