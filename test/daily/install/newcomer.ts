import { join } from "node:path";
import { type Program, type ProgramOutput, startProgram } from "../../start_program.ts";
import { findTool } from "../../missing_tool.ts";
import type { Shell } from "../../shells.ts";
import { writeScript } from "../../write_script.ts";
import { sha256 as sha256OfBytes } from "../../../fixtures/mock/files/journal.ts";

/** The installer of this checkout. */
export const INSTALLER: string = join(import.meta.dirname ?? ".", "../../../install.sh");

/** Programs that the installer always needs. */
const TOOLS = [
  ..."cat chmod cp df expr getconf ldd ln ls mkdir mv readlink rm rmdir sha256sum sleep timeout uname"
    .split(" "),
];

/** The programs and folders of a machine. */
export interface NewcomerOptions {
  /** More programs on PATH, by name. */
  readonly tools?: readonly string[];
  /** Programs that are not on PATH, of the usual ones. */
  readonly without?: readonly string[];
  /** Shell scripts on PATH, over real programs of the same name. */
  readonly scripts?: Readonly<Record<string, string>>;
  /** Folders to make, below the home. */
  readonly folders?: readonly string[];
}

/** How the installer is run. */
export interface InstallOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Words before the shell's command. */
  readonly wrap?: readonly string[];
  /** Whether the script comes on stdin, as from curl. */
  readonly piped?: boolean;
}

/** Somebody with an empty home, and few programs on PATH. */
export interface Newcomer extends AsyncDisposable {
  /** A folder that holds all the others. */
  readonly path: string;
  readonly home: string;
  /** The one folder of PATH. */
  readonly tools: string;
  /** Where the program goes. */
  readonly target: string;
  /** Runs the installer to its end. */
  install(args: readonly string[], options?: InstallOptions): Promise<ProgramOutput>;
  start(args: readonly string[], options?: InstallOptions): Program;
  /** Writes an executable and its checksum, and returns its path. */
  release(text: string, name?: string): Promise<string>;
  /** All that is in the home, by path: mode and content. */
  tree(): Promise<Readonly<Record<string, string>>>;
}

/** Makes a newcomer who uses a shell. */
export async function makeNewcomer(
  shell: Shell,
  options: NewcomerOptions = {},
): Promise<Newcomer> {
  const path = await Deno.realPath(await Deno.makeTempDir({ prefix: "newcomer-" }));
  const home = `${path}/home`;
  const tools = `${path}/tools`;
  await Promise.all([home, tools, `${path}/release`].map((folder) => Deno.mkdir(folder)));
  for (const folder of options.folders ?? []) {
    await Deno.mkdir(`${home}/${folder}`, { recursive: true });
  }
  await equip(tools, options);
  const start = (args: readonly string[], run: InstallOptions = {}) =>
    startProgram(
      [
        ...run.wrap ?? [],
        ...shell.command,
        ...run.piped === true ? ["-s", "--"] : [INSTALLER],
        ...args,
      ],
      {
        cwd: path,
        env: { HOME: home, PATH: tools, SHELL: "/bin/bash", LC_ALL: "C", ...run.env },
        ...(run.piped === true ? { stdin: Deno.readTextFileSync(INSTALLER) } : {}),
      },
    );
  return {
    path,
    home,
    tools,
    target: `${home}/.local/bin/claude-print`,
    start,
    install: (args, run) => start(args, run).ended,
    release: async (text, name = "claude-print-x86_64-linux") => {
      const file = `${path}/release/${name}`;
      await Deno.writeTextFile(file, text);
      await Deno.writeTextFile(`${file}.sha256`, `${await sha256(text)}  ${name}\n`);
      return file;
    },
    tree: () => treeOf(home),
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

async function equip(folder: string, options: NewcomerOptions): Promise<void> {
  const { tools = [], without = [], scripts = {} } = options;
  for (const name of [...TOOLS, ...tools]) {
    const real = findTool(name);
    if (real === undefined || without.includes(name) || Object.hasOwn(scripts, name)) continue;
    await Deno.symlink(real, `${folder}/${name}`);
  }
  for (const [name, text] of Object.entries(scripts)) {
    await writeScript(`${folder}/${name}`, `#!/bin/sh\n${text}\n`);
  }
}

/** The SHA-256 of a text, in hex. */
export const sha256 = (text: string): Promise<string> =>
  sha256OfBytes(new TextEncoder().encode(text));

async function treeOf(folder: string, below = ""): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for await (const { name, isDirectory, isSymlink } of Deno.readDir(`${folder}/${below}`)) {
    const path = `${below}${name}`;
    if (isSymlink) {
      found[path] = `-> ${await Deno.readLink(`${folder}/${path}`)}`;
    } else if (isDirectory) {
      Object.assign(found, { [`${path}/`]: "" }, await treeOf(folder, `${path}/`));
    } else {
      const { mode } = await Deno.lstat(`${folder}/${path}`);
      const text = await Deno.readTextFile(`${folder}/${path}`);
      found[path] = `${((mode ?? 0) & 0o777).toString(8)} ${text}`;
    }
  }
  return found;
}

/** The fake executable's output. */
export interface FakeOptions {
  readonly version?: string;
  /** The version of Claude Code it wraps; by default it finds none. */
  readonly claude?: string;
  /** Bytes of ballast. */
  readonly ballast?: number;
}

/** A shell script that answers what the installer asks of the executable. */
export function fakeProgram(options: FakeOptions = {}): string {
  const { version = "0.1.0", claude, ballast = 0 } = options;
  return `#!/bin/sh
case $1 in
  --version)${
    claude === undefined ? "" : ` echo "${claude} (Claude Code)";`
  } echo "claude-print ${version}" ;;
  completion) echo "# claude-print ${version} for $2" ;;
  man) echo ".TH CLAUDE-PRINT 1 ${version}" ;;
  *) exit 2 ;;
esac
exit
${"#".repeat(ballast)}
`;
}
