import { join } from "node:path";
import { type ProgramOutput, startProgram } from "../start_program.ts";

const ROOT = join(import.meta.dirname ?? ".", "../..");

/** The published name of the library, what it is in this checkout, and that or what the whole suite has bundled. */
const LIBRARY = "jsr:@claude-print/cli/library";
export const LIBRARY_SOURCE = `${ROOT}/src/library/mod.ts`;
const BUNDLE = Deno.env.get("LIBRARY_BUNDLE") ?? LIBRARY_SOURCE;

const DENO = [Deno.execPath(), "--quiet"];
const CONFIGURED = ["--frozen", "--config", `${ROOT}/deno.json`];

/** Where a program works, and with what environment. */
export interface Surroundings {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The command that runs a program which imports the library by its published name, with this checkout's instead. */
export async function exampleCommand(
  code: string,
  { folder, library = BUNDLE }: { readonly folder: string; readonly library?: string },
): Promise<readonly string[]> {
  const path = await writeExample(code, { folder, name: "example", library });
  return [...DENO, "run", "-A", ...CONFIGURED, path];
}

/** Runs such a program to its end, as its user would. */
export async function runExample(
  code: string,
  { folder, env }: Surroundings,
): Promise<ProgramOutput> {
  const command = await exampleCommand(code, { folder });
  return await startProgram(command, { env, cwd: folder }).ended;
}

/** Writes such a program into a folder, and returns where it is. */
export async function writeExample(
  code: string,
  { folder, name, library = LIBRARY_SOURCE }: {
    readonly folder: string;
    readonly name: string;
    /** The module that is imported; by default that of the sources. */
    readonly library?: string;
  },
): Promise<string> {
  const path = `${folder}/${name}.ts`;
  await Deno.writeTextFile(path, code.replaceAll(`"${LIBRARY}"`, `"file://${library}"`));
  return path;
}
