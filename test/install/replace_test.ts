import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fakeProgram, INSTALLER, type Newcomer, sha256 } from "./newcomer.ts";
import { testUnderShells } from "./test_under_shells.ts";

/** A program that leaves a trace when it is run. */
const TRAP = '#!/bin/sh\n: >"${0%/*}/ran"\necho "claude-print 9.9.9"\n';

/** Files at the program's path that no installer wrote. */
const FOREIGN: readonly {
  readonly what: string;
  readonly put: (user: Newcomer) => Promise<void>;
}[] = [
  {
    what: "another program",
    put: async ({ target }) => await Deno.writeTextFile(target, TRAP, { mode: 0o755 }),
  },
  {
    what: "a link to another program",
    put: async ({ path, target }) => {
      await Deno.writeTextFile(`${path}/other`, TRAP, { mode: 0o755 });
      await Deno.symlink(`${path}/other`, target);
    },
  },
  { what: "a link to nothing", put: ({ target }) => Deno.symlink("nowhere", target) },
  {
    what: "the same program that somebody else brought",
    put: async ({ target }) => await Deno.writeTextFile(target, fakeProgram(), { mode: 0o755 }),
  },
];

for (const [index, { what, put }] of FOREIGN.entries()) {
  testUnderShells(
    `${what} is replaced only with --force`,
    async (user) => {
      const file = await user.release(fakeProgram());
      await put(user);
      const before = await user.tree();
      const { code, stderr } = await user.install(["--from", file]);
      assertEquals([code, stderr], [
        1,
        `install.sh: Cannot replace ${user.target}: it was not installed from here, or was changed ` +
        "since\n  Remove it, name another folder with --prefix, or replace it with --force\n",
      ]);
      assertEquals(await user.tree(), before);
      const forced = await user.install(["--from", file, "--force"]);
      assertStringIncludes(
        forced.stdout,
        `Installed claude-print 0.1.0 in the place of another: ${user.target}\n`,
      );
      const tree = await user.tree();
      assertEquals(tree[".local/bin/claude-print"], `755 ${fakeProgram()}`);
      assertEquals(tree[".local/bin/ran"], undefined);
      assertEquals((await user.install(["--uninstall"])).code, 0);
      assertEquals(await user.tree(), { ".local/": "", ".local/bin/": "" });
      const names = [...Deno.readDirSync(user.path)].map(({ name }) => name)
        .filter((name) => name !== "other");
      assertEquals(names.toSorted(), ["home", "release", "tools"]);
    },
    { newcomer: { folders: [".local/bin"] }, once: index > 0 },
  );
}

testUnderShells("a program that replaced ours is left alone", async (user) => {
  const file = await user.release(fakeProgram());
  for (const { what, put } of FOREIGN.slice(0, 3)) {
    await user.install(["--from", file]);
    await Deno.remove(user.target);
    await put(user);
    const { [".local/bin/claude-print"]: foreign } = await user.tree();
    assertMatch((await user.install(["--from", file])).stderr, /^install\.sh: Cannot replace /u);
    const { code, stdout } = await user.install(["--uninstall"]);
    assertEquals([code, stdout], [
      0,
      `Left as it is, because it was changed since it was installed: ${user.target}\n`,
    ], what);
    const { [".local/bin/claude-print"]: left, ...others } = await user.tree();
    assertEquals([left, others], [foreign, { ".local/": "", ".local/bin/": "" }], what);
    await Deno.remove(user.target);
  }
}, { newcomer: { folders: [".local/bin"] }, once: true });

testUnderShells("one folder may have several names", async (user) => {
  await Deno.mkdir(`${user.path}/home/opt`);
  await Deno.symlink("opt", `${user.path}/home/link`);
  const first = await user.release(fakeProgram(), "first");
  const second = await user.release(fakeProgram({ version: "0.2.0" }), "second");
  const opt = `${user.home}/opt`;
  const places = ["home/../home/opt/", `${user.home}/link`, `//${opt}//`, opt];
  for (const [index, prefix] of places.entries()) {
    const file = index % 2 === 0 ? first : second;
    const version = ["--version", index % 2 === 0 ? "0.1.0" : "0.2.0"];
    const run = await user.install(["--from", file, ...version, "--prefix", prefix]);
    assertEquals([run.code, run.stderr.includes("Cannot")], [0, false], run.stderr);
  }
  assertEquals((await user.install(["--uninstall", "--prefix", opt])).code, 0);
  assertEquals(await user.tree(), { "opt/": "", link: "-> opt" });
}, { once: true });

testUnderShells(
  "a downgrade needs --version",
  async (user) => {
    const old = await user.release(fakeProgram({ version: "0.9.1" }), "old");
    const fresh = await user.release(fakeProgram({ version: "0.10.0" }), "new");
    await user.install(["--from", fresh]);
    const before = await user.tree();
    const { code, stderr } = await user.install(["--from", old]);
    assertEquals([code, stderr], [
      1,
      `install.sh: Cannot use ${old}: it is claude-print 0.9.1, and here is 0.10.0, which is newer\n` +
      "  Look at where it comes from; if you want the older one, add --version 0.9.1\n",
    ]);
    assertEquals(await user.tree(), before);
    const { stdout } = await user.install(["--from", old, "--version", "0.9.1"]);
    assertStringIncludes(stdout, `Replaced claude-print 0.10.0 by 0.9.1: ${user.target}\n`);
    const tree = await user.tree();
    assertStringIncludes(
      tree[".local/share/claude-print/installed"] ?? "",
      `644 claude-print 0.9.1\n${await sha256(fakeProgram({ version: "0.9.1" }))} `,
    );
  },
  { once: true },
);

/** Versions in their order, by https://semver.org. */
const VERSIONS =
  "0.0.9 0.1.0-alpha 0.1.0-alpha.1 0.1.0-alpha.beta 0.1.0-beta 0.1.0-beta.2 0.1.0-beta.11 0.1.0-rc.1 " +
  "0.1.0 0.1.1-0 0.1.1 0.2.0 0.10.0 1.0.0 1.0.1+build.5 10.0.0";

testUnderShells("versions are ordered by semantic versioning", async (user, { command }) => {
  const [program = "", ...args] = command;
  const functions = (await Deno.readTextFile(INSTALLER)).replace(
    /\n[^\n]*main "\$@"[^\n]*\n$/u,
    "\n",
  );
  const script = `${functions}
    LC_ALL=C
    for one in ${VERSIONS}; do
      for other in ${VERSIONS}; do
        if is_older "$one" "$other"; then printf '<'; else printf '.'; fi
      done
      echo
    done
    if is_older 1.0.0+a 1.0.0+b || is_older 1.0.0-x+b 1.0.0-x+c; then echo build; fi`;
  const { stdout, stderr } = await new Deno.Command(program, {
    args: [...args, "-c", script],
    clearEnv: true,
    env: { PATH: user.tools },
  }).output();
  const length = VERSIONS.split(" ").length;
  const rows = Array.from({ length }, (_, row) => ".".repeat(row + 1).padEnd(length, "<"));
  assertEquals(new TextDecoder().decode(stdout), `${rows.join("\n")}\n`);
  assertEquals(new TextDecoder().decode(stderr), "");
});
