import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fakeProgram, INSTALLER, type Newcomer, sha256 } from "./newcomer.ts";
import { testUnderShells } from "./test_under_shells.ts";
import { startProgram } from "../../start_program.ts";

const BIN = { folders: [".local/bin"] };

/** A program that leaves a trace when it is run. */
const TRAP = '#!/bin/sh\n: >"${0%/*}/ran"\necho "claude-print 9.9.9"\n';

/** Files at the program's path that no installer wrote. */
const FOREIGN: Readonly<Record<string, (user: Newcomer) => Promise<void>>> = {
  "another program": ({ target }) => Deno.writeTextFile(target, TRAP, { mode: 0o755 }),
  "a link to another program": async ({ path, target }) => {
    await Deno.writeTextFile(`${path}/other`, TRAP, { mode: 0o755 });
    await Deno.symlink(`${path}/other`, target);
  },
  "a dangling link": ({ target }) => Deno.symlink("nowhere", target),
  "our program from elsewhere": ({ target }) =>
    Deno.writeTextFile(target, fakeProgram(), { mode: 0o755 }),
};

testUnderShells("a foreign file is replaced only with --force", async (user) => {
  const file = await user.release(fakeProgram());
  for (const [name, put] of Object.entries(FOREIGN)) {
    await put(user);
    const before = await user.tree();
    const { code, stderr } = await user.install(["--from", file]);
    assertEquals([code, stderr], [
      1,
      `install.sh: Cannot replace ${user.target}: it was not installed from here, or was changed ` +
      "since\n  Remove it, name another folder with --prefix, or replace it with --force\n",
    ], name);
    assertEquals(await user.tree(), before, name);
    const forced = await user.install(["--from", file, "--force"]);
    assertStringIncludes(
      forced.stdout,
      `Installed claude-print 0.1.0 in the place of another: ${user.target}\n`,
    );
    const tree = await user.tree();
    assertEquals(tree[".local/bin/claude-print"], `755 ${fakeProgram()}`, name);
    assertEquals(tree[".local/bin/ran"], undefined, name);
    assertEquals((await user.install(["--uninstall"])).code, 0);
    assertEquals(await user.tree(), { ".local/": "", ".local/bin/": "" }, name);
  }
}, { newcomer: BIN });

testUnderShells("a file that replaced our program is left alone", async (user) => {
  const file = await user.release(fakeProgram());
  for (const [name, put] of Object.entries(FOREIGN).slice(0, 3)) {
    await user.install(["--from", file]);
    await Deno.remove(user.target);
    await put(user);
    const { [".local/bin/claude-print"]: foreign } = await user.tree();
    assertMatch((await user.install(["--from", file])).stderr, /^install\.sh: Cannot replace /u);
    const { code, stdout } = await user.install(["--uninstall"]);
    assertEquals([code, stdout], [
      0,
      `Left as it is, because it was changed since it was installed: ${user.target}\n`,
    ], name);
    const { [".local/bin/claude-print"]: left, ...others } = await user.tree();
    assertEquals([left, others], [foreign, { ".local/": "", ".local/bin/": "" }], name);
    await Deno.remove(user.target);
  }
}, { newcomer: BIN, once: true });

testUnderShells("one folder may have several names", async (user) => {
  await Deno.mkdir(`${user.path}/home/opt`);
  await Deno.symlink("opt", `${user.path}/home/link`);
  const opt = `${user.home}/opt`;
  const places = ["home/../home/opt/", `${user.home}/link`, `//${opt}//`, opt];
  for (const [index, prefix] of places.entries()) {
    const version = `0.${1 + index % 2}.0`;
    const file = await user.release(fakeProgram({ version }), version);
    const args = ["--from", file, "--version", version, "--prefix", prefix];
    const run = await user.install(args);
    assertEquals([run.code, run.stderr.includes("Cannot")], [0, false], run.stderr);
  }
  assertEquals((await user.install(["--uninstall", "--prefix", opt])).code, 0);
  assertEquals(await user.tree(), { "opt/": "", link: "-> opt" });
}, { once: true });

testUnderShells("a downgrade needs --version", async (user) => {
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
  assertStringIncludes(
    (await user.tree())[".local/share/claude-print/installed"] ?? "",
    `644 claude-print 0.9.1\n${await sha256(fakeProgram({ version: "0.9.1" }))} `,
  );
}, { once: true });

/** Versions in their order, by https://semver.org. */
const VERSIONS =
  "0.0.9 0.1.0-alpha 0.1.0-alpha.1 0.1.0-alpha.beta 0.1.0-beta 0.1.0-beta.2 0.1.0-beta.11 0.1.0-rc.1 " +
  "0.1.0 0.1.1-0 0.1.1 0.2.0 0.10.0 1.0.0 1.0.1+build.5 10.0.0";

testUnderShells("versions are ordered by semantic versioning", async (user, { command }) => {
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
  const { length } = VERSIONS.split(" ");
  const rows = Array.from({ length }, (_, row) => ".".repeat(row + 1).padEnd(length, "<"));
  const options = { env: { PATH: user.tools }, cwd: user.path };
  const { stdout, stderr } = await startProgram([...command, "-c", script], options).ended;
  assertEquals([stdout, stderr], [`${rows.join("\n")}\n`, ""]);
});
