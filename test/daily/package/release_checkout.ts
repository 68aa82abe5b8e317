import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { denoDir } from "../../../fixtures/programs/deno_dir.ts";
import { linkOrCopy } from "../executable/link_or_copy.ts";
import { startProgram } from "../../start_program.ts";
import type { Registry } from "./registry.ts";
import { stdPackages } from "./std_packages.ts";

const ROOT = join(import.meta.dirname ?? ".", "../../..");

/** What is in a checkout that a release is made of, and more that must not get into the package. */
const CHECKOUT = [
  ...["deno.json", "deno.lock", "LICENSE", "README.md", "ffi", "src"],
  ...[
    "docs",
    "fixtures",
    "test/daily/package/untar.ts",
    ".github/scripts",
    ".gitignore",
    ".ci/run",
  ],
];

/** What the workflows run to get from the sources to a release, beside the right to publish. */
const STEPS = [
  [..."run --no-config --no-lock --no-remote --no-npm --allow-read=. --allow-write=.".split(" ")]
    .concat(".github/scripts/drop_links.ts"),
  ["install", "--frozen=false"],
];

/**
 * Copies this checkout and drops its links, as a release does it, so that `@std` comes from the registry.
 *
 * @param options.folder an empty one
 * @param options.env with `DENO_DIR`, from which npm's packages come, and `JSR_URL`
 */
export async function releaseCheckout(
  registry: Registry,
  options: { readonly folder: string; readonly env: Readonly<Record<string, string>> },
): Promise<void> {
  const { folder, env } = options;
  for (const [name, published] of await stdPackages()) registry.packages.set(name, published);
  for (const path of CHECKOUT) await bring(`${ROOT}/${path}`, `${folder}/${path}`);
  await Deno.symlink(`${ROOT}/.cache`, `${folder}/.cache`);
  for (const step of STEPS) {
    const command = [Deno.execPath(), "--quiet", ...step];
    const { code, stderr } = await startProgram(command, { env, cwd: folder }).ended;
    assertEquals([code, stderr], [0, ""]);
  }
}

/**
 * A `DENO_DIR` that has the npm packages of this Deno's own, what it bundles with, and nothing else.
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
  const from = await denoDir();
  await Deno.symlink(`${from}/npm`, `${folder}/npm`);
  await Deno.mkdir(`${folder}/dl`);
  for (const { name } of Deno.readDirSync(`${from}/dl`)) {
    // The bundler, but not the official runtime.
    if (name !== "release") await Deno.symlink(`${from}/dl/${name}`, `${folder}/dl/${name}`);
  }
  return folder;
}

async function bring(from: string, to: string): Promise<void> {
  await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
  // The configuration is a file that is changed there.
  if ((await Deno.stat(from)).isDirectory) await linkOrCopy(from, to);
  else await Deno.copyFile(from, to);
}
