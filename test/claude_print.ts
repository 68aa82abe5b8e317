import { join } from "node:path";

const ROOT = join(import.meta.dirname ?? ".", "..");

/** `claude-print` from this checkout as a command, without its arguments. */
export const CLAUDE_PRINT: readonly string[] = [
  ...[Deno.execPath(), "run", "-A", "--quiet", "--frozen"],
  ...["--config", `${ROOT}/deno.json`, `${ROOT}/src/main.ts`],
];
