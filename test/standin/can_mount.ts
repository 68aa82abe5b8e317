/** Whether this machine lets its users mount a small disk of their own. */
export const CAN_MOUNT: boolean = (await new Deno.Command("unshare", {
  args: ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"],
  stdout: "null",
  stderr: "null",
}).output().catch(() => ({ success: false }))).success;
