import { fileAt } from "../../../ffi/files/at_path.ts";
import { tryReadText } from "../../../ffi/files/regular_file.ts";
import { CliError } from "../../cli_error.ts";
import { realPath, upFrom, wholePath } from "../../paths.ts";
import { parseJsonObject } from "../../claude/wire/json_text.ts";

/** An Agent SDK: for Python its interpreter, for TypeScript its declarations. */
export type InstalledSdk =
  | { readonly kind: "python"; readonly python: string; readonly isNamed: boolean }
  | { readonly kind: "typescript"; readonly name: string; readonly declarations: string };

const PACKAGE = "@anthropic-ai/claude-agent-sdk";
const DECLARATIONS = "sdk.d.ts";
/** The maximum size of a file, in bytes. */
const LARGEST = 8_000_000;

/**
 * Returns the SDK at a path: a `python3`, a virtual environment, or the folder of the npm package.
 *
 * @throws {CliError} for anything else
 */
export function sdkAt(path: string): InstalledSdk {
  const typescript = typescriptIn(realPath(path));
  if (typescript !== undefined) return typescript;
  const named = wholePath(path, Deno.cwd());
  const venv = `${named}/bin/python3`;
  if (fileAt(venv)?.isFile === true) {
    return { kind: "python", python: venv, isNamed: true };
  }
  // The link is not resolved: an interpreter finds its virtual environment by the path it is started with.
  if (fileAt(named)?.isFile === true) {
    return { kind: "python", python: named, isNamed: true };
  }
  throw new CliError(`Cannot find an Agent SDK at ${path}`, {
    suggestion: `Name a python3, a virtual environment, or the folder of ${PACKAGE}`,
  });
}

/** Finds the SDK of the virtual environment or PATH, and the one in `node_modules` of a folder or of one above it. */
export function findSdks(
  { env, cwd }: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
): readonly InstalledSdk[] {
  const { VIRTUAL_ENV, PATH = "" } = env;
  const venv = VIRTUAL_ENV === undefined || VIRTUAL_ENV === "" ? [] : [`${VIRTUAL_ENV}/bin`];
  const folders = [...venv, ...PATH.split(":").filter((folder) => folder.startsWith("/"))];
  const python = folders.map((folder) => `${folder}/python3`).find((path) => fileAt(path)?.isFile);
  const typescript = upFrom(cwd).map((folder) => typescriptIn(`${folder}/node_modules/${PACKAGE}`))
    .find((found) => found !== undefined);
  return [
    ...(python === undefined ? [] : [{ kind: "python", python, isNamed: false } as const]),
    ...(typescript === undefined ? [] : [typescript]),
  ];
}

function typescriptIn(folder: string): InstalledSdk | undefined {
  const declarations = tryReadText(`${folder}/${DECLARATIONS}`, LARGEST);
  if (declarations === undefined) return undefined;
  const { version } = parseJsonObject(tryReadText(`${folder}/package.json`, LARGEST) ?? "") ?? {};
  const shown = typeof version === "string" ? version.slice(0, 100) : "of an unknown version";
  return { kind: "typescript", name: `${PACKAGE} ${shown}`, declarations };
}
