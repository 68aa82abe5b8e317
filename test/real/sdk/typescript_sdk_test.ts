import { REAL_VERSIONS } from "../for_each_version.ts";
import { REPLAYED_SCENARIOS } from "./replayed_scenarios.ts";
import { sameForUsers } from "./same_for_users.ts";
import { typescriptUser } from "./sdk_user.ts";
import { WARM_SCENARIOS } from "./warm_scenarios.ts";

/**
 * Scenarios in which nothing is asked but a prompt: how their frames come about is compared with `claude -p` elsewhere
 * (`live/partial_messages_test.ts`, `results/structured_output_test.ts`, rows of `parity`), and what this SDK makes of them
 * is seen where tapes are replayed.
 */
const REPLAYED_ALONE = [
  "structured output",
  "partial messages",
  "errors",
  "two plain queries at once",
];

Deno.test("the Agent SDK for TypeScript shows its user the same", async (test) => {
  const version = REAL_VERSIONS.at(-1) ?? "";
  const user = await typescriptUser();
  const scenarios = REPLAYED_SCENARIOS.typescript.filter((scenario) =>
    !WARM_SCENARIOS.typescript.includes(scenario) && !REPLAYED_ALONE.includes(scenario)
  );
  await sameForUsers(test, { recorded: "sdk_typescript/scenarios", user, version, scenarios });
});
