import { resolve } from "node:path";
import { type BundleContents, bundleContents } from "./bundle_contents.ts";
import { runDeno } from "./run_deno.ts";
import { stableNames } from "./stable_names.ts";

const ROOT = resolve(import.meta.dirname ?? ".", "..", "..");

/**
 * Puts what claude-print imports, and nothing else, into a few files: `main.js`, and what it loads late in files of its
 * own. They are the same wherever and whenever they are made.
 *
 * @param folder where they go; it does not exist yet
 * @returns what is in them
 */
export async function bundleProgram(folder: string): Promise<BundleContents> {
  const how = ["--quiet", "--frozen", "--platform", "deno", "--code-splitting"];
  await runDeno(["bundle", ...how, "--outdir", folder, "src/main.ts"], { cwd: ROOT });
  const files = new Map<string, string>();
  for (const name of Array.from(Deno.readDirSync(folder), (entry) => entry.name).toSorted()) {
    files.set(name, await Deno.readTextFile(`${folder}/${name}`));
    await Deno.remove(`${folder}/${name}`);
  }
  const named = stableNames(files, "main.js");
  for (const [name, text] of named) await Deno.writeTextFile(`${folder}/${name}`, text);
  return bundleContents([...named.values()].join("\n"));
}
