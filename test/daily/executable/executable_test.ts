import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { bundleContents } from "../../../.github/scripts/bundle_contents.ts";
import { PERMISSIONS } from "../../../.github/scripts/permissions.ts";
import { releaseProblem } from "../../../.github/scripts/release_problem.ts";
import deno from "../../../deno.json" with { type: "json" };
import { denoDir } from "../../../fixtures/programs/deno_dir.ts";
import { npmRuntime } from "../../../fixtures/programs/npm_runtime.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../../program/stand_in.ts";
import { runInTerminal } from "../../program/terminal_run.ts";
import { startProgram } from "../../start_program.ts";
import { compile } from "./compile.ts";
import { linkOrCopy, run } from "./link_or_copy.ts";
import { NOWHERE } from "../../nowhere.ts";

const ROOT = new URL("../../..", import.meta.url).pathname;

/** Whether @std comes from the packages of `fixtures/std`; CI has dropped them here and there, as for a release. */
const LINKED = Object.hasOwn(deno, "links");

/** What a checkout needs to be compiled. */
const SOURCES = [
  ...["deno.json", "deno.lock", "ffi", "src", ".github/scripts", "fixtures/programs"],
  ...Object.hasOwn(deno, "links") ? ["fixtures/std"] : [],
];

/** All packages that are bundled. */
const PACKAGES = [
  ...LINKED ? [] : ["jsr:@std/jsonc@1.0.2", "jsr:@std/streams@1.1.2"],
  "npm:@xterm/headless@6.0.0",
  "npm:ajv@8.20.0",
  ...LINKED ? ["npm:deno-std@1.4.0"] : [],
  "npm:fast-deep-equal@3.1.3",
  "npm:fast-uri@3.1.9",
  "npm:json-schema-traverse@1.0.0",
  "npm:zod@4.6.7",
];

/** Most bytes the program may add to its runtime. */
const MAX_ADDED = 4_000_000;

/** The sources in another folder, with other times, and with another Deno cache that holds the same packages. */
async function copyOfSources(folder: string) {
  const root = `${folder}/elsewhere/deep/down`;
  for (const parent of [".github", "fixtures"]) {
    await Deno.mkdir(`${root}/${parent}`, { recursive: true });
  }
  for (const path of SOURCES) await run("cp", ["-r", `${ROOT}/${path}`, `${root}/${path}`]);
  await run("find", [root, "-exec", "touch", "-d", "2001-02-03", "{}", "+"]);
  await Deno.symlink(`${ROOT}/.cache`, `${root}/.cache`);
  await Deno.mkdir(`${folder}/cache/dl`, { recursive: true });
  for (const name of ["npm", ...LINKED ? [] : ["remote"]]) {
    await linkOrCopy(`${await denoDir()}/${name}`, `${folder}/cache/${name}`);
  }
  for (const { name } of Deno.readDirSync(`${await denoDir()}/dl`)) {
    // The bundler, but not the official runtime.
    if (name === "release") continue;
    await linkOrCopy(`${await denoDir()}/dl/${name}`, `${folder}/cache/dl/${name}`);
  }
  return { root, env: { DENO_DIR: `${folder}/cache` } };
}

/** What the compiler has put behind the runtime, as text. */
async function addedTo(executable: string): Promise<string> {
  const { size } = await Deno.stat((await npmRuntime()).base);
  return new TextDecoder("latin1").decode((await Deno.readFile(executable)).subarray(size));
}

Deno.test("the executable", async (t) => {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "executable-" }));
  const executable = `${folder}/claude-print`;
  try {
    await t.step("is compiled by the script", async () => {
      const made = await compile({ args: ["--base", "npm", "--output", executable] });
      // What a first run downloads is told.
      assertMatch(made.stderr, /^(?:Downloading .+ from npm \(\d+ MB, once\) …\n)*$/u);
      assertEquals(made.code, 0);
      assertMatch(made.stdout, /: \d+\.\d MB, on npm.s Deno \d+\.\d+\.\d+\n$/u);
      const { mode } = await Deno.stat(executable);
      assertEquals((mode ?? 0) & 0o777, 0o755);
    });

    await t.step(
      "is the same from another runtime source",
      async () => {
        const { root, env } = await copyOfSources(folder);
        const options = { root, env, offline: true };
        const args = ["--output", `${folder}/other`];
        const made = await compile({ ...options, args });
        assertEquals(made.code, 0, made.stderr);
        assertEquals(
          made.stderr,
          `Cannot download the official runtime of Deno ${Deno.version.deno}: https://dl.deno.land ` +
            "cannot be reached; taking one out of npm, for tests only\n",
        );
        const packages = PACKAGES.join(", ")
          .replace(
            /npm:deno-std@[\d.]+/u,
            "$& (an unofficial repack of @std on npm; no release holds it)",
          );
        assertEquals(made.stdout.split("\n")[0], `Bundled ${packages}`);
        await run("cmp", [executable, `${folder}/other`]);
      },
    );

    await t.step({
      name: "is no release with a repack of @std in it",
      ignore: !LINKED,
      fn: async () => {
        const made = await compile({
          args: ["--base", "official", "--output", `${folder}/release`],
        });
        assertEquals([made.code, made.stdout], [2, ""]);
        assertMatch(made.stderr, /^Cannot make a release here: links .* deno-std,\nan unofficial/u);
      },
    });

    await t.step("holds what is imported and nothing of the machine", async () => {
      const added = await addedTo(executable);
      assert(added.length < MAX_ADDED, `${added.length} bytes`);
      const names = [...added.matchAll(/"n":"([^"]+)"/gu)].map(([, name = ""]) => name);
      for (
        const name of ["main.js", "run_command-1.js", "doctor_command-1.js", "parse_command-1.js"]
      ) {
        assert(names.includes(name), name);
      }
      assertEquals(names.filter((name) => !name.endsWith(".js")), []);
      const contents = bundleContents(added);
      assertEquals(contents.packages, PACKAGES);
      for (const file of contents.files) assert((await Deno.stat(`${ROOT}/${file}`)).isFile, file);
      assertEquals(releaseProblem(contents), LINKED ? "it holds npm:deno-std@1.4.0" : undefined);
      for (const path of [ROOT, folder, await denoDir()]) assert(!added.includes(path), path);
    });

    await t.step("may do what is listed, and no more", async () => {
      const granted = /"permissions":(\{.*?\}),"location"/u.exec(await addedTo(executable))?.[1];
      const { prompt, deny_import: denied, ...rest } = JSON.parse(granted ?? "null");
      assertEquals([prompt, denied], [false, []]);
      const flags = Object.entries(rest).flatMap(([name, values]) =>
        !name.startsWith("allow_") || name === "allow_import" || !Array.isArray(values) ? [] : [
          `--${[name.replace("_", "-"), ...values.length > 0 ? [values.join(",")] : []].join("=")}`,
        ]
      );
      assertEquals(flags.toSorted(), PERMISSIONS.map(({ flag }) => flag).toSorted());
    });

    await t.step("needs no home and leaves nothing behind", async () => {
      const [home, tmp] = [`${folder}/home`, `${folder}/tmp`];
      for (const path of [home, tmp]) await Deno.mkdir(path, { mode: 0o500 });
      const say = async (args: readonly string[], env: Readonly<Record<string, string>>) =>
        await startProgram([executable, ...args], { env: { PATH: NOWHERE, ...env }, cwd: "/" })
          .ended;
      const version = `claude-print ${deno.version}\n`;
      for (const env of [{}, { HOME: home, TMPDIR: tmp }, { HOME: "/dev/null" }]) {
        assertEquals(await say(["--version"], env), { code: 0, stdout: version, stderr: "" });
        assertMatch((await say(["--help"], env)).stdout, /^Usage: /mu);
        const typo = await say(["--vresion"], env);
        assertEquals(typo.code, 2);
        assertStringIncludes(typo.stderr, "Did you mean --version?");
      }
      await Deno.chmod(tmp, 0o700);
      const env = { HOME: home, TMPDIR: tmp };
      assertMatch(
        (await say(["doctor", "--offline"], env)).stdout,
        /^ok +fifo .*^ok +leftovers/msu,
      );
      assertEquals((await say(["sweep"], env)).code, 0);
      for (const path of [home, tmp]) assertEquals([...Deno.readDirSync(path)], []);
    });

    await t.step("runs a prompt and reads an unknown screen", async () => {
      await using claude = await StandIn.set({
        dialogs: [{
          lines: ["The moon is full tonight", "", "Do you want to howl?"],
          choices: [{ label: "Howl" }, { label: "Be quiet" }],
          selected: 0,
          numbered: true,
          escape: null,
        }],
      });
      const names = () =>
        [...Deno.readDirSync(claude.home.path)].map(({ name }) => name).toSorted();
      const before = names();
      const wrap = (command: readonly string[]) => [
        executable,
        ...command.slice(CLAUDE_PRINT.length),
      ];
      const stuck = await claude.print(["hello"], { wrap });
      assertEquals([stuck.code, stuck.stdout], [2, ""]);
      assertStringIncludes(stuck.stderr, "The moon is full tonight");
      const env = { MOCK_CLAUDE_SCENARIO: "{}" };
      const answered = await claude.print(["hello"], { wrap, env });
      assertEquals([answered.code, answered.stdout, answered.stderr], [
        0,
        "Hello from the stand-in.\n",
        "",
      ]);
      assertEquals(names().filter((name) => name !== "journal"), before);
    });

    /** Runs a prompt by a command that puts a limit on what it is given, of which nothing may be left. */
    const printLimited = async (claude: StandIn, limit: readonly string[]) => {
      const ended = await claude.print(["hello"], {
        wrap: (command) => [...limit, executable, ...command.slice(CLAUDE_PRINT.length)],
        killed: true,
      });
      assertEquals(await leftovers(claude.home), [], limit.join(" "));
      return ended;
    };

    await t.step("names a limit of the size of files", async () => {
      await using claude = await StandIn.set();
      const limit = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh"];
      const { code, stderr } = await printLimited(claude, limit);
      assertEquals(code, 2);
      assertMatch(stderr, /: File too large .*\n {2}Raise the limit .*: ulimit -f\n$/u);
    });

    await t.step("reports a missing permission without question or stack", async () => {
      await using claude = await StandIn.set();
      const command = [executable, "--claude-binary", claude.binary, "hello"];
      const size = { rows: 24, cols: 200 };
      // What lies there is read through libc, and what is written is not.
      const { env } = claude.home;
      const { exit } = await runInTerminal(command, { size, cwd: "/dev", env });
      assertEquals(exit, { kind: "exited", code: 0 });
      const denied = await runInTerminal(command, {
        size,
        cwd: claude.home.project,
        env: { ...env, TMPDIR: "/dev/shm" },
      });
      assertEquals(denied.exit, { kind: "exited", code: 2 });
      assertEquals(
        denied.output,
        "claude-print: Cannot create a private folder in /dev/shm: " +
          "Deno does not let this program write there\r\n" +
          "  Set TMPDIR to a folder you can write to\r\n",
      );
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
