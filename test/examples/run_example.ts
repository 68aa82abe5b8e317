import { join } from "node:path";
import { type ProgramOutput, startProgram } from "../start_program.ts";

const ROOT = join(import.meta.dirname ?? ".", "../..");

/** The published name of the library, and what it is in this checkout. */
const LIBRARY = "jsr:@claude-print/cli/library";
const SOURCE = `file://${ROOT}/src/library/mod.ts`;

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
  { folder }: { readonly folder: string },
): Promise<readonly string[]> {
  const path = await writeExample(code, { folder, name: "example" });
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
  { folder, name }: { readonly folder: string; readonly name: string },
): Promise<string> {
  const path = `${folder}/${name}.ts`;
  await Deno.writeTextFile(path, code.replaceAll(`"${LIBRARY}"`, `"${SOURCE}"`));
  return path;
}
