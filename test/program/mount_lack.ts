/** What this machine lacks to mount a small disk. */
export const MOUNT_LACK: string | undefined = (await new Deno.Command("unshare", {
    args: ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"],
    stdout: "null",
    stderr: "null",
  }).output().catch(() => ({ success: false }))).success
  ? undefined
  : "the right to mount a disk of its own";
