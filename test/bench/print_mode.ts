import type { ThrowawayHome } from "../../fixtures/throwaway_home.ts";
import { PROMPT } from "./prompt.ts";

/**
 * Runs `claude -p` and says how long it took, in milliseconds.
 *
 * @throws {Error} when the run fails
 */
export async function runPrintMode(claude: string, home: ThrowawayHome): Promise<number> {
  const startedAt = performance.now();
  const { success, code, stdout, stderr } = await new Deno.Command(claude, {
    args: ["-p", PROMPT],
    cwd: home.project,
    clearEnv: true,
    env: { ...home.env },
    stdin: "null",
  }).output();
  const wallMs = performance.now() - startedAt;
  if (!success || stdout.length === 0) {
    throw new Error(`claude -p failed with exit code ${code}: ${new TextDecoder().decode(stderr)}`);
  }
  return wallMs;
}
