import { resolve } from "node:path";
import { typescriptSdk } from "../../../fixtures/programs/agent_sdk.ts";
import { REAL_VERSIONS } from "../for_each_version.ts";
import { sameForUsers } from "./same_for_users.ts";

const HERE = import.meta.dirname ?? ".";

const COMMAND = [
  ...[Deno.execPath(), "run", "-A", "--quiet", "--frozen", "--no-check"],
  ...["--config", resolve(HERE, "../../../deno.json"), resolve(HERE, "typescript.ts")],
];

Deno.test("the Agent SDK for TypeScript shows its user the same", async (test) => {
  const user = { command: COMMAND, argument: { sdk: await typescriptSdk() } };
  const version = REAL_VERSIONS.at(-1) ?? "";
  await sameForUsers(test, { recorded: "sdk_typescript/scenarios", user, version });
});
