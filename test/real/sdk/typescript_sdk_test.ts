import { REAL_VERSIONS } from "../for_each_version.ts";
import { sameForUsers } from "./same_for_users.ts";
import { typescriptUser } from "./sdk_user.ts";

Deno.test("the Agent SDK for TypeScript shows its user the same", async (test) => {
  const version = REAL_VERSIONS.at(-1) ?? "";
  const user = await typescriptUser();
  await sameForUsers(test, { recorded: "sdk_typescript/scenarios", user, version });
});
