import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startProgram } from "../../start_program.ts";
import { fakeProgram, INSTALLER, type Newcomer } from "./newcomer.ts";
import type { Shell } from "../../shells.ts";
import { testUnderShells } from "./test_under_shells.ts";

/** Runs the installer after a line of its shell. */
async function installAfter(
  line: string,
  { user, shell, args }: {
    readonly user: Newcomer;
    readonly shell: Shell;
    readonly args: readonly string[];
  },
) {
  return await user.install(args, { wrap: [...shell.command, "-c", line, "sh"] });
}

/** Redirections, and whether stdout and stderr are open then. */
const CLOSED: readonly (readonly [redirection: string, stdout: boolean, stderr: boolean])[] = [
  ["<&-", true, true],
  [">&-", false, true],
  ["2>&-", true, false],
  ["2</dev/null", true, false],
  ["<&- >&- 2>&-", false, false],
];

testUnderShells("closed standard streams are no error", async (user, shell) => {
  const args = ["--from", await user.release(fakeProgram())];
  const before = await user.tree();
  for (const [redirection, out, err] of CLOSED) {
    const run = (args: readonly string[]) =>
      installAfter(`exec "$@" ${redirection}`, { user, shell, args });
    const installed = await run(args);
    const warnings = err ? installed.stderr : installed.stdout;
    const printed = [
      installed.stdout.includes("Installed claude-print 0.1.0: "),
      warnings.includes("install.sh: Warning: there is no claude"),
    ];
    assertEquals([installed.code, ...printed], [0, out, out || err], redirection);
    assertEquals((await user.tree())[".local/bin/claude-print"], `755 ${fakeProgram()}`);
    assertEquals((await run(["--uninstall"])).code, 0, redirection);
    assertEquals(await user.tree(), before, redirection);
    const refused = await run(["--nonsense"]);
    const cause = err ? refused.stderr : refused.stdout;
    assertEquals([refused.code, cause.startsWith("install.sh: install.sh does not take")], [
      2,
      out || err,
    ]);
  }
});

/** Variables that are refused, and the error. */
const BAD_PATHS: readonly (readonly [Readonly<Record<string, string | undefined>>, string])[] = [
  [{ HOME: undefined }, "Cannot find a folder to install to: HOME is not set"],
  [{ HOME: "" }, "Cannot find a folder to install to: HOME is not set"],
  [{ HOME: "/" }, "Cannot find a folder to install to: HOME is /"],
  [
    { HOME: "home" },
    'Cannot find a folder to install to: HOME is "home", which is no absolute path',
  ],
  [{ XDG_DATA_HOME: "data" }, 'Cannot use XDG_DATA_HOME: "data" is no absolute path'],
  [{ XDG_CONFIG_HOME: "./c" }, 'Cannot use XDG_CONFIG_HOME: "./c" is no absolute path'],
  [{ ZDOTDIR: "../z" }, 'Cannot use ZDOTDIR: "../z" is no absolute path'],
];

testUnderShells("relative paths in the environment are refused", async (user) => {
  const args = ["--from", await user.release(fakeProgram())];
  for (const [env, problem] of BAD_PATHS) {
    for (const action of [args, ["--uninstall"]]) {
      const { code, stdout, stderr } = await user.install(action, { env });
      assertEquals([code, stdout], [1, ""]);
      assertMatch(stderr, /^install\.sh: .*\n {2}S.*\n$/u);
      assertStringIncludes(stderr, `install.sh: ${problem}\n`);
    }
  }
  assertEquals(await user.tree(), {});
  const env = { HOME: "home", XDG_DATA_HOME: "data" };
  const prefixed = await user.install([...args, "--prefix", `${user.home}/opt`], { env });
  assertEquals(prefixed.code, 0);
  const names = [...Deno.readDirSync(user.path)].map(({ name }) => name);
  assertEquals(names.toSorted(), ["home", "release", "tools"]);
});

testUnderShells("modes do not depend on the umask", async (user, shell) => {
  const args = ["--from", await user.release(fakeProgram())];
  const before = await user.tree();
  for (const [umask, folders] of [["000", 0o755], ["077", 0o700], ["777", 0o700]]) {
    const { code } = await installAfter(`umask ${umask}; exec "$@"`, { user, shell, args });
    assertEquals(code, 0);
    const tree = await user.tree();
    assertEquals(tree[".local/bin/claude-print"]?.slice(0, 4), "755 ");
    assertEquals(tree[".needle/agents/claude-print.yaml"]?.slice(0, 4), "644 ");
    for (const folder of [".local", ".local/share/claude-print", ".needle/agents"]) {
      const { mode } = await Deno.stat(`${user.home}/${folder}`);
      assertEquals((mode ?? 0) & 0o777, folders, `${umask}: ${folder}`);
    }
    assertEquals((await user.install(["--uninstall"])).code, 0);
    assertEquals(await user.tree(), before);
  }
}, { newcomer: { folders: [".needle"] } });

testUnderShells("a folder that every user can write to is refused", async (user) => {
  const args = ["--from", await user.release(fakeProgram())];
  await Deno.chmod(`${user.home}/.local/bin`, 0o777);
  const { code, stderr } = await user.install(args);
  assertEquals(code, 1);
  assertMatch(
    stderr,
    /^install\.sh: Cannot install to .*: every user may replace files .*\n.*\n$/u,
  );
  assertEquals(await user.tree(), { ".local/": "", ".local/bin/": "" });
  for (const mode of [0o1777, 0o775]) {
    await Deno.chmod(`${user.home}/.local/bin`, mode);
    assertEquals((await user.install(args)).code, 0);
  }
}, { newcomer: { folders: [".local/bin"] }, once: true });

testUnderShells("variables of the shell change nothing", async (user, shell) => {
  const args = ["--from", await user.release(fakeProgram())];
  const trap = `${user.path}/trap`;
  await Deno.writeTextFile(trap, `: >"${user.path}/ran"\n`);
  const names = "stage made committed child old record target bin data self from wanted force";
  const env = {
    ...{ IFS: "/-.ael", ENV: trap, CDPATH: user.home, POSIXLY_CORRECT: "1" },
    ...Object.fromEntries(names.split(" ").map((name) => [name, "strange"])),
  };
  const plain = await user.install(args);
  const tree = await user.tree();
  await user.install(["--uninstall"]);
  assertEquals(await user.install(args, { env }), plain);
  assertEquals(await user.tree(), tree);
  const [program = "", ...flags] = shell.command;
  const traced = await startProgram([program, ...flags, "-x", INSTALLER, "--uninstall"], {
    env: { ...env, HOME: user.home, PATH: user.tools },
    cwd: user.path,
  }).ended;
  assertEquals([traced.code, traced.stdout], [0, `Removed ${user.target}\n`], traced.stderr);
  assertEquals(await user.tree(), {});
  assert(!await Deno.stat(`${user.path}/ran`).then(() => true, () => false));
});
