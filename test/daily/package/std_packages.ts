import { join } from "node:path";
import { denoDir } from "../../../fixtures/programs/deno_dir.ts";
import type { Published } from "./registry.ts";

const LINKED = join(import.meta.dirname ?? ".", "../../../fixtures/std");

/** What a linked package takes from npm. */
const REPACK = /npm:deno-std@([\d.]+)\/(\S+\.js)/gu;

/** What a module imports from beside it. */
const BESIDE = /^(?:import|export|\}).* from "(\.[^"]+)"/gmu;

/**
 * The packages of `fixtures/std` as a registry has the real ones: each with the modules of its own, where the linked
 * ones take them from npm.
 */
export async function stdPackages(): Promise<ReadonlyMap<string, Published>> {
  const packages = new Map<string, Published>();
  for (const { name, isDirectory } of Deno.readDirSync(LINKED)) {
    if (!isDirectory) continue;
    packages.set(`@std/${name}`, await stdPackage(`${LINKED}/${name}`));
  }
  return packages;
}

async function stdPackage(folder: string): Promise<Published> {
  const { version, exports } = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const { name } of Deno.readDirSync(folder)) {
    const text = await Deno.readTextFile(`${folder}/${name}`);
    files.set(`/${name}`, encode(text.replaceAll(REPACK, "./_/$2")));
    for (const [, repackVersion = "", module = ""] of text.matchAll(REPACK)) {
      await addModule(files, { repackVersion, module });
    }
  }
  return { version, exports: typeof exports === "string" ? { ".": exports } : exports, files };
}

/** Adds a module of the repack and all that it imports, below `/_/`. */
async function addModule(
  files: Map<string, Uint8Array<ArrayBuffer>>,
  wanted: { readonly repackVersion: string; readonly module: string },
): Promise<void> {
  const { repackVersion, module } = wanted;
  if (files.has(`/_/${module}`)) return;
  const text = await Deno.readTextFile(`${await repackFolder(repackVersion)}/${module}`);
  files.set(`/_/${module}`, encode(text));
  for (const [, path = ""] of text.matchAll(BESIDE)) {
    await addModule(files, { repackVersion, module: join(module, "..", path) });
  }
}

/** Where Deno keeps the package, below the name of whatever registry it came from. */
async function repackFolder(version: string): Promise<string> {
  const npm = `${await denoDir()}/npm`;
  for (const { name } of Deno.readDirSync(npm)) {
    const folder = `${npm}/${name}/deno-std/${version}`;
    if ((await Deno.stat(folder).catch(() => undefined))?.isDirectory) return folder;
  }
  throw new Error(`Cannot find deno-std ${version} in ${npm}: run deno install`);
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
