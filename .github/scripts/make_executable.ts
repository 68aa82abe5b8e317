import { basename, dirname, join } from "node:path";
import { PERMISSIONS } from "./permissions.ts";
import { runDeno } from "./run_deno.ts";
import { type RuntimeBase, TARGET } from "./runtime_base.ts";

/**
 * Makes an executable of a folder with `main.js` and what that imports.
 *
 * @param executable where it goes; the same files make the same bytes if its name is the same too
 */
export async function makeExecutable(
  executable: string,
  options: { readonly folder: string; readonly base: RuntimeBase },
): Promise<void> {
  const { folder, base: { deno, env } } = options;
  for (const { name } of Deno.readDirSync(folder)) {
    // The time would get into the executable.
    await Deno.utime(`${folder}/${name}`, 0, 0);
  }
  await runDeno([
    ...["compile", "--quiet", "--target", TARGET, "--no-check", "--no-code-cache"],
    // The files need no configuration, so none can get in.
    ...["--no-config", "--no-lock", "--no-npm", "--no-remote"],
    ...["--no-prompt", "--deny-import", ...PERMISSIONS.map(({ flag }) => flag)],
    ...["--output", basename(executable), join(folder, "main.js")],
  ], { deno, cwd: dirname(executable), env });
}
