/**
 * `deno task test`, see {@linkcode HELP}: downloads what the tests need from npm, removes the homes of tests that were
 * killed, bundles the programs that tests start hundreds of times, and runs `deno test`.
 *
 * @module
 */
import { bundledPrograms } from "../fixtures/programs/bundled_programs.ts";
import { CLAUDE_VERSIONS, claudeBinary } from "../fixtures/programs/claude_binary.ts";
import { denoDir } from "../fixtures/programs/deno_dir.ts";
import { sweepHomes } from "../fixtures/throwaway_home.ts";
import { isPure, SLOW_FOLDERS } from "./layers.ts";

const HELP = `deno task test [OPTION…] [PATH…] [FLAG of deno test…]

Runs the default suite: all tests but those below test/daily.

  --fast            run the pure tests alone, which start no program
  --all             run the tests below test/daily too
  --changed [BASE]  run the pure tests that import a file which differs from BASE, a git revision (default: HEAD)
  --repeat N        run each test N times
`;

const ROOT = new URL("..", import.meta.url).pathname;

/** The programs that tests start, and the variable that names the bundle of each. */
const BUNDLES = {
  CLAUDE_PRINT_BUNDLE: "src/main.ts",
  LIBRARY_BUNDLE: "src/library/mod.ts",
  MOCK_CLAUDE_BUNDLE: "fixtures/mock-claude.ts",
};

const DENO_TEST = [
  ...["test", "-A", "--frozen", "--no-check", "--parallel", "--config", "deno.json"],
  // A file loads only what it runs.
  "--unstable-lazy-dynamic-imports",
  ...["--sanitize-ops", "--sanitize-resources", "--preload", "./test/limit_tests.ts"],
];

/** How many files run at the same time, unless DENO_JOBS says: tests wait for other programs two thirds of their time. */
const JOBS = Deno.env.get("DENO_JOBS") ?? `${3 * navigator.hardwareConcurrency}`;

/** Test files below a folder, by their paths from the root. */
function testFiles(folder: string): readonly string[] {
  return [...Deno.readDirSync(`${ROOT}${folder}`)]
    .toSorted((one, other) => one.name < other.name ? -1 : 1)
    .flatMap(({ name, isDirectory }) => {
      if (isDirectory) return testFiles(`${folder}/${name}`);
      return name.endsWith("_test.ts") ? [`${folder}/${name}`] : [];
    });
}

/** Makes one module of the test files of each folder: Deno starts a thread and loads all imports for each file it is given. */
async function groupByFolder(files: readonly string[], into: string): Promise<readonly string[]> {
  const groups = Map.groupBy(files, (file) => file.split("/").slice(1, -1)[0] ?? "checkout");
  return await Promise.all([...groups].map(async ([folder, files]) => {
    const path = `${into}/${folder}_test.ts`;
    await Deno.writeTextFile(path, files.map((file) => `import "${ROOT}${file}";\n`).join(""));
    return path;
  }));
}

function print(stream: { writeSync(bytes: Uint8Array): number }, text: string): void {
  stream.writeSync(new TextEncoder().encode(text));
}

/** Says in a line each what the machine lacks, and for how many tests. */
async function reportLacks(path: string): Promise<void> {
  const lacks = (await Deno.readTextFile(path).catch(() => "")).split("\n").filter(Boolean);
  for (const [lack, tests] of Map.groupBy(lacks, (lack) => lack)) {
    print(
      Deno.stdout,
      `${tests.length} ${tests.length === 1 ? "test" : "tests"} left out, lacking ${lack}\n`,
    );
  }
}

/** Takes a flag out of the arguments, and says whether it was there. */
function takeFlag(args: string[], flag: string): boolean {
  const at = args.indexOf(flag);
  if (at >= 0) args.splice(at, 1);
  return at >= 0;
}

/** Takes a flag with its value out of the arguments; undefined if it is not there, empty if it has no value. */
function takeOption(args: string[], flag: string): string | undefined {
  const at = args.indexOf(flag);
  if (at < 0) return undefined;
  const [, value = ""] = args.splice(at, /^(?:-|$|\.?\/?test\/)/u.test(args[at + 1] ?? "") ? 1 : 2);
  return value;
}

async function main(args: string[]): Promise<number> {
  if (takeFlag(args, "--help")) {
    print(Deno.stdout, HELP);
    return 0;
  }
  const isAll = takeFlag(args, "--all");
  const layers = isAll ? SLOW_FOLDERS : takeFlag(args, "--fast") ? [] : SLOW_FOLDERS.slice(1);
  const base = takeOption(args, "--changed");
  const repeat = takeOption(args, "--repeat");
  const hasPaths = args.some((word) => /^\.?\/?test\//u.test(word));
  const pure = testFiles("test").filter(isPure);
  await sweepHomes();
  const folder = await Deno.makeTempDir({ prefix: "tests-" });
  await using _ = { [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }) };
  const bundles: Record<string, string> = {};
  if (repeat !== undefined) args.push("--repeats", `${Number(repeat) - 1}`);
  if (base !== undefined) args.push(`--changed=${base || "HEAD"}`, ...pure);
  else if (!hasPaths) {
    const programs = layers.flatMap(testFiles);
    if (programs.length > 0) {
      const isNamed = (Deno.env.get("CLAUDE_CODE") ?? "") !== "";
      if (!isNamed) { for (const version of CLAUDE_VERSIONS) await claudeBinary(version); }
      const paths = await bundledPrograms(Object.values(BUNDLES));
      for (const [index, name] of Object.keys(BUNDLES).entries()) {
        bundles[name] = paths[index] ?? "";
      }
    }
    args.push(...programs, ...await groupByFolder(pure, folder));
  }
  const lacks = `${folder}/lacks`;
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [...DENO_TEST, ...args],
    cwd: ROOT,
    env: {
      ...bundles,
      ...(isAll ? { TEST_ALL: "1" } : {}),
      DENO_DIR: await denoDir(),
      DENO_JOBS: JOBS,
      TEST_LACKS: lacks,
    },
  }).spawn().status;
  await reportLacks(lacks);
  return code;
}

Deno.exitCode = await main([...Deno.args]).catch((error) => {
  print(Deno.stderr, `${error instanceof Error ? error.message : error}\n`);
  return 1;
});
