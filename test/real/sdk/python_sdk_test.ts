import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import { unlessLacking } from "../../unless_lacking.ts";
import { REAL_VERSIONS } from "../for_each_version.ts";
import { sameForUsers } from "./same_for_users.ts";
import { pythonUser } from "./sdk_user.ts";

/**
 * What is played live here: how this SDK asks, and what it makes arguments of. Hooks are where Claude Codes have waited. How
 * the frames of the other scenarios come about the SDK for TypeScript shows live, or a test beside `claude -p`, and what this
 * one makes of them is seen where tapes are replayed.
 */
const SCENARIOS = ["permissions and tools of its own", "options"];

const python = usablePython();

Deno.test(unlessLacking(python === undefined ? "python3 with venv, 3.10 or later" : undefined, {
  name: "the Agent SDK for Python shows its user the same",
  fn: async (test) => {
    if (python === undefined) return;
    const user = await pythonUser(python);
    const version = REAL_VERSIONS.at(-1) ?? "";
    const recorded = "sdk_python/scenarios";
    await sameForUsers(test, { recorded, user, version, scenarios: SCENARIOS });
  },
}));
