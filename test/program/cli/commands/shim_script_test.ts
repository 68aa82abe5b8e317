import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { FLAGS } from "../../../../src/cli/arguments/flags.ts";
import { parseArguments } from "../../../../src/cli/arguments/parse_arguments.ts";
import { shimScript } from "../../../../src/cli/commands/shim_command.ts";
import { UnsupportedError } from "../../../../src/cli_error.ts";
import { findTool, missingTool } from "../../../missing_tool.ts";
import { type ProgramOutput, startProgram } from "../../../start_program.ts";
import { writeScript } from "../../../write_script.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";

/** Shells that people have as /bin/sh. */
const SHELLS = [["sh"], ["dash"], ["bash", "--posix"], ["busybox", "sh"]];

/** A shim between two programs that say how they were called. */
interface Ground extends AsyncDisposable {
  readonly path: string;
  /** PATH with the shim's folder first. */
  readonly search: string;
  /** Calls the shim. */
  readonly start: (args: readonly string[], options?: CallOptions) => Promise<ProgramOutput>;
  /** Calls the shim: which program answered, and with what arguments. */
  readonly call: (
    args: readonly string[],
    options?: CallOptions,
  ) => Promise<{ readonly who: string; readonly args: readonly string[]; readonly stderr: string }>;
}

interface CallOptions {
  /** The shell that runs the shim; by default the one that it names. */
  readonly shell?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

async function ground(): Promise<Ground> {
  const path = await Deno.makeTempDir({ prefix: "shim it's " });
  const teller = (who: string) => `#!/bin/sh\nprintf '%s\\0' ${who} "$@"\n`;
  for (const folder of ["shim", "real"]) await Deno.mkdir(`${path}/${folder}`);
  await writeScript(`${path}/claude-print`, teller("claude-print"));
  await writeScript(`${path}/real/claude`, teller("claude"));
  const script = shimScript({ claudePrint: [`${path}/claude-print`] });
  await writeScript(`${path}/shim/claude`, script);
  const search = `${path}/shim:/nowhere::${path}/real:/usr/bin:/bin`;
  const start: Ground["start"] = (args, { shell = [], env = {} } = {}) =>
    startProgram([...shell, `${path}/shim/claude`, ...args], {
      env: { PATH: search, ...env },
      cwd: path,
    }).ended;
  return {
    path,
    search,
    start,
    call: async (args, options) => {
      const { stdout, stderr } = await start(args, options);
      const [who = "", ...given] = stdout.split("\0").slice(0, -1);
      return { who, args: given, stderr };
    },
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

const SDK = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

/** Command lines, and whether claude would print. */
const CALLS: readonly (readonly [boolean, readonly string[]])[] = [
  [false, []],
  [false, ["hello"]],
  [true, ["-p"]],
  [true, ["--print", "hello"]],
  [true, ["--model", "opus", "-p", "hello"]],
  [true, ["hello", "-p"]],
  [true, ["-pc"]],
  [true, ["-cp", "hello"]],
  [false, ["-rp"]],
  [false, ["-dp"]],
  [false, ["--append-system-prompt", "-p", "hello"]],
  [false, ["--append-system-prompt", "--print"]],
  [true, ["--allowedTools", "Bash", "Edit", "-p", "hello"]],
  [false, ["--", "-p"]],
  [false, ["explain -p"]],
  [true, SDK],
  [true, ["--output-format=stream-json", "--input-format=stream-json"]],
  [false, ["--output-format", "stream-json"]],
  [false, ["--output-format", "json", "hello"]],
  [false, ["mcp", "add", "-p", "x"]],
  [false, ["update", "-p"]],
  [true, ["-p", "update"]],
  [false, ["--version"]],
  [false, ["-p", "-v"]],
  [false, ["-p", "--help"]],
  [true, ["-p", "", " two  words ", "new\nline", "'quoted\"", "$HOME `id` *"]],
  [true, ["-p", "--output-format"]],
  [false, ["--model"]],
];

for (const shell of SHELLS) {
  const [program = "", ...options] = shell;
  const command = [findTool(program) ?? program, ...options];
  Deno.test(skipIfLacking(missingTool(program), {
    name: `the shim knows print mode under ${shell.join(" ")}`,
    fn: async () => {
      await using claude = await ground();
      for (const [prints, args] of CALLS) {
        const real = `${claude.path}/real/claude`;
        assertEquals(
          await claude.call(args, { shell: command }),
          prints
            ? { who: "claude-print", args: ["--shim-for", real, ...args], stderr: "" }
            : { who: "claude", args, stderr: "" },
          args.join(" "),
        );
      }
    },
  }));
}

Deno.test("the shim reads command lines as claude-print does", async () => {
  await using claude = await ground();
  const flags = FLAGS.flatMap(({ name, aliases }) => [name, ...aliases])
    .filter((flag) => !["-h", "--help", "-v", "--version"].includes(flag));
  const word = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom("-p", "--print", "-cp", "--") },
    { weight: 3, arbitrary: fc.constantFrom(...flags) },
    { weight: 2, arbitrary: fc.constantFrom("word", "stream-json", "-", "") },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 6 }), async (args) => {
      const { who } = await claude.call(args);
      assertEquals(who === "claude-print", printsBy(args), JSON.stringify(args));
    }),
    { numRuns: 150 },
  );
});

/** Whether a command line asks to print, by the rules of `parseArguments`: each argument that it takes for a flag. */
function printsBy(argv: readonly string[]): boolean {
  const rest = [...argv];
  let prints = false;
  const formats = new Map<string, string>();
  const byName = new Map(
    FLAGS.flatMap((flag) => [flag.name, ...flag.aliases].map((a) => [a, flag])),
  );
  for (let word = rest.shift(); word !== undefined && word !== "--"; word = rest.shift()) {
    const flag = byName.get(word);
    if (word === "-cp" || flag?.name === "--print") prints = true;
    if (flag?.value === "required" || flag?.value === "variadic") {
      formats.set(flag.name, rest.shift() ?? "");
    }
  }
  const streams = ["--input-format", "--output-format"]
    .every((name) => formats.get(name) === "stream-json");
  return prints || streams;
}

Deno.test("CLAUDE_PRINT_SHIM=off turns the shim off, and nothing else does", async () => {
  await using claude = await ground();
  const who = async (value: string) =>
    (await claude.call(["-p", "x"], { env: { CLAUDE_PRINT_SHIM: value } })).who;
  assertEquals([await who("off"), await who(""), await who("on")], [
    "claude",
    "claude-print",
    "claude-print",
  ]);
});

Deno.test("the shim never takes a shim for claude", async () => {
  await using claude = await ground();
  await Deno.mkdir(`${claude.path}/second`);
  await Deno.copyFile(`${claude.path}/shim/claude`, `${claude.path}/second/claude`);
  await Deno.mkdir(`${claude.path}/third`);
  await Deno.symlink(`${claude.path}/shim/claude`, `${claude.path}/third/claude`);
  const env = { PATH: `${claude.path}/second:${claude.path}/third:${claude.search}` };
  assertEquals((await claude.call(["hello"], { env })).who, "claude");
});

Deno.test("the shim takes a binary for the real claude", async () => {
  await using claude = await ground();
  await Deno.copyFile("/bin/echo", `${claude.path}/real/claude`);
  await Deno.chmod(`${claude.path}/real/claude`, 0o755);
  assertEquals((await claude.start(["interactive"])).stdout, "interactive\n");
});

Deno.test("the shim passes on variables named as its own", async () => {
  await using claude = await ground();
  const teller = '#!/bin/sh\necho "$print $claude $first $rest $folder $input"\n';
  await writeScript(`${claude.path}/real/claude`, teller);
  const env = { print: "a", claude: "b", first: "c", rest: "d", folder: "e", input: "f" };
  assertEquals((await claude.start(["hello"], { env })).stdout, "a b c d e f\n");
});

Deno.test("the shim reports that there is no real claude", async () => {
  await using claude = await ground();
  const env = { PATH: `${claude.path}/shim` };
  const { code, stderr } = await claude.start(["-p", "x"], { env });
  assertEquals(code, 127);
  assertEquals(
    stderr.split("\n")[0],
    "claude: Cannot start claude: only the shim of claude-print is on PATH",
  );
});

Deno.test("refused and unknown flags differ from mistakes", async () => {
  const errorOf = (argv: readonly string[]) =>
    parseArguments(argv).catch((error: unknown) => error);
  assertEquals(await errorOf(["--prompt-suggestions"]) instanceof UnsupportedError, true);
  assertEquals(await errorOf(["--newer-flag"]) instanceof UnsupportedError, true);
  assertEquals(await errorOf(["--timeout", "x"]) instanceof UnsupportedError, false);
});
