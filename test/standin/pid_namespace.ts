/** Flags of `unshare` for a new pid namespace with its own `/proc`. */
export const PID_NAMESPACE: readonly string[] = ["-r", "--pid", "--fork", "--mount-proc"];

/** What a test of that lacks, where this machine does not let its users make one. */
export const PID_NAMESPACE_LACK: string | undefined = (await new Deno.Command("unshare", {
    args: [...PID_NAMESPACE, "true"],
    stdout: "null",
    stderr: "null",
  }).output().catch(() => ({ success: false }))).success
  ? undefined
  : "the right to make a pid namespace";
