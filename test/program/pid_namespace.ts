/** Flags of `unshare` for a new pid namespace with its own `/proc`. */
export const PID_NAMESPACE: readonly string[] = ["-r", "--pid", "--fork", "--mount-proc"];

/** What this machine lacks to make a pid namespace. */
export const PID_NAMESPACE_LACK: string | undefined = (await new Deno.Command("unshare", {
    args: [...PID_NAMESPACE, "true"],
    stdout: "null",
    stderr: "null",
  }).output().catch(() => ({ success: false }))).success
  ? undefined
  : "the right to make a pid namespace";
