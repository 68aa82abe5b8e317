import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "node:path";
import { denoDir } from "../../../../fixtures/programs/deno_dir.ts";
import {
  askVersion,
  cachedVersion,
  supportedVersionIn,
} from "../../../../src/claude/program/claude_version.ts";
import { findClaude } from "../../../../src/claude/program/find_claude.ts";
import { isVersionAtLeast } from "../../../../src/claude/versions/compare_versions.ts";
import { CliError } from "../../../../src/cli_error.ts";
import { NOWHERE } from "../../../nowhere.ts";
import { OTHER_USER_LACK } from "../../../other_user.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";
import { tempFolder } from "../../../temp_folder.ts";

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  using temp = tempFolder();
  const folder = temp.path;
  await use(folder);
}

Deno.test("an executable is found as a shell finds it", async () => {
  await inFolder(async (dir) => {
    for (const name of ["bin", "plain"]) await Deno.mkdir(`${dir}/${name}`);
    await Deno.writeTextFile(`${dir}/bin/claude`, "#!/bin/sh\n", { mode: 0o755 });
    await Deno.writeTextFile(`${dir}/plain/claude`, "text", { mode: 0o644 });
    const found: readonly (readonly [string | undefined, string | undefined, string])[] = [
      [undefined, `${NOWHERE}:${dir}/plain:${dir}/bin`, "/"],
      ["bin/claude", undefined, dir],
      ["claude", "bin", dir],
      [undefined, "", `${dir}/bin`],
    ];
    for (const [named, path, cwd] of found) {
      const env = path === undefined ? {} : { PATH: path };
      assertEquals(findClaude({ named, env, cwd }), `${dir}/bin/claude`);
    }
    const lacking: readonly (readonly [string | undefined, string, string])[] = [
      [undefined, NOWHERE, '"claude" is not on PATH'],
      [undefined, `${dir}/plain`, "is not an executable file"],
      ["./missing", "", '"./missing" does not exist'],
      ["plain/claude", "", "is not an executable file"],
      [`${dir}/bin`, "", "is not an executable file"],
    ];
    for (const [named, path, why] of lacking) {
      assertThrows(() => findClaude({ named, env: { PATH: path }, cwd: dir }), CliError, why);
    }
  });
});

Deno.test("a program is asked for its version once, scripts again", async () => {
  await inFolder(async (cwd) => {
    const binary = `${cwd}/claude`;
    let asked = 0;
    const ask = () => Promise.resolve(`9.1.${++asked}`);
    const twice = async (
      options = {},
      env: Readonly<Record<string, string>> = { A: "a", B: "b" },
    ) => [
      await cachedVersion(binary, env, { cwd, ask, ...options }),
      await cachedVersion(binary, Object.fromEntries(Object.entries(env).toReversed()), {
        ...{ cwd, ask, ...options },
      }),
    ];
    await Deno.writeTextFile(binary, "one");
    assertEquals(await twice(), ["9.1.1", "9.1.1"]);
    await Deno.writeTextFile(`${cwd}/next`, "two and more");
    await Deno.rename(`${cwd}/next`, binary);
    assertEquals(await twice(), ["9.1.2", "9.1.2"]);
    assertEquals(await twice({}, { A: "c" }), ["9.1.3", "9.1.3"]);
    await Deno.writeTextFile(binary, "#!/bin/sh");
    assertEquals(await twice(), ["9.1.4", "9.1.5"]);
    assertEquals(await twice({ trustsScripts: true }), ["9.1.6", "9.1.6"]);
  });
});

Deno.test("a version before the support window is refused", async () => {
  await inFolder(async (cwd) => {
    const binary = `${cwd}/claude`;
    const known = (version?: string) =>
      cachedVersion(binary, {}, { cwd, ask: () => Promise.resolve(version) });
    for (const content of ["one", "#!/bin/sh"]) {
      await Deno.writeTextFile(binary, content);
      await assertRejects(
        () => known("2.1.284"),
        CliError,
        "Claude Code 2.1.284 is too old: claude-print needs 2.1.285 or newer",
      );
    }
    assertEquals(await known(), undefined);
  });
});

Deno.test("versions are compared as numbers and read from paths", () => {
  const compared: readonly (readonly [string, string, boolean])[] = [
    ["2.1.330", "2.1.330", true],
    ["2.1.99", "2.1.330", false],
    ["2.10.0", "2.9.9", true],
    ["3.0.0", "2.1.330", true],
    ["2.1", "2.1.1", false],
    ["2.1.330-beta.1", "2.1.330", true],
    ["", "2.1.168", false],
    ["nonsense", "0.0.0", true],
  ];
  for (const [version, minimum, isAtLeast] of compared) {
    assertEquals(isVersionAtLeast(version, minimum), isAtLeast, `${version} >= ${minimum}`);
  }
  const paths = {
    "versions/2.1.285": "2.1.285",
    "2.1.332/claude": "2.1.332",
    "2.1.332/other": undefined,
    "versions/2.1.284": undefined,
    "claude": undefined,
  };
  for (const [path, version] of Object.entries(paths)) {
    assertEquals(supportedVersionIn(`/x/${path}`), version, path);
  }
});

Deno.test("another program has no version", async () => {
  assertEquals(await askVersion("/bin/true", {}), undefined);
  assertEquals(await askVersion("/nonexistent", {}), undefined);
});

const ROOT = join(import.meta.dirname ?? ".", "../../../..");
const CONFIG = `--config=${ROOT}/deno.json`;

/** Prints the version of a program, twice: the second time this process may start no other. */
const SAY_VERSION_UNDER_LIMIT = `
import { askVersion } from "file://${ROOT}/src/claude/program/claude_version.ts";
const say = (text) => Deno.stdout.writeSync(new TextEncoder().encode(text + "\\n"));
say(String(await askVersion("/bin/true", {})));
const limit = ["--pid", String(Deno.pid), "--nproc=1"];
new Deno.Command("prlimit", { args: limit }).outputSync();
say(await askVersion("/bin/true", {}).then(String, (error) => error.message));
`;

Deno.test(skipIfLacking(OTHER_USER_LACK, {
  name: "too many processes are an error, not an unknown version",
  fn: async () => {
    await inFolder(async (folder) => {
      await Deno.chmod(folder, 0o755);
      await Deno.writeTextFile(`${folder}/say.ts`, SAY_VERSION_UNDER_LIMIT);
      // A user who has no other processes, and may do what root may in the folders of this program.
      const user = ["--reuid", `${55_000 + Deno.pid % 5000}`, "--clear-groups"];
      const rights = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"];
      const script = ["run", "-A", "--quiet", "--no-check", CONFIG, "--frozen", `${folder}/say.ts`];
      const env = { DENO_DIR: await denoDir() };
      const sayVersions = async () => {
        const { stdout } = await new Deno.Command("setpriv", {
          args: [...user, ...rights, Deno.execPath(), ...script],
          env,
          stdin: "null",
          stderr: "null",
        }).output();
        return new TextDecoder().decode(stdout).split("\n");
      };
      // Deno itself aborts if it needs another thread just then: about one run in sixty.
      let said = await sayVersions();
      for (let retries = 0; said.length < 3 && retries < 20; retries++) said = await sayVersions();
      const error = "Cannot start claude: there are as many processes as there may be";
      assertEquals(said, ["undefined", error, ""]);
    });
  },
}));
