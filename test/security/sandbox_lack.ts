import { lackOf } from "../find_tool.ts";

/** What a test lacks that has Claude Code run commands in its Bash sandbox. */
export const SANDBOX_LACK: string | undefined = lackOf("bwrap") ?? lackOf("socat") ??
  (await isLetIn() ? undefined : "the right to make user namespaces");

async function isLetIn(): Promise<boolean> {
  const args = ["--ro-bind", "/", "/", "--unshare-all", "--proc", "/proc", "--dev", "/dev", "true"];
  const { success } = await new Deno.Command("bwrap", { args, stdout: "null", stderr: "null" })
    .output();
  return success;
}
