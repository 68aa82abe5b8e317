import { join } from "node:path";
import { denoDir } from "../../fixtures/deno_dir.ts";
import { type ProgramOutput, startProgram } from "../start_program.ts";
import type { Published, Registry } from "./registry.ts";

const ROOT = join(import.meta.dirname ?? ".", "../..");
const DROP_LINKS = ".github/scripts/drop_links.ts";

/** What is in a checkout that a release is made of, and more that must not get into the package. */
const CHECKOUT = [
  ...["deno.json", "deno.lock", "LICENSE", "README.md", "ffi", "src", "test/std", DROP_LINKS],
  ...["test/package/untar.ts", "fixtures/deno_dir.ts", ".gitignore", ".ci/run"],
];

/**
 * Publishes this checkout to a registry as a release does it: first what links `@std` to `test/std` is dropped, so that
 * `@std` comes from the registry too.
 *
 * @param options.folder an empty one
 * @param options.env with `DENO_DIR`, from which npm's packages come
 */
export async function publishHere(
  registry: Registry,
  options: { readonly folder: string; readonly env: Readonly<Record<string, string>> },
): Promise<ProgramOutput> {
  const { folder, env } = options;
  for (const name of ["assert", "cli", "jsonc", "streams", "text"]) {
    registry.packages.set(`@std/${name}`, await linkedPackage(`${ROOT}/test/std/${name}`));
  }
  for (const path of CHECKOUT) await copy(`${ROOT}/${path}`, `${folder}/${path}`);
  const deno = (...args: string[]) =>
    startProgram([Deno.execPath(), ...args], {
      env: { ...env, JSR_URL: registry.url, NO_COLOR: "1" },
      cwd: folder,
    }).ended;
  const dropped = await deno("run", "-A", "--quiet", DROP_LINKS);
  if (dropped.code !== 0) return dropped;
  return await deno("publish", "--allow-dirty", "--no-check", "--token", "anybody");
}

/**
 * A `DENO_DIR` that has the npm packages of this Deno's own and nothing else.
 *
 * @param folder an empty one
 */
export async function emptyDenoDir(folder: string): Promise<string> {
  // A lock spares Deno to ask for the versions there are, which nobody can be asked for without one.
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["cache", "--quiet", "--no-lock", "src/main.ts", "src/library/mod.ts"],
    cwd: ROOT,
  }).output();
  if (!success) throw new Error("Cannot fetch the project's npm packages");
  await Deno.symlink(`${await denoDir()}/npm`, `${folder}/npm`);
  return folder;
}

/** A package of `test/std` as if it had been published. */
async function linkedPackage(folder: string): Promise<Published> {
  const { version, exports } = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
  const files = names.map(async (name) =>
    [`/${name}`, await Deno.readFile(`${folder}/${name}`)] as const
  );
  return {
    version,
    exports: typeof exports === "string" ? { ".": exports } : exports,
    files: new Map(await Promise.all(files)),
  };
}

async function copy(from: string, to: string): Promise<void> {
  if (!(await Deno.stat(from)).isDirectory) {
    await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
    return await Deno.copyFile(from, to);
  }
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) await copy(`${from}/${name}`, `${to}/${name}`);
}
