import { resolve } from "node:path";
import { pythonSdk, typescriptSdk } from "../../../fixtures/programs/agent_sdk.ts";
import type { UsablePython } from "../../../fixtures/programs/python_packages.ts";

const HERE = import.meta.dirname ?? ".";

/** A program that uses an Agent SDK. */
export interface SdkUser {
  /** What starts it, without its argument. */
  readonly command: readonly string[];
  /** More that it is told. */
  readonly argument?: Readonly<Record<string, unknown>>;
}

/** The one of the Agent SDK for TypeScript, downloaded on first use. */
export async function typescriptUser(): Promise<SdkUser> {
  return {
    command: [
      ...[Deno.execPath(), "run", "-A", "--quiet", "--frozen", "--no-check"],
      ...["--config", resolve(HERE, "../../../deno.json"), resolve(HERE, "typescript.ts")],
    ],
    argument: { sdk: await typescriptSdk() },
  };
}

/** The one of the Agent SDK for Python, downloaded on first use. */
export async function pythonUser(python: UsablePython): Promise<SdkUser> {
  return { command: [await pythonSdk(python), "-B", resolve(HERE, "python.py")] };
}
