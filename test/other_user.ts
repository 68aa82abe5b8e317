import { missingTool } from "./missing_tool.ts";

/** What this machine lacks to become another user. */
export const OTHER_USER_LACK: string | undefined = Deno.uid() === 0
  ? missingTool("setpriv")
  : "root's rights";

/** The user "nobody" of most systems, who owns nothing here. */
const ANOTHER = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];

/**
 * Runs a command as another user, which takes root and util-linux's setpriv.
 *
 * @returns its exit code and all it wrote
 */
export async function asAnotherUser(
  command: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  const { code, stdout, stderr } = await new Deno.Command("setpriv", {
    args: [...ANOTHER, "--", ...command],
    cwd: "/",
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, output: decoder.decode(stdout) + decoder.decode(stderr) };
}
