import { resolve } from "node:path";
import { pythonSdk } from "../../../fixtures/programs/agent_sdk.ts";
import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import { unlessLacking } from "../../unless_lacking.ts";
import { REAL_VERSIONS } from "../for_each_version.ts";
import { sameForUsers } from "./same_for_users.ts";

const python = usablePython();

Deno.test(unlessLacking(python === undefined ? "python3 with venv, 3.10 or later" : undefined, {
  name: "the Agent SDK for Python shows its user the same",
  fn: async (test) => {
    if (python === undefined) return;
    const program = resolve(import.meta.dirname ?? ".", "python.py");
    const user = { command: [await pythonSdk(python), "-B", program] };
    const version = REAL_VERSIONS.at(-1) ?? "";
    await sameForUsers(test, { recorded: "sdk_python/scenarios", user, version });
  },
}));
