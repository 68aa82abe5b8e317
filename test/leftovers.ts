import type { ThrowawayHome } from "../fixtures/throwaway_home.ts";

/** How long a killed process may take to disappear from `/proc`, in milliseconds. */
const PATIENCE_MS = 3000;
const LOOK_MS = 10;

/**
 * Lists what a run left behind: files in TMPDIR, and processes whose environment, command line or
 * working directory belongs to the throw-away home.
 *
 * A process that is being killed gets a moment to go, and so does what a server has still to remove.
 *
 * @param options.but what may be left
 */
export async function leftovers(
  home: ThrowawayHome,
  { but }: { readonly but?: RegExp } = {},
): Promise<readonly string[]> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const left = [...filesBelow(home.tmp), ...processesOf(home.path)]
      .filter((each) => but?.test(each) !== true);
    if (left.length === 0 || performance.now() > deadline) return left;
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
}

/** The living processes that belong to a folder, in words. */
export function processesOf(path: string): readonly string[] {
  const found: string[] = [];
  for (const { name: pid } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const commandLine = Deno.readTextFileSync(`/proc/${pid}/cmdline`);
      // A thread of the kernel, or a process that has ended and that nobody has asked about yet.
      if (commandLine === "") continue;
      const belongs = commandLine.includes(path) ||
        Deno.readTextFileSync(`/proc/${pid}/environ`).includes(path) ||
        Deno.readLinkSync(`/proc/${pid}/cwd`).startsWith(path);
      if (belongs) found.push(`process ${pid}: ${commandLine.replaceAll("\0", " ").trim()}`);
    } catch {
      // It ended meanwhile, or is nobody's to look at.
    }
  }
  return found;
}

function filesBelow(folder: string): readonly string[] {
  return namesIn(folder).flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? [path, ...filesBelow(path)] : [path];
  });
}

function namesIn(folder: string): readonly Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(folder)];
  } catch (error) {
    // It was removed meanwhile.
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
