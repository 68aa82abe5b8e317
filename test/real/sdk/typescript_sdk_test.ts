import { REAL_VERSIONS } from "../for_each_version.ts";
import { sameForUsers } from "./same_for_users.ts";
import { typescriptUser } from "./sdk_user.ts";

/**
 * What is played live: what an SDK alone asks for. Of sessions, errors, answers in pieces and runs side by side there are
 * tests without one, and what this one makes of them is seen where tapes are replayed.
 */
const SCENARIOS = [
  "permissions",
  "every hook, and some that decide",
  "control, and tools of its own",
  "prompts as they are",
  "structured output",
  "an abort",
];

Deno.test("the Agent SDK for TypeScript shows its user the same", async (test) => {
  const version = REAL_VERSIONS.at(-1) ?? "";
  const user = await typescriptUser();
  const recorded = "sdk_typescript/scenarios";
  await sameForUsers(test, { recorded, user, version, scenarios: SCENARIOS });
});
