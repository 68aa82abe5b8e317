import { fileAt } from "../../../ffi/files/at_path.ts";
import type { InstructionFiles } from "../plan/plan_facts.ts";
import { upFrom } from "../../sandbox/paths.ts";

/** Most that is looked at below the root of a project: a larger one takes longer than is gained by it. */
const MAX_FOLDERS = 64;
const MAX_NAMES = 2000;

/**
 * Looks for CLAUDE.md and AGENTS.md where Claude Code does (2.1.330).
 *
 * @param options.root the root of the working directory's repository, else itself
 * @param options.projectRoot the folder in which, and above which, skills and commands are the project's
 * @param options.userDir the user's config dir
 * @param options.readsProject whether `--setting-sources` leaves the project's files in
 */
export function instructionFiles(
  { cwd, root, projectRoot, userDir, readsProject }: {
    readonly cwd: string;
    readonly root: string;
    readonly projectRoot: string;
    readonly userDir: string;
    readonly readsProject: boolean;
  },
): InstructionFiles {
  const claude = readsProject && isFilled(`${root}/CLAUDE.md`);
  return {
    claude,
    agents: isAbove(cwd) || (!claude && mayBeBelow(root)),
    skills: [userDir, ...upFrom(projectRoot).map((dir) => `${dir}/.claude`)].some((dir) =>
      ["agents", "commands", "skills"].some((name) => fileAt(`${dir}/${name}`) !== undefined)
    ),
  };
}

function isAbove(cwd: string): boolean {
  return upFrom(cwd).some((dir) =>
    ["AGENTS.md", ".claude/AGENTS.md"].some((name) => fileAt(`${dir}/${name}`) !== undefined)
  );
}

function mayBeBelow(root: string): boolean {
  const folders = [root];
  let names = 0;
  for (let at = 0; at < folders.length; at++) {
    if (at >= MAX_FOLDERS) return true;
    try {
      for (const { name, isDirectory, isSymlink } of Deno.readDirSync(`${folders[at]}`)) {
        // What lies behind a link counts, too.
        if (++names > MAX_NAMES || name === "AGENTS.md" || isSymlink) return true;
        if (isDirectory && name !== ".git") folders.push(`${folders[at]}/${name}`);
      }
    } catch {
      return true;
    }
  }
  return false;
}

function isFilled(path: string): boolean {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    return isFile && size > 0;
  } catch {
    return false;
  }
}
