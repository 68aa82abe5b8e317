/**
 * Makes `dist/claude-print`, one executable for x86_64 Linux. Releases are built with this script too.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { basename, dirname, join, resolve } from "node:path";
import deno from "../../deno.json" with { type: "json" };
import type { BundleContents } from "./bundle_contents.ts";
import { bundleProgram } from "./bundle_program.ts";
import { makeExecutable } from "./make_executable.ts";
import { releaseProblem } from "./release_problem.ts";
import { runtimeBase } from "./runtime_base.ts";

const HELP = `deno task compile [--base official|npm] [--output FILE]

  --base official   a release: Deno's own runtime and no other, and nothing bundled that no release may hold
  --base npm        a runtime out of npm, for tests only; without --base this is what is taken where Deno's own
                    cannot be downloaded
  --output FILE     the executable; default dist/claude-print
`;

const LINKED =
  `Cannot make a release here: links in deno.json put packages of fixtures/std, which take @std from deno-std,
an unofficial repack of it on npm, in the place of the real jsr:@std
  Drop them in a checkout of its own: deno run -A .github/scripts/drop_links.ts && deno install --frozen=false
`;

const DEFAULT_OUTPUT = resolve(import.meta.dirname ?? ".", "..", "..", "dist", "claude-print");

interface Options {
  readonly base: "official" | "npm" | undefined;
  readonly output: string;
}

/** Reads the command line; a text is what is wrong with it. */
function readOptions(args: readonly string[]): Options | string {
  const unknown: string[] = [];
  const parsed = parseArgs(args, {
    boolean: ["help"],
    string: ["base", "output"],
    unknown: (argument) => {
      unknown.push(argument);
      return false;
    },
  });
  if (parsed.help) return HELP;
  if (unknown.length > 0) return `Unknown: ${unknown.join(" ")}\n\n${HELP}`;
  const { base, output = DEFAULT_OUTPUT } = parsed;
  if (base !== undefined && base !== "official" && base !== "npm") {
    return `--base needs official or npm\n\n${HELP}`;
  }
  return { base, output: resolve(output) };
}

async function main(): Promise<number> {
  const options = readOptions(Deno.args);
  if (typeof options === "string") {
    print(options === HELP ? Deno.stdout : Deno.stderr, options);
    return options === HELP ? 0 : 2;
  }
  const { os, arch } = Deno.build;
  if (os !== "linux" || arch !== "x86_64") {
    print(Deno.stderr, `Cannot compile on ${os}, ${arch}: claude-print is for Linux on x86_64\n`);
    return 2;
  }
  if (options.base === "official" && Object.hasOwn(deno, "links")) {
    print(Deno.stderr, LINKED);
    return 2;
  }
  const folder = await Deno.makeTempDir({ prefix: "claude-print-compile-" });
  try {
    const executable = `${folder}/claude-print`;
    const base = await runtimeBase(options.base);
    const contents = await bundleProgram(`${folder}/bundle`);
    if (options.base === "official") refuseUnlessRelease(contents);
    await makeExecutable(executable, { folder: `${folder}/bundle`, base });
    await tryOut(executable);
    await moveTo(options.output, executable);
    const megabytes = ((await Deno.stat(options.output)).size / 1_000_000).toFixed(1);
    print(Deno.stdout, `Bundled ${contents.packages.map(described).join(", ")}\n`);
    print(Deno.stdout, `${options.output}: ${megabytes} MB, on ${base.name}\n`);
    return 0;
  } catch (error) {
    print(Deno.stderr, `${error instanceof Error ? error.message : error}\n`);
    return 1;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function refuseUnlessRelease(contents: BundleContents): void {
  const problem = releaseProblem(contents);
  if (problem !== undefined) throw new Error(`Cannot make a release of the bundle: ${problem}`);
}

/** What a package is, where its name does not say it. */
function described(name: string): string {
  return name.startsWith("npm:deno-std@")
    ? `${name} (an unofficial repack of @std on npm; no release holds it)`
    : name;
}

/** An executable that does not say its version is none. */
async function tryOut(executable: string): Promise<void> {
  const { stdout, stderr } = await new Deno.Command(executable, {
    args: ["--version"],
    clearEnv: true,
    env: { PATH: "/none" },
  }).output();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  if (said === `claude-print ${deno.version}\n`) return;
  throw new Error(`Cannot use the executable: to --version it says ${JSON.stringify(said)}`);
}

/** Puts a file in place, whole or not at all. */
async function moveTo(output: string, from: string): Promise<void> {
  await Deno.mkdir(dirname(output), { recursive: true });
  const part = join(dirname(output), `.${basename(output)}.${Deno.pid}`);
  await Deno.copyFile(from, part);
  await Deno.rename(part, output);
}

function print(stream: { writeSync(bytes: Uint8Array): number }, text: string): void {
  stream.writeSync(new TextEncoder().encode(text));
}

Deno.exitCode = await main();
