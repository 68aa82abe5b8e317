import { REAL_VERSIONS } from "../for_each_version.ts";
import { sameForUsers } from "./same_for_users.ts";
import { typescriptUser } from "./sdk_user.ts";

/**
 * What is played live: "permissions" and "structured output" are in `warm_test.ts`. How the frames of the others come about
 * is seen without an SDK (`sessions_test.ts`, `partial_messages_test.ts`, `library_test.ts`, and rows of parity on errors and
 * `--max-turns`), and what this one makes of them where its tapes are replayed.
 */
const SCENARIOS = ["every hook, and some that decide", "control, and tools of its own", "an abort"];

Deno.test("the Agent SDK for TypeScript shows its user the same", async (test) => {
  const version = REAL_VERSIONS.at(-1) ?? "";
  const user = await typescriptUser();
  await sameForUsers(test, {
    recorded: "sdk_typescript/scenarios",
    user,
    version,
    scenarios: SCENARIOS,
  });
});
