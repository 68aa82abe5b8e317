import { join, resolve } from "node:path";

const ROOT = join(import.meta.dirname ?? ".", "..");

/** As the shim and the units of systemd have it, which start this program over and over. */
const LATE = "--unstable-lazy-dynamic-imports";
/** Where many begin at once Deno cannot open its cache of code, and says so on stderr. */
const UNCACHED = "--no-code-cache";
/** What that cache is to hold all functions for, as the shim and the units have it too. */
const EAGER = "--v8-flags=--no-lazy";

/** The sources of this checkout as a command, without its arguments: what is to run with a module of a test's. */
export const CLAUDE_PRINT_SOURCES: readonly string[] = [
  ...[Deno.execPath(), "run", "-A", "--quiet", UNCACHED, LATE, "--frozen"],
  ...["--config", `${ROOT}/deno.json`, `${ROOT}/src/main.ts`],
];

/**
 * `claude-print` as a command, without its arguments: the executable that the variable CLAUDE_PRINT names, as seen
 * from the root of this checkout, or else its sources, which the whole suite has bundled.
 */
export const CLAUDE_PRINT: readonly string[] = claudePrint(Deno.env.get("CLAUDE_PRINT_BUNDLE"));

/** The same as users start it, with Deno's cache of code: for what is measured, where few begin at once. */
export const CLAUDE_PRINT_CACHED: readonly string[] = CLAUDE_PRINT.map((word) =>
  word === UNCACHED ? EAGER : word
);

/** The same, where the bundle is at a path. */
export function claudePrint(bundled: string | undefined): readonly string[] {
  return executable(Deno.env.get("CLAUDE_PRINT")) ?? bundle(bundled) ?? CLAUDE_PRINT_SOURCES;
}

/** Writes `claude-print` as those can start it who know of a path alone: one program without arguments of its own. */
export async function writeClaudePrint(
  path: string,
  { claude, command = CLAUDE_PRINT }: {
    readonly claude: string;
    readonly command?: readonly string[];
  },
): Promise<void> {
  const words = [...command, "--claude-binary", claude].map((word) => `'${word}'`).join(" ");
  await Deno.writeTextFile(path, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
}

function bundle(path: string | undefined): readonly string[] | undefined {
  if (path === undefined) return undefined;
  return [Deno.execPath(), "run", "-A", "--quiet", UNCACHED, LATE, "--no-config", path];
}

function executable(named: string | undefined): readonly string[] | undefined {
  if (named === undefined || named === "") return undefined;
  const path = resolve(ROOT, named);
  const problem = problemOf(path);
  if (problem === undefined) return [path];
  throw new Error(
    `Cannot test CLAUDE_PRINT=${named}: ${path} ${problem}; deno task compile makes one`,
  );
}

function problemOf(path: string): string | undefined {
  try {
    const { isFile, mode } = Deno.statSync(path);
    return isFile && ((mode ?? 0) & 0o111) !== 0 ? undefined : "is not an executable file";
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "does not exist" : `${error}`;
  }
}
