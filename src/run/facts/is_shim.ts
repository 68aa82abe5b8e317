/** How the second line of every shim begins: by it shims know themselves and each other. */
export const SHIM_MARK = "# claude-print shim";

/** Enough of a file to hold its second line. */
const HEAD_BYTES = 256;

/** Whether an executable is a shim of claude-print, which must never be taken for the real claude. */
export function isShim(path: string): boolean {
  try {
    using file = Deno.openSync(path);
    const head = new Uint8Array(HEAD_BYTES);
    const length = file.readSync(head) ?? 0;
    const [first, second] = new TextDecoder().decode(head.subarray(0, length)).split("\n");
    return first === "#!/bin/sh" && second?.startsWith(SHIM_MARK) === true;
  } catch {
    // A shim can be read by everybody, so this is another program.
    return false;
  }
}
